"""Files, and directories of files, that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path, *, new: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """A hidden file beside the path that takes its place, on the disk, when the block ends well.

    A reader sees the old file or the new one.  With `new` there must be no old one by then: else
    FileExistsError, also if somebody else was quicker.  It is made by open, not by tempfile: it has
    the mode that any new file has, less what the process masks, and others may read what is
    published.  An error names the path or its directory, never the hidden file.
    """
    target = path.resolve()  # what a link points to is replaced, not the link
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        try:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        except FileNotFoundError:
            raise _error(errno.ENOENT, path.parent) from None
        except OSError as error:
            raise _error(error.errno, path) from None
        yield beside
        synced(beside)
        if new:
            try:
                os.link(beside, target)
            except FileExistsError:
                raise _error(errno.EEXIST, path) from None
        else:
            beside.replace(target)
        synced(target.parent)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A hidden directory beside the path that takes the path's name when the block ends well.

    The block writes files to it, without subdirectories.  They are on the disk before they appear,
    all at once.  A file or a directory with content at the path is never replaced: OSError then.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        try:
            beside.mkdir()
        except FileNotFoundError:
            raise _error(errno.ENOENT, path.parent) from None
        except OSError as error:
            raise _error(error.errno, path) from None
        yield beside
        for file in beside.iterdir():
            synced(file)
        synced(beside)
        try:
            beside.rename(target)
        except OSError as error:
            raise _error(error.errno, path) from None
        synced(target.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def synced(path: Path) -> None:
    """Wait until the file's content, or the directory's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _error(number: int | None, path: Path) -> OSError:
    """The error as Python raises it, of the path."""
    return OSError(number, os.strerror(number or 0), str(path))
