"""kill -9 of the service under load over HTTP: every answer that its clients received is kept.

The senders, the client that closes steps and the reader lose their connections and reconnect.  The
soak compares their answers with the releases: the noise depends on the step alone, so the soak can
subtract it and knows each step's totals exactly.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread

import numpy as np

import hushfade as hf
from hushfade.check import Column, Signed
from hushfade.serve.registry import shown
from hushfade.store import Published, Store
from lab.postgres_server import Server
from lab.progress import progress
from lab.soaks import service_clients, service_process
from lab.soaks.service_clients import BASE, SLOTS, STREAM, Gone, Link, Seen, Sender
from lab.soaks.service_process import Build
from lab.soaks.store_kills import POINTS, SEED, Place, new_place, noise_by_step

SENDERS = ("a", "b", "c")
DECAY = hf.Exponential(half_life=3)
PLAN = hf.plan(
    DECAY, hf.Guarantee(epsilon=1, delta=1e-6),
    low=0, high=BASE ** (SLOTS - 1), resolution=1, keys=SENDERS,
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What the clients of a service found after all kills."""

    kills: int
    starts: int  # processes that answered a request before they were killed
    at_points: int  # kills at one of the points
    acknowledged: int
    steps: int
    events: int  # releases that came as events
    lost: int  # acknowledged batches that are in no release
    twice: int  # batches that were counted more than once
    unexplained: int  # what else is in the releases, or not bit for bit what it should be
    drawn_twice: int  # steps of which two releases were seen
    changed: int  # steps that were seen and are not in the store as they were
    odd: tuple[str, ...]  # answers that no client should get
    verified: bool
    seconds: float

    @property
    def flawless(self) -> bool:
        """True if nothing was lost, counted twice, drawn twice or changed."""
        wrong = self.lost + self.twice + self.unexplained + self.drawn_twice + self.changed
        return wrong == 0 and not self.odd and self.verified


def soak(
    kills: int,
    *,
    seeded: bool = True,
    build: Build = service_process.as_it_is,
    points: Sequence[str] = POINTS,
    server: Server | None = None,
    seed: int = 3,
) -> Outcome:
    """The outcome of `kills` kills of the service, half at points, half at random moments.

    With fresh noise the soak cannot count records, and `lost` and `twice` are 0.
    """
    seen = Seen([Sender(name) for name in SENDERS])
    with new_place(server) as place, noise_by_step(seeded=seeded):
        store = Store.open(place.where, mark=place.mark)
        store.add_dataset("clinics", PLAN.guarantee)
        store.add_stream(STREAM, PLAN, dataset="clinics")
        store.close()
        rounds = killed(kills, place, seen, build=build, points=points, seed=seed)
        return judged(PLAN, place, seen, rounds, seeded=seeded)


@dataclass(frozen=True)
class Rounds:
    """The processes that were killed."""

    kills: int
    starts: int  # processes that answered a request before they were killed
    at_points: int  # kills at one of the points
    seconds: float


def killed(
    kills: int,
    place: Place,
    seen: Seen,
    *,
    build: Build,
    points: Sequence[str],
    seed: int,
    repeat: bool = False,
    pause: float = 0.0,
) -> Rounds:
    """Run and kill the service, then run it until all batches are acknowledged.

    With `repeat`, one more client sends the batches of all senders again.  After each start, no
    client closes a step during the `pause`, so that a step has records before and after the kill.
    """
    began, rng, port = time.monotonic(), random.Random(seed), _port()
    starts = at_points = 0
    for number in range(kills):
        point = points[number // 2 % len(points)] if number % 2 else None
        before = seen.acknowledged, seen.closed, seen.events
        at_points += _round(place, port, build, seen, rng, point, repeat=repeat, pause=pause)
        starts += before != (seen.acknowledged, seen.closed, seen.events)
        for sender in seen.senders:
            sender.kills.append(sender.sequence)
    _last(place, port, seen)
    return Rounds(kills, starts, at_points, time.monotonic() - began)


def _round(
    place: Place,
    port: int,
    build: Build,
    seen: Seen,
    rng: random.Random,
    point: str | None,
    *,
    repeat: bool,
    pause: float,
) -> bool:
    """Run one process of the service and its clients; True if it died at the point."""
    process, pipe = service_process.started(place, port, build, point, rng.randint(1, 6))
    over = Event()
    pace = random.Random(rng.random())
    jobs: list[Callable[[Link], None]] = [
        *(
            partial(service_clients.keep_sending, seen=seen, sender=x, over=over)
            for x in seen.senders
        ),
        partial(service_clients.keep_closing, seen=seen, rng=pace, over=over, pause=pause),
        partial(service_clients.keep_reading, seen=seen),
    ]
    if repeat:
        jobs.append(partial(service_clients.keep_repeating, seen=seen, rng=pace, over=over))
    threads = [Thread(target=_work, args=(job, port, over)) for job in jobs]
    for thread in threads:
        thread.start()
    ended, _, _ = select.select([pipe], [], [], 10.0 if point else rng.uniform(0.0, 0.6))
    if point and not ended:
        working = [number for number, thread in enumerate(threads) if thread.is_alive()]
        progress(f"not at the point {point!r} after 10 s; working clients: {working}")
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(pipe)
    over.set()
    for thread in threads:
        thread.join()
    if os.WIFEXITED(status):
        seen.odd.append(f"process: ended by itself with code {os.WEXITSTATUS(status)}")
    return bool(ended) and os.WIFSIGNALED(status)


def _work(job: Callable[[Link], None], port: int, over: Event) -> None:
    """Do a client's work until the service is gone."""
    with suppress(Gone):
        link = Link(port, over)
        try:
            job(link)
        finally:
            link.close()


def _last(place: Place, port: int, seen: Seen) -> None:
    """Run a service that is not killed: send every batch, close the last step, read all steps."""
    process, pipe = service_process.started(place, port, service_process.as_it_is, None, 0)
    os.close(pipe)
    link = Link(port, Event())
    for sender in seen.senders:
        for _ in range(100):
            if not sender.sent:
                break
            service_clients.send(link, seen, sender)
    service_clients.close(link, seen, seen.closed + 1)  # the last request to a killed process
    service_clients.close(link, seen, seen.closed + 1)
    after, before = 0, -1
    while after > before:
        before, after = after, service_clients.read(link, seen, after)
    link.close()
    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)


