"""Whose turn it is: in this process a step is taken once, by one copy, one thread at a time."""

from __future__ import annotations

import os
from threading import Lock
from typing import NoReturn

from hushfade.errors import Refused


class Turn:
    """The lock and the last taken step that all copies of one stream in this process share."""

    __slots__ = ("lock", "taken")

    def __init__(self, taken: int = 0) -> None:
        self.lock: Lock | Elsewhere = Lock()
        self.taken = taken


class Elsewhere:
    """The lock of a stream that a forked child inherits: its parent takes the steps."""

    def acquire(self) -> NoReturn:
        raise Refused("a stream must stay in the process that started or loaded it")

    __enter__ = acquire

    def release(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_turns: dict[bytes, Turn] = {}


def turn_of(identity: bytes) -> Turn:
    """The turn of all copies of a stream."""
    return _turns.setdefault(identity, Turn())


def _forked() -> None:
    """In a forked child: what its parent started is refused, what it loads itself is its own."""
    for identity, inherited in list(_turns.items()):
        _turns[identity] = Turn(inherited.taken)
        inherited.lock = Elsewhere()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
