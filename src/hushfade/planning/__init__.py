"""Planning: what a stream will release, how private and how accurate, before any record arrives."""
