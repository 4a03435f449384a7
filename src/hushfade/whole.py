"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path, *, new: bool = False) -> Iterator[Path]:
    """A hidden file beside the path that takes its place, on the disk, when the block ends well.

    A reader sees the old file or the new one.  With `new` there must be no old one by then: else
    FileExistsError, also if somebody else was quicker.  It is made by open, not by tempfile: it has
    the mode that any new file has, and others may read what is published.
    """
    target = path.resolve()  # what a link points to is replaced, not the link
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        beside.open("xb").close()
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        if new:
            os.link(beside, target)
        else:
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
