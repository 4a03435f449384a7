"""kill -9 of a store, a thousand times: acknowledged batches count once, published releases stay.

The parent forks a child with everything loaded, kills it, and forks the next.  The parent knows
only what the child reported on a pipe before it died, as a client and a reader would.

Two stores alternate.  One has noise that depends on the step alone, so that its releases show bit
by bit whether each record was counted once and in its step.  The other has fresh noise, so that a
step that was drawn twice would show two values.

On PostgreSQL the soak also crashes the server, while a store is using it.
"""

from __future__ import annotations

import os
import random
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from unittest.mock import patch

import numpy as np

import hushfade as hf
from hushfade.store import Store
from lab.postgres_server import Server
from lab.soaks import store_process

POINTS = (
    "before draw", "after draw", "before commit", "after commit", "before mark", "after mark",
)  # fmt: skip
PLAN = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6), low=0, high=2000)
SEED = 11


@dataclass
class Seen:
    """What a client and a reader have seen of one store, over all its processes."""

    acknowledged: int = 0  # all lower sequences are acknowledged
    step_of: dict[int, int] = field(default_factory=dict)  # the step of each sequence
    published: dict[int, set[str]] = field(default_factory=dict)  # all bytes seen of a step
    open_step: int = 1
    kills: int = 0

    def line(self, words: list[str]) -> None:
        match words:
            case ["open", step]:
                self.open_step = int(step)
            case ["ack", sequence]:
                self.acknowledged = int(sequence) + 1
                self.step_of.setdefault(int(sequence), self.open_step)
            case ["pub", step, content]:
                self.published.setdefault(int(step), set()).add(content)
                self.open_step = max(self.open_step, int(step) + 1)


@dataclass(frozen=True)
class Outcome:
    """The state of a store after all kills."""

    kills: int
    steps: int
    acknowledged: int
    lost: int  # steps whose release does not match the acknowledged records
    drawn_twice: int  # steps with two published values
    changed: int  # published steps that the store does not have with the same bytes
    verified: bool
    seconds: float


@dataclass(frozen=True)
class Place:
    """The location of a store, and of its mark if it is elsewhere."""

    where: str | Path
    mark: Path | None = None


