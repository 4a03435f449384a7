"""Releases in files, written atomically, with their guarantee and plan."""
