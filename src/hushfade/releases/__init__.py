"""Releases written to files, whole or not at all, with their guarantee and plan."""
