"""A year of visits in daily files, and which of them count: a dictionary and a loop.

Nothing here uses hushfade, so that the soak compares two independent counts.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

START = date(2026, 1, 1)
LOW, HIGH = 0, 10  # of the values that count
COLUMNS = ("at", "who", "value")

_REGULARS = [f"regular {number}" for number in range(400)]
_DAILY = [f"daily {number}" for number in range(5)]  # far over every limit
_ALIKE = [
    "ann", "Ann", "ann ", " ann", "an n", "\u00e4nn", "a\u0308nn", "\u0430nn", "ann\u200b",
    "7", "07", "7.0", "\uff17", "NaN", "null", "a,nn", 'a"nn', "a\nnn",
]  # fmt: skip


class Visit(NamedTuple):
    """A record: the person, the day and second of the visit, and a value."""

    person: str
    day: int  # from 0
    second: int
    value: int


Day = Sequence[Visit]
"""The records of one file, in their order.  Visits of earlier days are late."""


def year(days: int, seed: int = 5) -> list[Day]:
    """The files of this many days: people who return, newcomers, look-alikes and late visits."""
    rng = random.Random(seed)
    newcomers = 0
    files: list[Day] = []
    for day in range(days):
        visits: list[Visit] = []
        for _ in range(0 if day % 90 == 20 else rng.randint(150, 250)):
            kind = rng.random()
            if kind < 0.15:
                newcomers += 1
                person = f"newcomer {newcomers}"
            else:
                known = _REGULARS if kind < 0.75 else _DAILY if kind < 0.9 else _ALIKE
                person = rng.choice(known)
            late = rng.randint(1, 3) if rng.random() < 0.01 else 0
            second, value = rng.randrange(86_400), rng.randint(LOW - 2, HIGH + 3)
            visits.append(Visit(person, max(day - late, 0), second, value))
        files.append(visits)
    return files


def write(path: Path, visits: Sequence[Visit]) -> None:
    """Write the visits as a CSV file."""
    midnight = datetime.combine(START, datetime.min.time())
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for one in visits:
            at = midnight + timedelta(days=one.day, seconds=one.second)
            rows.writerow([at.isoformat(), one.person, one.value])


def punctual(files: Sequence[Day]) -> list[Visit]:
    """All visits that are in the file of their day, in order."""
    return [one for day, visits in enumerate(files) for one in visits if one.day == day]


def end_of(day: int) -> str:
    """The end of a day, as the command expects it."""
    return (START + timedelta(days=day + 1)).isoformat()


@dataclass(frozen=True)
class Unit:
    """A unit of privacy: its options, and its limits in each stretch of days."""

    name: str
    options: tuple[str, ...]
    steps: int
    apart: int
    records: int
    stretch: Callable[[int], object]


def _week(day: int) -> tuple[int, int]:
    return (START + timedelta(days=day)).isocalendar()[:2]


def _whole(day: int) -> int:
    return 0


def _step(day: int) -> int:
    return day


WEEK = Unit(
    "calendar week",
    ("--period", "week", "--person-steps", "2", "--apart", "2", "--records-per-step", "2"),
    *(2, 2, 2, _week),
)
LIFE = Unit("all records", ("--person-steps", "5", "--apart", "7"), 5, 7, 1, _whole)
WITHIN = Unit("any 7 days", ("--within", "7", "--records-per-step", "2"), 1, 1, 2, _step)


@dataclass
class Count:
    """For each day: the total, the visits that count or not, and the people to remember."""

    totals: list[int] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    over_limit: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    people: list[int] = field(default_factory=list)


def count(files: Sequence[Day], unit: Unit) -> Count:
    """The independent count of the files."""
    seen: dict[tuple[str, object], tuple[int, int, int]] = {}  # days, the last day, its visits
    people: Counter[object] = Counter()
    result = Count()
    for day, visits in enumerate(files):
        stretch, total, counted, late = unit.stretch(day), 0, 0, 0
        for one in visits:
            if one.day < day:
                late += 1
                continue
            days, last, today = seen.get((one.person, stretch), (0, day - unit.apart, 0))
            if days > 0 and last == day:
                counts, after = today < unit.records, (days, day, today + 1)
            else:
                counts = days < unit.steps and day - last >= unit.apart
                after = (days + 1, day, 1)
            if counts:
                people[stretch] += days == 0
                seen[one.person, stretch] = after
                total += min(max(one.value, LOW), HIGH)
                counted += 1
        result.totals.append(total)
        result.counted.append(counted)
        result.over_limit.append(len(visits) - counted - late)
        result.late.append(late)
        result.people.append(people[unit.stretch(day + 1)])
    return result