def judged(plan: hf.Plan, place: Place, seen: Seen, rounds: Rounds, *, seeded: bool) -> Outcome:
    """The outcome: what the clients saw, compared with the store."""
    store = Store.open(place.where, mark=place.mark)
    try:
        verified = store.verify() == 2 + seen.closed
        store.check()
        kept = store.releases(STREAM)
    finally:
        store.close()
    lost = twice = unexplained = 0
    if seeded:
        lost, twice, unexplained = _counted(plan, seen, kept)
    found = {release.step: release for release in kept}
    return Outcome(
        kills=rounds.kills,
        starts=rounds.starts,
        at_points=rounds.at_points,
        acknowledged=seen.acknowledged,
        steps=len(kept),
        events=seen.events,
        lost=lost,
        twice=twice,
        unexplained=unexplained,
        drawn_twice=sum(len(said) > 1 for said in seen.published.values()),
        changed=sum(said != {_said(found.get(x))} for x, said in seen.published.items()),
        odd=tuple(seen.odd),
        verified=verified,
        seconds=rounds.seconds,
    )


def _said(release: Published | None) -> str:
    """A release of the store in the form that a client sees."""
    if release is None:
        return ""
    return json.dumps([shown(release.closed), release.values.tolist(), release.stddev])


def _counted(plan: hf.Plan, seen: Seen, kept: list[Published]) -> tuple[int, int, int]:
    """The number of batches in no step, of batches counted more than once, and the rest."""
    values = np.array([release.values for release in kept])
    units = units_behind(plan, values)
    replayed = plan.start(hf.UnsafeSeededNoise(SEED)).run(units.astype(np.float64))
    unexplained = int(np.sum(replayed != values))
    lost = twice = 0
    for lane, sender in enumerate(seen.senders):
        counts = [len(steps) for steps in steps_of(sender, units[:, lane])]
        lost += counts.count(0)
        twice += sum(count > 1 for count in counts)
        unexplained += int(_times(units[:, lane]).sum()) - sum(counts)
    return lost, twice, unexplained


def steps_of(sender: Sender, units: Signed) -> list[list[int]]:
    """The steps that count each acknowledged batch of a sender, from the totals of its lane."""
    times = _times(units)
    found = []
    for sequence in range(sender.sequence):
        steps = range(sender.first[sequence], sender.last[sequence] + 1)
        counts = times[steps.start - 1 : steps.stop - 1, sequence % SLOTS]
        found.append(np.repeat(np.array(steps)[: len(counts)], counts).tolist())
    return found


def _times(units: Signed) -> Signed:
    """How often the step counts each slot: the digits of its total, by step and slot."""
    return units[:, None] // BASE ** np.arange(SLOTS) % BASE


def units_behind(plan: hf.Plan, values: Column) -> Signed:
    """The totals behind the releases: subtract the noise, then undo the decay."""
    noise = plan.start(hf.UnsafeSeededNoise(SEED)).run(np.zeros_like(values))
    sums = np.asarray(values - noise)
    sums[1:] -= DECAY.weights(2)[1] * sums[:-1].copy()
    return np.rint(sums).astype(np.int64)


def _port() -> int:
    """A free port below the range for clients, so that no client can take it meanwhile."""
    for port in random.SystemRandom().sample(range(15_000, 30_000), 100):
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise OSError("found no free port between 15000 and 30000")
