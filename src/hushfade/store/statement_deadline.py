"""A time limit for each statement of a database, kept by a thread that interrupts late ones.

A database server can stop without closing its connections: a stopped process, a cut cable, a
replica that does not confirm a commit.  The limits of the server itself do not help then.

Another thread may also give up a series of statements, such as the checks of a store, which can
take minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread, local
from time import monotonic
from weakref import WeakSet

from hushfade.errors import Failed

STATEMENT = 5.0  # seconds for a statement or a commit
ROWS = 100  # rows that one statement writes; more rows are several statements
LOCK = 4.0  # seconds to wait for a lock: shorter, so that the error names the lock

_NEVER = float("inf")
_PAUSE = 0.1  # seconds between two looks
_THREAD = local()  # its attribute `given_up` is the event of a block in this thread


@contextmanager
def interruptible(given_up: Event) -> Iterator[None]:
    """A block whose statements another thread ends by setting the event.

    The running statement is interrupted, and each later statement raises Failed.  The block must
    not commit anything that somebody waits for.
    """
    before = _given_up()
    _THREAD.given_up = given_up
    try:
        yield
    finally:
        _THREAD.given_up = before


def _given_up() -> Event | None:
    found: Event | None = getattr(_THREAD, "given_up", None)
    return found


class Deadline:
    """The time limit of one connection.  The block is a statement: `with deadline: ...`.

    A statement that takes longer is interrupted once, by `interrupt`, in another thread.  In a
    block that was given up, it is interrupted until it ends.
    """

    def __init__(self, interrupt: Callable[[], None], seconds: float = STATEMENT) -> None:
        self._interrupt, self._seconds = interrupt, seconds
        self._until = _NEVER
        self._given_up: Event | None = None  # of the block in which the statement runs
        self._turn = Lock()
        self._process = 0  # the process whose thread looks at this limit
        self.passed = False  # whether the last statement was interrupted

    def __enter__(self) -> None:
        if self._process != os.getpid():  # in a forked child the lock may stay held for ever
            self._process, self._turn = os.getpid(), Lock()
            _watcher().add(self)
        self.passed = False
        given_up = _given_up()
        if given_up is not None and given_up.is_set():
            raise Failed("the statement was given up, because the service stops")
        self._until = monotonic() + self._seconds
        self._given_up = given_up

    def __exit__(self, *_: object) -> None:
        with self._turn:  # not between the look and the interrupt, or it would hit the next one
            self._until, self._given_up = _NEVER, None

    def look(self, now: float) -> None:
        """Interrupt the statement if it is late or given up."""
        if not self._ends(now):
            return
        with self._turn:
            if self._ends(now):
                self._until, self.passed = _NEVER, True
                self._interrupt()

    def _ends(self, now: float) -> bool:
        given_up = self._given_up  # another thread may clear it
        return now >= self._until or (given_up is not None and given_up.is_set())


class _Watcher:
    """The thread that looks at all deadlines of one process."""

    def __init__(self) -> None:
        self._watched: WeakSet[Deadline] = WeakSet()
        self._turn = Lock()
        self._started = False

    def add(self, deadline: Deadline) -> None:
        with self._turn:
            self._watched.add(deadline)
            if not self._started:
                self._started = True
                name = "hushfade statement deadline"
                Thread(target=self._look, name=name, daemon=True).start()

    def _look(self) -> None:
        never = Event()
        while not never.wait(_PAUSE):
            with self._turn:
                deadlines = list(self._watched)
            for deadline in deadlines:
                deadline.look(monotonic())


# A forked child inherits neither the thread nor a lock that anybody would release, so it has a
# watcher of its own.  The key is for a fork in C code, which Python's hook does not see.
_WATCHERS: dict[int, _Watcher] = {}
os.register_at_fork(after_in_child=_WATCHERS.clear)


def _watcher() -> _Watcher:
    """The watcher of this process."""
    return _WATCHERS.setdefault(os.getpid(), _Watcher())
