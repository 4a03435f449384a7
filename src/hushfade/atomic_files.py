"""Atomic writes: a file, or a directory of files, appears complete or not at all."""

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
    """The path of a hidden temporary file, which replaces `path` when the block ends without error.

    The file is synced to disk first.  A reader sees the old file or the new one.  With `new`, the
    call raises FileExistsError if `path` exists at the end of the block, even if another process
    has just created it.  The file has the usual mode of a new file, less the process's umask, so
    that others may read what is published.  Errors name the path or its directory, never the
    temporary file.
    """
    target = path.resolve()  # replace the target of a symbolic link, not the link
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
    """The path of a hidden directory, which is renamed to `path` when the block ends without error.

    The block writes files to it, without subdirectories.  All files are synced to disk, and then
    appear at once.  If `path` is a file or a directory with content, the call raises OSError and
    leaves it as it is.
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
    """Wait until the content of the file, or the entries of the directory, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _error(number: int | None, path: Path) -> OSError:
    """The OSError that Python itself would raise for this path."""
    return OSError(number, os.strerror(number or 0), str(path))
