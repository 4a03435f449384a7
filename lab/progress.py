"""Progress of a long job, on standard error."""

from __future__ import annotations

import sys


def progress(line: str) -> None:
    """Write one line to standard error at once."""
    print(line, file=sys.stderr, flush=True)
