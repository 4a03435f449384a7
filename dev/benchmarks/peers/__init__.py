"""Peers: one script each, run by the peer's own Python.  Nothing here imports hushfade."""
