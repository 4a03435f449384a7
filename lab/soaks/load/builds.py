"""The service as it is, and builds that behave as before in one point, as controls."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import uvicorn

from hushfade.serve import Service, large_answers, limits, process, server_sent_events, writer
from hushfade.serve.byte_budget import ByteBudget
from hushfade.serve.clock_watch import ClockWatch
from hushfade.serve.error_responses import busy
from hushfade.serve.guard import Guard
from hushfade.serve.limits import Limits
from hushfade.serve.release_formats import plain
from hushfade.serve.schedule import Schedule
from hushfade.serve.server_sent_events import Events, Listener
from hushfade.store import Store, tokens
from hushfade.store.statement_deadline import Deadline

CLOCK = "HUSHFADE_SOAK_CLOCK"  # a file with nanoseconds to add to the wall clock


def as_it_is(store: Store) -> Service:
    """The correct service; its wall clock can be set by a file."""
    guard = Guard(tokens.kept(store), rate=1e9)
    # all clients of the soak have one address
    return Service(store, guard, clock=wall, limits=Limits(listeners_each=1000, waiting_each=1000))


def wall() -> int:
    """The wall clock, plus what the file says."""
    place = os.environ.get(CLOCK)
    try:
        return time.time_ns() + (int(Path(place).read_text(encoding="ascii")) if place else 0)
    except (OSError, ValueError):
        return time.time_ns()


def counting_readers(store: Store) -> Service:
    """A build that refuses the ninth response of a caller, however small."""

    class Counted(ByteBudget):
        @asynccontextmanager
        async def room(self, caller: str, size: int) -> AsyncIterator[None]:
            if counts[caller] >= 8:
                raise busy()
            counts[caller] += 1
            try:
                yield
            finally:
                counts[caller] -= 1

    counts: Counter[str] = Counter()
    service = as_it_is(store)
    service.responses = Counted(1 << 30, 1 << 30)
    patch.object(limits, "SMALL", 0).start()
    read = large_answers.Pieces._pieces

    async def in_a_thread(self: Any) -> Any:
        if isinstance(self._make, list):  # before, each response was made in a thread
            await asyncio.to_thread(lambda: None)
        return await read(self)

    patch.object(large_answers.Pieces, "_pieces", in_a_thread).start()
    return service


def serialising_for_each(store: Store) -> Service:
    """A build that serialises an event for each listener, in the event loop, as one text."""

    class Each(Events):
        async def pieces(self, listener: Listener) -> AsyncIterator[bytes]:
            facts, after = self._asked.facts, self._asked.after
            yield b"retry: 2000\n\n"
            while not self._hub.closed:
                listener.news.clear()
                listener.owed = 0
                newest = self._registry.newest(facts.name)
                if newest is not None and newest.step > after:
                    data = json.dumps(plain(facts, newest), separators=(",", ":"))
                    yield f"id: {newest.step}\nevent: release\ndata: {data}\n\n".encode()
                    after = newest.step
                await listener.news.wait()

    patch.object(server_sent_events, "Events", Each).start()
    return as_it_is(store)


def fifty_steps_at_once(store: Store) -> Service:
    """A build that closes up to 50 steps of a stream before the next, each in a transaction."""

    class Greedy(Schedule):
        async def round(self) -> bool:
            service = self._service
            for facts in service.registry.all():
                for _ in range(50):
                    if self.lag(facts) <= 0:
                        break
                    step = service.registry.step(facts.name) + 1
                    await service.close_step(facts.name, step)
            return False

    patch.object(writer, "GROUP", 1).start()
    service = as_it_is(store)
    service.schedule = Greedy(service)
    return service


def trusting_the_clock(store: Store) -> Service:
    """A build that closes steps by any clock, 50 at a time."""
    patch.object(ClockWatch, "look", _trusting).start()
    return fifty_steps_at_once(store)


def _trusting(watch: Any) -> None:
    watch.now = wall()


def without_deadlines(store: Store) -> Service:
    """A build whose statements may take for ever, and whose readiness asks no database."""
    store._database._deadline._seconds = 1e9  # type: ignore[attr-defined]
    patch.object(Deadline.__init__, "__defaults__", (1e9,)).start()
    service = as_it_is(store)

    async def check() -> None: ...

    service.recovery.check = check  # type: ignore[method-assign]
    return service


def exiting(store: Store) -> Service:
    """A build that ends when its store fails, for a supervisor to start it again."""
    service = as_it_is(store)

    async def on_tick(server: Any, counter: int) -> bool:
        return service.writer.failed or await uvicorn.Server.on_tick(server, counter)

    patch.object(process.Server, "on_tick", on_tick).start()
    return service


def whole_responses(store: Store) -> Service:
    """A build that makes a whole response in memory before it sends it."""

    async def in_threads(make: Callable[[], Iterator[bytes]], limiter: Any) -> AsyncIterator[bytes]:
        yield await asyncio.to_thread(lambda: b"".join(make()))

    patch.object(large_answers, "in_threads", in_threads).start()
    return as_it_is(store)


def refusing_at_2000(store: Store) -> Service:
    """A build that refuses all requests when 2000 connections are open, and waits for ever."""
    config = uvicorn.Config.__init__

    def configured(self: Any, *given: Any, **named: Any) -> None:
        config(self, *given, **named | {"http": "httptools", "limit_concurrency": 2000})

    patch.object(uvicorn.Config, "__init__", configured).start()
    return as_it_is(store)


def small_limits(store: Store) -> Service:
    """The correct service with time limits that a soak can wait for."""
    service = as_it_is(store)
    service.limits = Limits(head=2.0, idle=2.0)
    return service


BUILDS: dict[str, Callable[[Store], Service]] = {
    build.__name__: build
    for build in (
        as_it_is, counting_readers, serialising_for_each, fifty_steps_at_once, trusting_the_clock,
        without_deadlines, exiting, whole_responses, refusing_at_2000, small_limits,
    )
}  # fmt: skip
