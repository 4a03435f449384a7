"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A hidden file beside the path that takes its place, on the disk, when the block ends well.

    A reader sees the old file or the new one.  It is made by open, not by tempfile, so that it has
    the mode that any new file has: others may read what is published.
    """
    target = path.resolve()  # what a link points to is replaced, not the link
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        beside.open("xb").close()
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
