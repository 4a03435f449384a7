"""New releases as server-sent events.  A listener can reconnect and resume where it stopped.

The hub notifies a listener of new releases.  The newest release is serialised once for all its
listeners, in a thread.  A listener that missed some reads them from the store, in order, so no
listener misses a step.  A listener that does not read is disconnected when too many bytes wait for
it, so it delays nobody and uses bounded memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hushfade.errors import HushfadeError
from hushfade.serve import json_pieces
from hushfade.serve.error_responses import LOG, Refusal, answer_to, busy
from hushfade.serve.key_selection import ALL, Selection
from hushfade.serve.large_answers import in_threads
from hushfade.serve.limits import SMALL, Limits
from hushfade.serve.registry import Facts
from hushfade.serve.release_formats import size, unlisted
from hushfade.serve.sending_pace import SendingPace

if TYPE_CHECKING:
    from hushfade.serve.registry import Registry
    from hushfade.serve.shared_texts import SharedTexts
    from hushfade.store import Published

KIND = "text/event-stream"
QUIET = 15.0  # seconds without an event after which a comment keeps the connection alive
PIECE = 100  # releases read at a time
_SMALL = 4096  # bytes of a piece that needs no turn

Read = Callable[[int], Awaitable[list["Published"]]]


@dataclass(eq=False)
class Listener:
    """A connection that receives events, and the bytes that wait for it."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    slow: asyncio.Event = field(default_factory=asyncio.Event)  # it must be disconnected
    scale: float = 1.0  # the share of the keys that it selects
    owed: int = 0  # bytes of events that were made and are not sent


class Hub:
    """The listeners of each stream."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = Limits() if limits is None else limits
        self._listeners: dict[str, set[Listener]] = {}
        self._callers: Counter[str] = Counter()  # listeners, by caller
        self.pace = SendingPace()
        self.dropped = 0  # listeners that were too slow
        self.closed = False

    @contextmanager
    def listening(self, stream: str, scale: float = 1.0, caller: str = "") -> Iterator[Listener]:
        """A listener whose event `news` is set whenever the stream has a new release."""
        if self.full(caller):
            raise busy()
        listener = Listener(scale=scale)
        self._callers[caller] += 1
        self._listeners.setdefault(stream, set()).add(listener)
        try:
            yield listener
        finally:
            self._callers[caller] -= 1
            if not self._callers[caller]:
                del self._callers[caller]
            self._listeners[stream].discard(listener)
            if not self._listeners[stream]:
                del self._listeners[stream]

    def full(self, caller: str) -> bool:
        """Whether the number of listeners has reached a limit: in total, or of the caller."""
        own = self._callers[caller] >= self._limits.listeners_each
        return own or self.count >= self._limits.listeners

    @property
    def count(self) -> int:
        """The number of listeners."""
        return self._callers.total()

    def tell(self, stream: str, size: int = 0) -> None:
        """Wake the listeners of the stream, for whom an event of this size is ready.

        A listener that owes more than the limit, and more than the newest event, is too slow.
        """
        for listener in self._listeners.get(stream, ()):
            own = max(1, int(size * listener.scale))
            slow = listener.owed and listener.owed + own > self._limits.listener
            if slow and not listener.slow.is_set():
                self.dropped += 1
                listener.slow.set()
            listener.owed += own
            listener.news.set()

    def tell_all(self) -> None:
        """Wake all listeners."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.news.set()

    def close(self) -> None:
        """Disconnect all listeners."""
        self.closed = True
        self.tell_all()


@dataclass(frozen=True)
class Subscription:
    """What a listener asked for."""

    facts: Facts
    after: int
    below: float | None = None
    chosen: Selection = ALL

    @property
    def name(self) -> tuple[Any, ...]:
        """What listeners to the same events have in common."""
        return "event", self.facts.name, self.below, self.chosen

    @property
    def shared(self) -> bool:
        """Whether its events are made once for all listeners.

        Large events that hardly anyone else asks for would use the memory and the threads of all.
        """
        usual = self.below == self.facts.suppress_below and self.chosen == ALL
        return usual or size(self.facts, 1, self.chosen) <= SMALL

    @property
    def scale(self) -> float:
        """The share of the keys that it selects."""
        return self.chosen.count(self.facts) / ALL.count(self.facts)


