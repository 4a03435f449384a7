"""The audit at length, with seeded bugs, many seeds and others' tools: `make audit`."""
