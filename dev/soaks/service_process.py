"""The process of the service that is killed: the correct service, or a build with a bug.

A build with a bug pauses, like a slow disk, so that clients can act on a premature answer.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from dev.soaks import store_process
from dev.soaks.store_kills import Place
from hushfade.check import Column
from hushfade.serve import Service
from hushfade.serve.guard import Guard
from hushfade.serve.process import serve
from hushfade.serve.writer import Writer, _Job
from hushfade.store import Published, Store, live_streams
from hushfade.store.database import Writable
from hushfade.store.sqlite import SQLite

Build = Callable[[Store], Service]

PAUSE = 0.02  # seconds


def started(
    place: Place, port: int, build: Build, point: str | None, count: int
) -> tuple[int, int]:
    """The id of a process that serves the store, and a pipe that ends with the process.

    The process is killed when it reaches the point for the count-th time.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process > 0:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        if point is not None:
            store_process.kill_at(point, count)
        serve(build(Store.open(place.where, mark=place.mark)), "127.0.0.1", port)
        os._exit(0)
    finally:
        os._exit(9)


def as_it_is(store: Store) -> Service:
    """The correct service."""
    return Service(store, _guard())


def publishing_before_commit(store: Store) -> Service:
    """A service whose readers see a release before it is committed."""

    class Early(Service):
        async def start(self) -> None:
            self.loop = asyncio.get_running_loop()
            await super().start()

        def show(self, release: Published) -> None:
            self.registry.published(release)
            self.hub.tell(release.stream)

    class EarlyLive(live_streams.Live):
        def close(self, database: Writable, closed: int) -> tuple[Column, float]:
            values, stddev = super().close(database, closed)
            release = Published(self.name, self.steps, closed, values, stddev)
            service.loop.call_soon_threadsafe(service.show, release)
            time.sleep(PAUSE)
            return values, stddev

    patch("hushfade.store.store.Live", EarlyLive).start()
    service = Early(store, _guard())
    return service


def acknowledging_before_commit(store: Store) -> Service:
    """A service that answers a sender before the batch is committed."""

    class Hasty(Writer):
        def _accept(self, jobs: Sequence[_Job]) -> None:
            for job in jobs:
                job.told("accepted", None)
            time.sleep(PAUSE)
            super()._accept(jobs)

    service = Service(store, _guard())
    service.writer = Hasty(store)
    return service


def forgetting_senders(store: Store) -> Service:
    """A service that keeps the senders' sequences only in memory."""
    write = SQLite.write

    def forgetful(self: SQLite, sql: str, *values: Any) -> None:
        if not sql.startswith("INSERT INTO senders"):
            write(self, sql, *values)

    patch.object(SQLite, "write", forgetful).start()
    return Service(store, _guard())


def _guard() -> Guard:
    return Guard(rate=1e9)
