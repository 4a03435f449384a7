"""Where a test may stop the process.  In use nothing happens here."""

from __future__ import annotations


def reached(name: str) -> None:
    """A place in the order of a step; `soak` puts a kill in this function's place."""
