"""A lock that one process has at a time, on a file beside what it guards."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from hushfade.errors import Failed, InUse


def locked(path: Path) -> int:
    """The descriptor that holds the lock of the path; whoever comes by a link meets the same one.

    Close it to let it go; the process's end does too.
    """
    target = path.resolve()
    try:
        descriptor = os.open(target.with_name(target.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Failed(f"{path} cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InUse(f"another process writes to {path}") from None
    return descriptor
