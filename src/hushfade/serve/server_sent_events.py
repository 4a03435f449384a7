"""New releases as server-sent events.  A listener can reconnect and resume where it stopped.

The hub notifies a listener of new releases, and the listener reads them from the store.  So a slow
listener delays nobody, and no listener misses a step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from hushfade.errors import HushfadeError
from hushfade.serve.error_responses import Refusal, busy
from hushfade.serve.registry import Facts
from hushfade.serve.release_formats import plain

if TYPE_CHECKING:
    from hushfade.serve.registry import Registry
    from hushfade.store import Published

KIND = "text/event-stream"
MOST = 1000  # listeners
QUIET = 15.0  # seconds without an event after which a comment keeps the connection alive
PIECE = 100  # releases read at a time

Read = Callable[[int], Awaitable[list["Published"]]]


class Hub:
    """The listeners of each stream."""

    def __init__(self, most: int = MOST) -> None:
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._most, self._count = most, 0
        self.closed = False

    @contextmanager
    def listening(self, stream: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the stream has a new release."""
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
        """Whether the number of listeners has reached the limit."""
        return self._count >= self._most

    def tell(self, stream: str) -> None:
        """Wake the listeners of the stream."""
        for event in self._listeners.get(stream, ()):
            event.set()

    def tell_all(self) -> None:
        """Wake all listeners."""
        for stream in list(self._listeners):
            self.tell(stream)

    def close(self) -> None:
        """Disconnect all listeners."""
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
    below: float | None = None,
) -> AsyncIterator[str]:
    """The stream's releases after a step, indefinitely, as lines of server-sent events.

    The events stop without a message if the store cannot be read, or if the listener `may` no
    longer read: the client reconnects and then gets an error response.  `below` is the noisy count
    below which values of a statistic are suppressed.
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
                    if hub.closed or not may():  # checked for slow listeners too
                        return
                    if facts.plan.statistic is not None:  # computed outside of the event loop
                        await run_sync(facts.blocks.readings, [release])
                    yield _event(facts, release, below)
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


def _event(facts: Facts, release: Published, below: float | None) -> str:
    data = json.dumps(plain(facts, release, below), separators=(",", ":"), allow_nan=False)
    return f"id: {release.step}\nevent: release\ndata: {data}\n\n"
