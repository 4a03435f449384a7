"""kill -9 of the service with limits per person: exactly the records within the limits count.

Each batch has one record of a person who never occurs again.  It always counts, and its value shows
in which step the store accepted the batch, and how often (`service_clients`).  The other records
are of persons who have more records than the limits allow:

* persons of one sender, whose order of arrival is the order of the sender's batches.  The values of
  their records differ, so the totals show whether the first records count;
* persons of all senders.  Each of their records is 1, because their order is not known.

The soak computes from the steps of the batches which records count, person by person and from all
steps at once, and compares the sums per step and key with the totals behind the releases.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import hushfade as hf
from hushfade.check import Signed
from hushfade.records.calendar import Calendar
from hushfade.store import Store
from lab.postgres_server import Server
from lab.soaks import service_kills, service_process
from lab.soaks.service_clients import BASE, SLOTS, STREAM, Seen, Sender
from lab.soaks.service_kills import DECAY, SENDERS
from lab.soaks.service_process import Build
from lab.soaks.store_kills import POINTS, Place, new_place, noise_by_step

UNITS = {
    "step": hf.Person(within=4, records_per_step=2),
    "stream": hf.Person(steps=3, apart=2, records_per_step=2),
    "period": hf.Person(period="day UTC", steps=2, records_per_step=3),
}
"""The units, by the stretch of time in which the limits hold."""

HOUR = 3600 * 10**9
STEPS_PER_DAY = 4
DAYS = Calendar(0, 24 // STEPS_PER_DAY * HOUR, True)

PAUSE = 0.1  # seconds after a start in which no step is closed

OWN_KEYS, SHARED_KEY = ("x", "y"), "all"
KEYS = (*SENDERS, *OWN_KEYS, SHARED_KEY)
OWN_LIVES, SHARED_LIVES = (8, 64, 512), (8, 64)  # batches before another person follows


@dataclass
class PersonSender(Sender):
    """A sender whose records name their persons."""

    def records(self, at: int) -> list[dict[str, Any]]:
        """The records of a batch: one that always counts, and up to 3 of each person."""
        rng = random.Random(f"{self.name} {at}")
        (only,) = super().records(at)
        found = [{"user": f"{self.name} {at}", **only}]
        for life in OWN_LIVES:
            for _ in range(rng.randrange(4)):
                key, value = rng.choice(OWN_KEYS), rng.randint(1, 1000)
                user = f"{self.name} of {life}, {at // life}"
                found.append({"user": user, "key": key, "value": value})
        for life in SHARED_LIVES:
            shared = {"user": f"all of {life}, {at // life}", "key": SHARED_KEY, "value": 1}
            found += [shared] * rng.randrange(4)
        rng.shuffle(found)
        return found


@dataclass(frozen=True)
class Outcome:
    """What the clients found after all kills, and the records of persons in the totals."""

    service: service_kills.Outcome
    records: int  # in acknowledged batches
    counted: int  # of them, by the limits
    persons: int
    interrupted: int  # persons with records in one stretch before and after a kill
    too_much: int  # totals per step and key above the sum of the records that count
    too_little: int  # totals below it
    over_limit: int  # the store's own count of records beyond the limits

    @property
    def flawless(self) -> bool:
        """True if each total is exact, nothing was lost, counted or drawn twice, or changed."""
        exact = self.too_much + self.too_little == 0
        return exact and self.over_limit == self.records - self.counted and self.service.flawless


def soak(
    kills: int,
    kind: str,
    *,
    build: Build = service_process.as_it_is,
    points: Sequence[str] = POINTS,
    server: Server | None = None,
    seed: int = 5,
) -> Outcome:
    """The outcome of `kills` kills, half at points, half at random moments, for a unit of UNITS."""
    plan = planned(UNITS[kind])
    seen = Seen([PersonSender(name) for name in SENDERS])
    with new_place(server) as place, noise_by_step(seeded=True):
        store = Store.open(place.where, mark=place.mark)
        store.add_dataset("clinics", plan.guarantee)
        order = DAYS if kind == "period" else None
        store.add_stream(STREAM, plan, dataset="clinics", limits="enforced", order=order)
        store.close()
        rounds = service_kills.killed(
            kills, place, seen, build=build, points=points, seed=seed, repeat=True, pause=PAUSE
        )
        service = service_kills.judged(plan, place, seen, rounds, seeded=True)
        return _judged(kind, plan, place, seen, service)


def planned(unit: hf.Person) -> hf.Plan:
    """The plan of a stream that protects this unit."""
    return hf.plan(
        DECAY, hf.Guarantee(epsilon=8, delta=1e-6, protects=unit), every="6h",
        low=0, high=BASE ** (SLOTS - 1), resolution=1, keys=KEYS,
    )  # fmt: skip


class Arrival(NamedTuple):
    """A record of a person, in the step and as part of the batch in which it was accepted."""

    step: int
    sender: str
    sequence: int
    key: str
    value: int


def _judged(
    kind: str, plan: hf.Plan, place: Place, seen: Seen, service: service_kills.Outcome
) -> Outcome:
    """The outcome: the totals behind the releases, compared with the records that count."""
    store = Store.open(place.where, mark=place.mark)
    try:
        over_limit = store.live(STREAM).counts.get("over_limit", 0)
        kept = store.releases(STREAM)
    finally:
        store.close()
    units = service_kills.units_behind(plan, np.array([release.values for release in kept]))
    arrivals = arrived(kind, seen, units)
    sums: Signed = np.zeros_like(units)
    counted = 0
    for of_one in arrivals.values():
        for record in within_limits(UNITS[kind], of_one):
            sums[record.step - 1, KEYS.index(record.key)] += record.value
            counted += 1
    return Outcome(
        service=service,
        records=sum(map(len, arrivals.values())),
        counted=counted,
        persons=len({person for person, _ in arrivals}),
        interrupted=sum(_interrupted(seen, of_one) for of_one in arrivals.values()),
        too_much=int(np.sum(units > sums)),
        too_little=int(np.sum(units < sums)),
        over_limit=over_limit,
    )


def arrived(kind: str, seen: Seen, units: Signed) -> Mapping[tuple[str, int], list[Arrival]]:
    """The records by person and stretch, in each sender's order.

    A batch that the totals show in no step, or in several, is in the first of its possible steps.
    """
    found: dict[tuple[str, int], list[Arrival]] = defaultdict(list)
    for lane, sender in enumerate(seen.senders):
        for at, steps in enumerate(service_kills.steps_of(sender, units[:, lane])):
            step = steps[0] if steps else sender.first[at]
            stretch = {"stream": 0, "step": step, "period": (step - 1) // STEPS_PER_DAY}[kind]
            for record in sender.records(at):
                arrival = Arrival(step, sender.name, at, record["key"], record["value"])
                found[record["user"], stretch].append(arrival)
    return found


def within_limits(unit: hf.Person, of_one: Sequence[Arrival]) -> Iterator[Arrival]:
    """The records of one person in one stretch that count, by the definition of the limits.

    >>> one = [Arrival(step, "a", 0, "x", value) for step, value in ((4, 9), (3, 8), (3, 7))]
    >>> [record.value for record in within_limits(hf.Person(steps=1), one)]
    [8]
    """
    by_step: dict[int, list[Arrival]] = defaultdict(list)
    for record in of_one:
        by_step[record.step].append(record)
    most, chosen = 1 if unit.within else unit.steps, list[int]()
    for step in sorted(by_step):
        if len(chosen) < most and all(step - other >= unit.apart for other in chosen):
            chosen.append(step)
            yield from by_step[step][: unit.records_per_step]


def _interrupted(seen: Seen, of_one: Sequence[Arrival]) -> bool:
    """True if a sender sent records of the person before a kill and after it."""
    for sender in seen.senders:
        sent = [record.sequence for record in of_one if record.sender == sender.name]
        if sent and bisect_right(sender.kills, min(sent)) < bisect_left(sender.kills, max(sent)):
            return True
    return False
