"""Calendar days, weeks and months in a time zone: their bounds, and the step of a time.

A day begins at the first moment of its date in the time zone.  If clocks change at midnight, this
is the first moment after the change; if midnight occurs twice, it is the earlier one.  A day of 23
or 25 hours is one step.  Weeks begin on Monday.  The bounds follow from declarations and the
machine's database of time zones, never from the data.

Times without a time zone are local times of the declared zone.  Their bounds are the midnights as
written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache

import numpy as np

from hushfade import check, duration
from hushfade.check import Signed
from hushfade.errors import InvalidValue
from hushfade.records.calendar import Order, Timed, moment

_DAY = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_MONDAY = 3  # 1970-01-01 was a Thursday
_LAST = 2261  # int64 nanoseconds end in 2262


@dataclass(frozen=True)
class Dates:
    """The days, weeks or months of a time zone, numbered from 1970 on.

    >>> Dates("month UTC", zoned=True).begin(13) == 396 * 86400 * 10**9  # 1971-02-01
    True
    """

    step: str  # such as "day Europe/Vienna"
    zoned: bool

    def __post_init__(self) -> None:
        if self.zoned:
            duration.check_zone(self.step)

    def begin(self, number: int) -> int:
        """The beginning of a day, week or month, in nanoseconds since 1970."""
        first = self._first_day(number)
        if not self.zoned or self._zone == "UTC":
            return (first.toordinal() - _EPOCH) * _DAY
        from zoneinfo import ZoneInfo

        # fold=0: the earlier of two midnights; in a gap, the offset before the gap leads to its end
        midnight = datetime(first.year, first.month, first.day, tzinfo=ZoneInfo(self._zone))
        passed = midnight.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (passed.days * 86_400 + passed.seconds) * 10**9

    def containing(self, time: int) -> int:
        """The number of the day, week or month that contains a time."""
        days = time // _DAY
        match self._unit:
            case "day":
                number = days
            case "week":
                number = (days + _MONDAY) // 7
            case _:
                near = date.fromordinal(_EPOCH + days)
                number = (near.year - 1970) * 12 + near.month - 1
        while self.begin(number) > time:  # a local date differs by a day at most
            number -= 1
        while self.begin(number + 1) <= time:
            number += 1
        return number

    def begins(self, first: int, count: int | None) -> Signed:
        """The beginnings of `count` days, weeks or months, or of all up to the year 2261."""
        if count is None:
            count = self.containing((date(_LAST, 12, 1).toordinal() - _EPOCH) * _DAY) - first
        return _begins(self, first, count)

    @property
    def _unit(self) -> str:
        return self.step.partition(" ")[0]

    @property
    def _zone(self) -> str:
        return self.step.partition(" ")[2]

    def _first_day(self, number: int) -> date:
        match self._unit:
            case "day":
                return date.fromordinal(_EPOCH + number)
            case "week":
                return date.fromordinal(_EPOCH + 7 * number - _MONDAY)
        return date(1970 + number // 12, number % 12 + 1, 1)


@lru_cache(maxsize=16)
def _begins(dates: Dates, first: int, count: int) -> Signed:
    found = np.array([dates.begin(first + i) for i in range(count)], dtype=np.int64)
    found.flags.writeable = False
    return found


@dataclass(frozen=True)
class LocalCalendar(Timed):
    """Steps that are calendar days, weeks or months; the first is `first` in `dates`."""

    dates: Dates
    first: int
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            check.count(steps=self.steps)
            longest = {"day": 1, "week": 7, "month": 31}[self.dates.step.partition(" ")[0]]
            if not self.start + self.steps * longest * _DAY < 2**63:
                raise InvalidValue("the last step must end before the year 2262")

    @property
    def zoned(self) -> bool:  # type: ignore[override]
        return self.dates.zoned

    @property
    def step(self) -> str:
        return self.dates.step

    @property
    def start(self) -> int:  # type: ignore[override]
        return self.dates.begin(self.first)

    @cached_property
    def begins(self) -> Signed:
        """The start of each step, and the end of the last; up to the year 2261 without `steps`."""
        return self.dates.begins(self.first, None if self.steps is None else self.steps + 1)

    def places(self, times: Signed) -> Signed:
        return np.searchsorted(self.begins, times, side="right").astype(np.int64) - 1

    def starts(self, places: Signed) -> Signed:
        return np.asarray(self.begins[np.minimum(places, len(self.begins) - 1)])


def local_calendar(
    start: int, step: str, *, zoned: bool, end: int | None, steps: int | None
) -> LocalCalendar:
    """The calendar from start to end, in nanoseconds since 1970.

    Raise unless start and end are beginnings of days, weeks or months.
    """
    dates = Dates(step, zoned)
    first = _beginning(dates, start, "start")
    if end is not None:
        steps = _beginning(dates, end, "end") - first
        if not steps > 0:
            raise InvalidValue(
                "must be after the start",
                argument="end",
                got=moment(end, zoned=zoned).isoformat(),
            )
    return LocalCalendar(dates, first, steps)


def _beginning(dates: Dates, time: int, name: str) -> int:
    number = dates.containing(time)
    if dates.begin(number) != time:
        nearest = moment(dates.begin(number), zoned=dates.zoned)
        raise InvalidValue(
            f"must be the beginning of {duration.in_words(dates.step)}",
            argument=name,
            got=moment(time, zoned=dates.zoned).isoformat(),
            remedy=f"for example {nearest.isoformat()}",
        )
    return number


@dataclass(frozen=True)
class Periods:
    """The calendar period in which each step begins, for limits per person and period."""

    dates: Dates
    order: Timed

    @classmethod
    def of(cls, period: str, order: Order) -> Periods:
        """The periods of the steps of an order."""
        if not isinstance(order, Timed):
            raise InvalidValue(
                "a unit with a period needs steps with times, which determine the period",
                remedy="give times, or use within",
            )
        return cls(Dates(period, order.zoned), order)

    @cached_property
    def _begins(self) -> tuple[int, Signed]:
        """The number of the first period, and where each period begins."""
        dates, order = self.dates, self.order
        first = dates.containing(order.start)
        count = None
        if order.steps is not None:
            count = dates.containing(order.end_of(order.steps)) - first + 1
        return first, dates.begins(first, count)

    def of_steps(self, places: Signed) -> Signed:
        """The number of the period in which each step begins; steps are counted from 0.

        >>> from hushfade.records.calendar import Calendar
        >>> weeks = Periods.of("week UTC", Calendar(0, _DAY, True))
        >>> weeks.of_steps(np.arange(6)).tolist()  # 1970-01-01 was a Thursday
        [0, 0, 0, 0, 1, 1]
        """
        first, begins = self._begins
        found = np.searchsorted(begins, self.order.starts(places), side="right")
        return found.astype(np.int64) - 1 + first

    def first_steps(self) -> Signed:
        """The first step, counted from 0, of each period in which a step begins.

        >>> from hushfade.records.calendar import Calendar
        >>> Periods.of("week UTC", Calendar(0, _DAY, True, 14)).first_steps().tolist()
        [0, 4, 11]
        """
        _, begins = self._begins
        found = np.unique(self.order.places(begins - 1) + 1)  # a step after the last moment before
        return found if self.order.steps is None else found[found < self.order.steps]
