"""The process of the service that is killed: the correct service, or a build with a bug.

A build with a bug pauses, like a slow disk, so that clients can act on a premature answer.
"""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unittest.mock import patch

from hushfade.check import Column
from hushfade.serve import Service
from hushfade.serve.guard import Guard
from hushfade.serve.process import serve
from hushfade.serve.writer import Writer, _Job
from hushfade.store import Batch, Published, Store, fail_points, live_streams, persons
from hushfade.store.database import Database, Writable
from hushfade.store.sqlite import SQLite
from lab.soaks import store_process
from lab.soaks.store_kills import Place

Build = Callable[[Store], Service]

PAUSE = 0.02  # seconds
BETWEEN = "between persons and records"  # a point of the build that commits them apart


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
    except BaseException:
        traceback.print_exc()
        raise
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


def forgetting_persons(store: Store) -> Service:
    """A service that keeps the rows of persons only in memory."""
    memory: dict[tuple[int, int, bytes], persons.Row] = {}

    def recorded(database: Database, stream: int, rows: Sequence[persons.Row]) -> None:
        memory.update({(stream, row.stretch, row.person): row for row in rows})

    def remembered(
        database: Database, stream: int, stretch: int, wanted: Iterable[bytes]
    ) -> list[persons.Row]:
        keys = [(stream, stretch, person) for person in wanted]
        return [memory[key] for key in keys if key in memory]

    patch.object(persons, "record", recorded).start()
    patch.object(persons, "rows_of", remembered).start()
    return Service(store, _guard())


def committing_persons_first(store: Store) -> Service:
    """A service that commits the rows of persons, and then the records in another transaction."""
    accept, decided = Store.accept, dict[int, persons.Mask]()

    def accept_in_two(self: Store, batches: Sequence[Batch]) -> list[str]:
        lasts: dict[str, int] = {}
        with self._changing():
            for batch in batches:
                live = self.live(batch.stream)
                last = lasts.setdefault(batch.sender, live.senders.get(batch.sender, -1))
                assert live.enforced is not None
                assert batch.persons is not None
                if batch.sequence > last:
                    lasts[batch.sender] = batch.sequence
                    users = batch.persons.users
                    step = live.steps + 1
                    decided[id(users)] = counted(
                        live.enforced, self._database, live.number, step, users
                    )
        fail_points.reached(BETWEEN)
        time.sleep(PAUSE)
        return accept(self, batches)

    def counted_before(
        self: persons.Enforced, database: Database, stream: int, step: int, users: Sequence[str]
    ) -> persons.Mask:
        return decided.pop(id(users))

    counted = persons.Enforced.counted
    patch.object(Store, "accept", accept_in_two).start()
    patch.object(persons.Enforced, "counted", counted_before).start()
    return Service(store, _guard())


def counting_repeated_persons(store: Store) -> Service:
    """A service in which a repeated batch uses up the limits of its persons once more."""

    class Greedy(live_streams.Live):
        def accept(self, database: Database, batch: Batch) -> str:
            if batch.persons is not None and batch.sequence <= self.senders.get(batch.sender, -1):
                self._counted(database, batch.persons)
            return super().accept(database, batch)

    patch("hushfade.store.store.Live", Greedy).start()
    return Service(store, _guard())


def _guard() -> Guard:
    return Guard(rate=1e9)
