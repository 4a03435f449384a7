"""The random declarations of a case: the plan, the columns, the steps, the unit of time."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from random import Random

import hushfade as hf
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import Neighbours
from hushfade.records import Calendar, Columns, Timed
from hushfade.records.local_calendar import Dates, LocalCalendar
from lab.soaks.neighbours.meaning import Days, Rules, Steps

KEYS = ("a", "b", "7", 'é,\n"x')
NAMES = {"value": "v", "time": "t", "key": "k", "user": "u"}
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_STEP_LENGTHS = (3600 * 10**9, 10**9, 86_400 * 10**9, 1000)
_STARTS = (1_767_225_600 * 10**9, 0, 1_774_728_000 * 10**9, -(10**18), 1_700_000_000 * 10**9)
_GRIDS = ((0, 1, None), (-4, 4, 1), (-(2.0**10), 2.0**20, 0.5), (0, 1, 1))
UNITS_OF_PRIVACY = (
    hf.Person(), hf.Person(steps=2, apart=2), hf.Person(steps=3, records_per_step=2),
    hf.Person(within=2), hf.Person(within=3, records_per_step=2),
    hf.Person(period="day Europe/Vienna", steps=1), hf.Person(period="week", steps=2),
)  # fmt: skip
_PERIODS = 2  # the last units, which need times
# the first of some days, one of which has 23 or 25 hours, or no midnight
_CHANGES = (
    ("Europe/Berlin", datetime.date(2026, 10, 23)),
    ("Europe/Berlin", datetime.date(2026, 3, 27)),
    ("America/Sao_Paulo", datetime.date(2018, 11, 2)),
    ("Pacific/Apia", datetime.date(2011, 12, 28)),
)
_DAY = 86_400 * 10**9


@dataclass(frozen=True)
class Setting:
    """The declarations, which are the same for an input and for its neighbour."""

    rules: Rules
    columns: Columns
    calendar: Calendar | None  # None: records belong to the open step
    time_unit: str | None

    @property
    def zoned(self) -> bool:
        """True if times in text have a zone."""
        return self.calendar is None or self.calendar.zoned


@lru_cache(maxsize=64)
def plan_of(grid: int, keyed: bool, limits: int, neighbours: Neighbours = "add_remove") -> Plan:
    """One of a few cached plans: making a plan takes longer than reading an input."""
    guarantee = hf.Guarantee(
        epsilon=1, delta=1e-6, neighbours=neighbours, protects=UNITS_OF_PRIVACY[limits]
    )
    low, high, resolution = _GRIDS[grid]
    return hf.plan(
        hf.SlidingWindow(1),
        guarantee,
        keys=KEYS if keyed else None,
        low=low,
        high=high,
        resolution=resolution,
    )


def setting_of(
    random: Random,
    *,
    timed: bool = True,
    units: tuple[str | None, ...] = (None, None, *UNITS),
    persons: bool = True,
    zones: tuple[bool, ...] = (False, True),
    skip_empty: bool | None = None,
    shortest: int = 1,
    periods: bool = True,
) -> Setting:
    """A random setting; the arguments state what a path supports."""
    timeless = _PERIODS * (not periods or not timed)
    keyed, limits = random.random() < 0.7, random.randrange(len(UNITS_OF_PRIVACY) - timeless)
    with_persons = persons and random.random() < 0.4
    plan = plan_of(random.randrange(4), keyed, limits)
    counts = plan.grid.low == 0 and random.random() < 0.2
    columns = Columns(
        value=None if counts else NAMES["value"],
        time=NAMES["time"] if timed else None,
        key=NAMES["key"] if keyed else None,
        user=NAMES["user"] if with_persons else None,
    )
    skips = random.random() < 0.3 if skip_empty is None else skip_empty
    if not timed:
        steps = Steps(0, 1, 1)
        rules = Rules(plan, steps, skips and not counts, with_persons)
        return Setting(rules, columns, None, None)
    unit = random.choice(units)
    lengths = [length for length in _STEP_LENGTHS if length >= shortest]
    start, length = random.choice(_STARTS), random.choice(lengths)
    zoned = unit is not None or random.choice(zones)
    steps = Steps(start, length, 5, zoned)
    calendar = Calendar(steps.start, steps.every, zoned, steps.count)
    rules = Rules(plan, steps, skips and not counts, with_persons)
    return Setting(rules, columns, calendar, unit)


def with_local_days(random: Random, setting: Setting) -> tuple[Setting, Timed]:
    """The setting with calendar days around a change of the clocks, and the times of the steps."""
    zone, first = random.choice(_CHANGES)
    dates = Dates(f"day {zone}", True)
    days = LocalCalendar(dates, (first - datetime.date(1970, 1, 1)).days, 5)
    steps = Days(days.start, _DAY, 5, zone=zone)
    return replace(setting, rules=replace(setting.rules, steps=steps)), days


def warm_up() -> None:
    """Make all plans."""
    for grid, keyed, limits in product(range(4), (False, True), range(len(UNITS_OF_PRIVACY))):
        plan_of(grid, keyed, limits)
