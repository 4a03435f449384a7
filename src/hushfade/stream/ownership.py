"""The ownership of steps: in a process, one copy of a stream takes a step, and only once."""

from __future__ import annotations

import mmap
import os
from collections.abc import MutableMapping
from threading import Lock
from typing import NoReturn, Protocol
from weakref import WeakValueDictionary

from hushfade.errors import Refused

_WIPE_ON_FORK = 18  # Linux's MADV_WIPEONFORK, since 4.14


class Turn:
    """The lock and the number of taken steps that all copies of a stream in this process share."""

    __slots__ = ("__weakref__", "_identity", "lock", "saved", "taken")

    def __init__(self, identity: bytes, taken: int = 0) -> None:
        self.lock: Lock | Elsewhere | Withdrawn = Lock()
        self.taken = taken
        self.saved = False  # whether a saved state exists that may be loaded later
        self._identity = identity

    def remember(self) -> None:
        """Keep the number of taken steps after all copies of the stream are gone.

        A stream that was never saved cannot be loaded, so it is forgotten.
        """
        if self.saved:
            _kept[self._identity] = self

    def own(self) -> Lock | Elsewhere | Withdrawn:
        """The lock for taking a step; in a forked child, a lock that raises Refused."""
        if not _HERE[0]:
            _forked()
        return self.lock


class Elsewhere:
    """The lock of a stream that a forked child has inherited: only its parent takes steps."""

    def __enter__(self) -> NoReturn:
        raise Refused(
            "a stream must stay in the process that started or loaded it, not in a forked child"
        )

    def __exit__(self, *_: object) -> None: ...


class Withdrawn:
    """The lock of a copy that was withdrawn: its last steps were never published."""

    def __enter__(self) -> NoReturn:
        raise Refused("this copy of the stream was withdrawn: load the committed state")

    def __exit__(self, *_: object) -> None: ...


class Here(Protocol):
    """A flag whose first entry is true in the process that set it, and false in a forked child."""

    def __getitem__(self, _: int, /) -> int: ...

    def __setitem__(self, _: int, value: int, /) -> None: ...


class ByNumber:
    """A flag that compares process numbers: slower than a page, but it works everywhere."""

    def __getitem__(self, _: int) -> int:
        return os.getpid() == self._process

    def __setitem__(self, _: int, value: int) -> None:
        self._process = os.getpid()


def _mark() -> Here:
    """A memory page that the system wipes in a forked child, even if C code calls fork."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (AttributeError, OSError, TypeError):  # not Linux, or an old kernel
        return ByNumber()
    return page


_HERE = _mark()
_HERE[0] = 1
_turns: MutableMapping[bytes, Turn] = WeakValueDictionary()  # all streams in use
_kept: dict[bytes, Turn] = {}  # streams that were saved and have taken steps in this process


def turn_of(identity: bytes) -> Turn:
    """The turn that all copies of a stream share."""
    if not _HERE[0]:
        _forked()
    return _turns.setdefault(identity, Turn(identity))


def withdraw(identity: bytes, committed: int) -> None:
    """Lock out all copies of a stream in this process for ever, and count its steps from here.

    Steps after `committed` were drawn and never published: their values existed in this process
    alone and are gone, as after a crash.  Only a store may call this, after its transaction failed
    and while it holds the lock of its database, because only then `committed` is final.
    """
    old = _turns.get(identity)
    if old is not None:
        old.lock = Withdrawn()
    new = _turns[identity] = Turn(identity, committed)
    new.saved = True
    _kept[identity] = new


def _forked() -> None:
    """Prepare a forked child: it may use streams that it loads, but not its parent's streams."""
    _HERE[0] = 1
    for identity, inherited in list(_turns.items()):
        inherited.lock = Elsewhere()
        own = _turns[identity] = Turn(identity, inherited.taken)
        own.saved = inherited.saved
        own.remember()
