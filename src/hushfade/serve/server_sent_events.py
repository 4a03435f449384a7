"""Releases as they are made: server-sent events, which a listener may resume where it left off.

A listener is told that there is something new, and reads what it lacks from the store.  So a slow
one holds up nobody, and none misses a step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hushfade.errors import HushfadeError
from hushfade.serve.error_responses import Refusal, busy
from hushfade.serve.registry import Facts
from hushfade.serve.release_formats import plain

if TYPE_CHECKING:
    from hushfade.serve.registry import Registry
    from hushfade.store import Published

KIND = "text/event-stream"
MOST = 1000  # listeners
QUIET = 15.0  # seconds after which a line is sent, to show that the connection stands
PIECE = 100  # releases that are read at a time

Read = Callable[[int], Awaitable[list["Published"]]]


class Hub:
    """Who listens to which stream."""

    def __init__(self, most: int = MOST) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._most, self._count = most, 0
        self.closed = False

    @contextmanager
    def listening(self, stream: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the stream has something new."""
        if self._count >= self._most:
            raise busy()
        event = asyncio.Event()
        self._count += 1
        self._listeners.setdefault(stream, set()).add(event)
        try:
            yield event
        finally:
            self._count -= 1
            self._listeners[stream].discard(event)
            if not self._listeners[stream]:
                del self._listeners[stream]

    @property
    def full(self) -> bool:
        """Are there as many listeners as there may be?"""
        return self._count >= self._most

    def tell(self, stream: str) -> None:
        """Wake those that listen to the stream."""
        for event in self._listeners.get(stream, ()):
            event.set()

    def tell_all(self) -> None:
        """Wake all listeners."""
        for stream in list(self._listeners):
            self.tell(stream)

    def close(self) -> None:
        """Let all listeners go."""
        self.closed = True
        self.tell_all()


async def events(
    hub: Hub,
    registry: Registry,
    facts: Facts,
    after: int,
    read: Read,
    *,
    may: Callable[[], bool] = lambda: True,
    quiet: float = QUIET,
) -> AsyncIterator[str]:
    """The stream's releases after a step, for ever, as the lines of server-sent events.

    They end without a word where nothing can be read any more, and where the listener `may` no
    longer: they come back, and are told.
    """
    with suppress(HushfadeError, Refusal), hub.listening(facts.name) as news:
        yield "retry: 2000\n\n"
        while not hub.closed and may():
            news.clear()
            ended = registry.ended(facts.name)
            while after < registry.step(facts.name):
                newest = registry.newest(facts.name)
                assert newest is not None
                found = [newest] if newest.step == after + 1 else await read(after)
                for release in found:
                    if hub.closed or not may():  # also for one who reads slowly
                        return
                    yield _event(facts, release)
                    after = release.step
            if ended:
                yield "event: end\ndata: {}\n\n"
                return
            if hub.closed:
                return
            try:
                await asyncio.wait_for(news.wait(), quiet)
            except TimeoutError:
                yield ": quiet\n\n"


def _event(facts: Facts, release: Published) -> str:
    data = json.dumps(plain(facts, release), separators=(",", ":"), allow_nan=False)
    return f"id: {release.step}\nevent: release\ndata: {data}\n\n"
