"""Whose turn it is: in this process a step is taken once, by one copy, one thread at a time."""

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
    """The lock and the last taken step that all copies of one stream in this process share."""

    __slots__ = ("__weakref__", "_identity", "lock", "saved", "taken")

    def __init__(self, identity: bytes, taken: int = 0) -> None:
        self.lock: Lock | Elsewhere = Lock()
        self.taken = taken
        self.saved = False  # is there a state that somebody may load later?
        self._identity = identity

    def remember(self) -> None:
        """Know the taken steps after all copies of the stream are gone.

        Nobody can load a stream that was never saved: such a stream is forgotten.
        """
        if self.saved:
            _kept[self._identity] = self

    def own(self) -> Lock | Elsewhere:
        """The lock under which a step is taken; one that refuses, if this is a forked child."""
        if not _HERE[0]:
            _forked()
        return self.lock


class Elsewhere:
    """The lock of a stream that a forked child inherits: its parent takes the steps."""

    def __enter__(self) -> NoReturn:
        raise Refused("a stream must stay in the process that started or loaded it")

    def __exit__(self, *_: object) -> None: ...


class Here(Protocol):
    """Its first entry is true where it was set, and false in a forked child, until it is set."""

    def __getitem__(self, _: int, /) -> int: ...

    def __setitem__(self, _: int, value: int, /) -> None: ...


class ByNumber:
    """The process's number tells: slower than a page, and everywhere."""

    def __getitem__(self, _: int) -> int:
        return os.getpid() == self._process

    def __setitem__(self, _: int, value: int) -> None:
        self._process = os.getpid()


def _mark() -> Here:
    """A page that the system wipes in a forked child, whoever forks: Python, or a server in C."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (AttributeError, OSError, TypeError):  # not Linux, or an old one
        return ByNumber()
    return page


_HERE = _mark()
_HERE[0] = 1
_turns: MutableMapping[bytes, Turn] = WeakValueDictionary()  # of all streams in use
_kept: dict[bytes, Turn] = {}  # of streams that were saved and have taken steps here


def turn_of(identity: bytes) -> Turn:
    """The turn of all copies of a stream."""
    if not _HERE[0]:
        _forked()
    return _turns.setdefault(identity, Turn(identity))


def _forked() -> None:
    """In a forked child: what its parent started is refused, what it loads itself is its own."""
    _HERE[0] = 1
    for identity, inherited in list(_turns.items()):
        inherited.lock = Elsewhere()
        own = _turns[identity] = Turn(identity, inherited.taken)
        own.saved = inherited.saved
        own.remember()
