"""Points at which a test can stop the process.  Outside of tests they do nothing."""

from __future__ import annotations


def reached(name: str) -> None:
    """A point in the order of a step.  Soak tests replace this function with a kill."""
