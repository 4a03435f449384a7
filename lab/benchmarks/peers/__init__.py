"""Peers: one script per library, run by that library's own Python.  No script imports hushfade."""
