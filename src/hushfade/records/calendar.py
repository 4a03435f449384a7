"""The step of a record: determined by its time, or by its place in the file.

Step t covers the times from start + (t - 1)·every up to, not including, start + t·every.  The
caller declares start, length and number of steps.  Taking them from the data would reveal the first
and the last record, and one record with an odd time would move the steps of all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade import check, duration
from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue


class Timed(ABC):
    """Steps that have times: their start, their number if it is declared, and the step of a time.

    `zoned`: the times are UTC.  Otherwise they are local times.
    """

    @property
    @abstractmethod
    def step(self) -> str:
        """The step as a plan declares it, such as "1h"."""

    @abstractmethod
    def places(self, times: Signed) -> Signed:
        """The step of each time, from 0; -1 before the start."""

    @abstractmethod
    def starts(self, places: Signed) -> Signed:
        """The starts of steps, counted from 0, in nanoseconds since 1970."""

    start: int
    zoned: bool
    steps: int | None

    def ends(self, steps: Signed) -> Signed:
        """The ends of many steps, in nanoseconds since 1970; the first step is 1."""
        return self.starts(steps)

    def end_of(self, step: int) -> int:
        """The end of step `step`, in nanoseconds since 1970; the first step is 1."""
        return int(self.starts(np.array(step, dtype=np.int64)))

    def end(self, step: int) -> datetime:
        """The end of step `step`, to the microsecond; the first step is 1."""
        return moment(self.end_of(step), zoned=self.zoned)


def moment(time: int, *, zoned: bool) -> datetime:
    """A time in nanoseconds since 1970, to the microsecond."""
    zero = datetime(1970, 1, 1, tzinfo=UTC if zoned else None)
    return zero + timedelta(microseconds=time // 1000)


@dataclass(frozen=True)
class Calendar(Timed):
    """Steps of `every` nanoseconds from `start`, in nanoseconds since 1970; `steps` of them.

    `zoned`: the times are UTC.  Otherwise they are local times, whose hours count as written: every
    day has 24 hours, also when summer time begins or ends.
    """

    start: int
    every: int
    zoned: bool
    steps: int | None = None

    def __post_init__(self) -> None:
        check.count(every=self.every)
        if not self.start >= -(2**63):
            raise InvalidValue("the first step must begin after the year 1676")
        if self.steps is not None:
            check.count(steps=self.steps)
            if not self.start + self.steps * self.every < 2**63:
                raise InvalidValue("the last step must end before the year 2262")

    def places(self, times: Signed) -> Signed:
        """The step of each time, from 0; -1 before the start."""
        # the difference of two int64 fits in uint64
        later = times.astype(np.uint64) - np.array(self.start).astype(np.uint64)
        places = np.minimum(later // np.uint64(self.every), np.uint64(2**62)).astype(np.int64)
        return np.where(times < self.start, np.int64(-1), places)

    @property
    def step(self) -> str:
        return duration.shown(self.every)

    def starts(self, places: Signed) -> Signed:
        return np.asarray(self.start + places * self.every)

    def end_of(self, step: int) -> int:
        return self.start + step * self.every


@dataclass(frozen=True)
class RowOrder:
    """Each step is the next `rows` rows.  The number of rows and the step of a row are public."""

    rows: int = 1
    steps: None = None

    def __post_init__(self) -> None:
        check.count(rows=self.rows)


@dataclass(frozen=True)
class Arrival:
    """A record belongs to the step that is open when it arrives.  The sender closes the steps."""

    steps: int | None = None


Order: TypeAlias = Timed | RowOrder | Arrival


def instant(text: str, *, name: str) -> tuple[int, bool]:
    """The time in nanoseconds since 1970, and whether it has a time zone.

    A date without a time is midnight; with Z, midnight UTC.

    >>> instant("1970-01-01T01:00", name="start"), instant("1970-01-01T01:00Z", name="start")
    ((3600000000000, False), (3600000000000, True))
    """
    from hushfade.records import time_texts
    from hushfade.records.texts import read_only

    data = read_only(text.strip().encode("utf-8", "replace"))
    zoned = bool(time_texts.has_zone(data))
    offsets: NDArray[np.int32] = np.array([0, len(data)], dtype=np.int32)
    found, codes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8)
    time_texts.nanoseconds(data, offsets, zoned, found, codes)
    if codes[0] or not -(2**63) < found[0] < 2**63 - 1:
        raise InvalidValue(
            "must be a time such as 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00+01:00, from "
            "1678 to 2261",
            argument=name,
            got=repr(text),
        )
    return int(found[0]), zoned


def written(time: object, name: str) -> str:
    """The time as text, with its time zone."""
    if isinstance(time, date):  # datetimes are dates, and so are pandas' timestamps
        return time.isoformat()
    if not isinstance(time, str):
        raise InvalidType(
            "must be a string, a date or a datetime", argument=name, got=type(time).__name__
        )
    return time


_BOTH = "end and steps cannot be combined: each determines the other"


def calendar(
    start: str, every: int | str, *, end: str | None = None, steps: int | None = None
) -> Timed:
    """The steps from start to end; `end` must be a whole number of steps after `start`.

    `every` is a length in nanoseconds, or a calendar step such as "month Europe/Vienna".

    >>> calendar("2026-01-01", 3600 * 10**9, end="2026-01-08").steps
    168
    >>> calendar("2026-01-01", "month UTC", end="2027-01-01").steps
    12
    """
    first, zoned = instant(start, name="start")
    if isinstance(every, str):
        return _local(first, zoned, every, end, steps)
    check.count(every=every)
    if end is not None:
        if steps is not None:
            raise InvalidValue(_BOTH)
        last = _end(end, zoned)
        steps, beyond = divmod(last - first, every)
        if beyond or not steps > 0:
            raise InvalidValue(
                "must be a whole number of steps after the start",
                argument="end",
                got=f"end {end}, start {start}",
            )
    return Calendar(first, every, zoned, steps)


def _end(end: str, zoned: bool) -> int:
    last, same = instant(end, name="end")
    if same != zoned:
        raise InvalidValue(
            "must have a time zone if and only if the start has one",
            argument="end",
            got=repr(end),
        )
    return last


def _local(first: int, zoned: bool, every: str, end: str | None, steps: int | None) -> Timed:
    from hushfade.records.local_calendar import local_calendar

    if end is not None and steps is not None:
        raise InvalidValue(_BOTH)
    last = None if end is None else _end(end, zoned)
    return local_calendar(first, every, zoned=zoned, end=last, steps=steps)