class Events(Response):
    """The stream's releases after a step, indefinitely, as server-sent events.

    The events stop without a message if the store cannot be read, if the listener `may` no longer
    read, or if it reads too slowly: the client reconnects, and gets what it missed or an error.
    """

    def __init__(
        self,
        hub: Hub,
        registry: Registry,
        shared: SharedTexts,
        asked: Subscription,
        read: Read,
        *,
        caller: str = "",
        may: Callable[[], bool] = lambda: True,
        room: Callable[[], AbstractAsyncContextManager[None]] | None = None,
        threads: anyio.CapacityLimiter | None = None,
        quiet: float = QUIET,
        stalled: float = 60.0,
    ) -> None:
        self._hub, self._registry, self._shared, self._asked = hub, registry, shared, asked
        self._read, self._may, self._room, self._threads = read, may, room, threads
        self._quiet, self._stalled, self._caller = quiet, stalled, caller
        super().__init__(media_type=KIND)
        self.raw_headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the listener leaves, the stream ends, or the service stops."""
        try:
            asked = self._asked
            room = self._hub.listening(asked.facts.name, asked.scale, self._caller)
            listener = room.__enter__()
        except Refusal as error:
            await answer_to(error)(scope, receive, send)
            return
        try:
            await self._answer(listener, scope, receive, send)
        finally:
            room.__exit__(None, None, None)

    async def _answer(self, listener: Listener, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        sending = asyncio.ensure_future(self._send(listener, send))
        over = _gone(receive), listener.slow.wait()
        others = [asyncio.ensure_future(one) for one in over]
        try:
            await asyncio.wait([sending, *others], return_when=asyncio.FIRST_COMPLETED)
            whole = sending.done() and sending.exception() is None
        finally:
            for task in (sending, *others):
                task.cancel()
            await asyncio.gather(sending, *others, return_exceptions=True)
        if whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        if listener.slow.is_set():
            LOG.info("disconnected a listener that reads too slowly")
        scope.get("hushfade.abort", lambda: None)()

    async def _send(self, listener: Listener, send: Send) -> None:
        async for piece in self.pieces(listener):
            if len(piece) > _SMALL:
                await self._hub.pace.turn()
            async with asyncio.timeout(self._stalled):
                await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def pieces(self, listener: Listener) -> AsyncIterator[bytes]:
        """The events in pieces."""
        facts, after, registry = self._asked.facts, self._asked.after, self._registry
        with suppress(HushfadeError, Refusal):
            yield b"retry: 2000\n\n"
            while not self._hub.closed and self._may():
                listener.news.clear()
                ended = registry.ended(facts.name)
                while after < registry.step(facts.name):
                    newest = registry.newest(facts.name)
                    assert newest is not None
                    if newest.step == after + 1 and self._asked.shared:
                        make = partial(self._event, newest)
                        made = await self._shared.pieces(self._asked.name, newest.step, make)
                        if self._hub.closed or not self._may():
                            return
                        for piece in made:
                            yield piece
                        after = newest.step
                        listener.owed = 0
                        continue
                    before = after
                    async for piece, step in self._missed(after):
                        yield piece
                        after = step
                    if self._hub.closed or not self._may():
                        return
                    if after == before:  # the database is behind: the client connects again
                        return
                    listener.owed = 0  # what it missed does not wait in memory
                if ended:
                    yield b"event: end\ndata: {}\n\n"
                    return
                if self._hub.closed:
                    return
                try:
                    await asyncio.wait_for(listener.news.wait(), self._quiet)
                except TimeoutError:
                    yield b": quiet\n\n"

    async def _missed(self, after: int) -> AsyncIterator[tuple[bytes, int]]:
        """Events that the listener missed, read from the store, each piece with its step."""
        room = self._room() if self._room is not None else nullcontext()
        async with room:
            for release in await self._read(after):
                if self._hub.closed or not self._may():  # checked for slow listeners too
                    return
                async for piece in in_threads(partial(self._event, release), self._threads):
                    yield piece, release.step

    def _event(self, release: Published) -> Iterator[bytes]:
        """An event in pieces."""
        content = unlisted(self._asked.facts, release, self._asked.below, self._asked.chosen)

        def parts() -> Iterator[str]:
            yield f"id: {release.step}\nevent: release\ndata: "
            yield from json_pieces.texts(content)
            yield "\n\n"

        return json_pieces.gathered(parts())


async def _gone(receive: Receive) -> None:
    """Wait until the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