def soak(
    kills: int,
    *,
    seeded: bool,
    control: bool = False,
    server: Server | None = None,
    seed: int = 1,
) -> Outcome:
    """The outcome of `kills` kills of the store's process, half at points, half at random moments.

    The store is in a SQLite file, or on the server.
    """
    rng = random.Random(seed)

    def round_of(place: Place, seen: Seen, number: int) -> None:
        point = POINTS[number // 2 % len(POINTS)] if number % 2 else None
        _round(place, seen, rng, point, control=control)

    return _soaked(kills, round_of, server, seeded=seeded)


def crashes(count: int, server: Server, *, seeded: bool, seed: int = 2) -> Outcome:
    """The outcome of `count` crashes of the store's database server, at random moments.

    The time runs from the first acknowledgement of each round.
    """
    rng = random.Random(seed)

    def round_of(place: Place, seen: Seen, _: int) -> None:
        with _child(place, seen) as (process, pipe):
            content = _heard(pipe, time.monotonic() + 30.0, until=b"ack")
            content += _heard(pipe, time.monotonic() + rng.uniform(0.0, 0.4))
            server.crash()
            content += _heard(pipe, time.monotonic() + 30.0)  # the child ends by itself
            _finish(process, pipe, content, seen)
        server.start()

    return _soaked(count, round_of, server, seeded=seeded)


@contextmanager
def new_place(server: Server | None) -> Iterator[Place]:
    """A temporary place for a store."""
    with tempfile.TemporaryDirectory() as directory:
        if server is None:
            yield Place(Path(directory) / "releases.db")
        else:
            name = Path(directory).name.lower()
            yield Place(server.new_database(name), Path(directory) / "mark")


def noise_by_step(*, seeded: bool) -> AbstractContextManager[object]:
    """A context in which noise depends on the step alone, if `seeded`."""
    if not seeded:
        return nullcontext()
    seeded_noise = hf.UnsafeSeededNoise(SEED)
    return patch.object(hf.FreshNoise, "bound", lambda _, digest: seeded_noise.bound(digest))


def _soaked(
    kills: int,
    round_of: Callable[[Place, Seen, int], None],
    server: Server | None,
    *,
    seeded: bool,
) -> Outcome:
    """The outcome of a store after `kills` rounds."""
    began = time.monotonic()
    with new_place(server) as place, noise_by_step(seeded=seeded):
        store = Store.open(place.where, mark=place.mark)
        store.add_dataset("clinics", PLAN.guarantee)
        store.add_stream(store_process.STREAM, PLAN, dataset="clinics")
        store.close()
        seen = Seen()
        for number in range(kills):
            round_of(place, seen, number)
            seen.kills += 1
        return _judged(place, seen, seeded=seeded, seconds=time.monotonic() - began)


def _round(
    place: Place, seen: Seen, rng: random.Random, point: str | None, *, control: bool
) -> None:
    """Run one child, from its start to its death."""
    count = rng.randint(1, 6)

    def prepared(pipe: IO[str]) -> None:
        if control:
            store_process.publish_before_commit(pipe)
        if point is not None:
            store_process.kill_at(point, count)

    with _child(place, seen, prepared) as (process, pipe):
        deadline = time.monotonic() + (10.0 if point else rng.uniform(0.0, 0.15))
        _finish(process, pipe, _heard(pipe, deadline), seen)


@contextmanager
def _child(
    place: Place, seen: Seen, prepared: Callable[[IO[str]], None] = lambda pipe: None
) -> Iterator[tuple[int, IO[bytes]]]:
    """A process that works on the store, and the pipe on which it reports."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w", buffering=1) as pipe:
                prepared(pipe)
                store_process.work(place.where, place.mark, pipe, sequence=seen.acknowledged)
        finally:
            os._exit(9)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        yield process, pipe


def _finish(process: int, pipe: IO[bytes], content: bytes, seen: Seen) -> None:
    """Kill the process, and add all its reports to `seen`."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    while more := pipe.read(1 << 16):
        content += more
    for line in content.decode().splitlines(keepends=True):
        if line.endswith("\n"):  # a truncated line does not count
            seen.line(line.split())


def _heard(pipe: IO[bytes], deadline: float, until: bytes | None = None) -> bytes:
    """The reports of the child until the deadline, until a word, or until its death."""
    content = b""
    while (until is None or until not in content) and (left := deadline - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            more = os.read(pipe.fileno(), 1 << 16)
            if not more:
                break
            content += more
    return content


def _judged(place: Place, seen: Seen, *, seeded: bool, seconds: float) -> Outcome:
    """The outcome: close the open step, and compare the store with what was seen."""
    store = Store.open(place.where, mark=place.mark)
    steps = store.live(store_process.STREAM).steps
    step = steps + 1
    store.close_step(store_process.STREAM, step, closed=0)
    kept = {x.step: x.values.tobytes().hex() for x in store.releases(store_process.STREAM)}
    twice = sum(len(values) > 1 for values in seen.published.values())
    changed = sum(values != {kept.get(step)} for step, values in seen.published.items())
    lost = 0
    if seeded:
        lost = _lost(store, seen, step)
    try:
        verified = store.verify() == 2 + step
        store.check()
    finally:
        store.close()
    return Outcome(seen.kills, step, seen.acknowledged, lost, twice, changed, verified, seconds)


def _lost(store: Store, seen: Seen, last: int) -> int:
    """The number of steps whose release does not match its batches, bit for bit.

    A batch that was not acknowledged before the kill was sent again, and belongs to the step that
    was open then.  The last batch of a dead child may be in the store without an acknowledgement.
    """
    sender = store.live(store_process.STREAM).senders.get("client", -1)
    totals = np.zeros(last)
    for sequence in range(sender + 1):
        step = seen.step_of.get(sequence, seen.open_step)
        totals[step - 1] += store_process.value(sequence)
    expected = PLAN.start(hf.UnsafeSeededNoise(SEED)).run(totals * PLAN.grid.resolution)
    found = np.array([x.values[0] for x in store.releases(store_process.STREAM)])
    return int(np.sum(expected != found))
