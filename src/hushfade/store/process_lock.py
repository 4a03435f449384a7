"""A lock that one process holds at a time, on a file next to the file that it protects."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from hushfade.errors import InUse
from hushfade.store.database import failed_file


def locked(path: Path) -> int:
    """The descriptor that holds the lock of the path; links to the path share the lock.

    Closing the descriptor, or the end of the process, releases the lock.
    """
    target = path.resolve()
    try:
        descriptor = os.open(target.with_name(target.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise failed_file(path, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InUse(
            f"another process writes to {path}: stop it, or wait until it has ended"
        ) from None
    return descriptor
