"""The meaning of a record, and the units of an input, in plain Python with exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from hushfade.planning.plan import Plan

Totals: TypeAlias = dict[tuple[int, int], int]
"""The nonzero units by step and lane, both counted from 0."""


class Fault(Enum):
    """The reason why a field has no value."""

    MALFORMED = 1
    EMPTY = 2


@dataclass(frozen=True)
class Meaning:
    """The content of a record: its time in nanoseconds, its value, its key and its person."""

    time: int | Fault | None = None  # None: the step that is open
    value: Any = 1.0  # a number or a fault; with a statistic also a text or a pair
    key: str | Fault | None = None
    user: str | Fault | None = None
    broken: bool = False  # the record as a whole is unreadable


@dataclass(frozen=True)
class Steps:
    """The declared steps."""

    start: int
    every: int
    count: int
    zoned: bool = True

    def of(self, time: int | None) -> int | None:
        """The step of a time; None outside the steps."""
        if time is None:
            return 0
        step = (time - self.start) // self.every
        return step if 0 <= step < self.count else None

    def begin(self, step: int) -> datetime:
        """The moment at which a step begins."""
        return _moment(self.start + step * self.every)

    def period(self, step: int, period: str) -> object:
        """The calendar day, week or month in which a step begins, as the calendar names it."""
        unit, _, zone = period.partition(" ")
        begin = self.begin(step)
        local = begin.astimezone(ZoneInfo(zone)) if self.zoned else begin
        if unit == "week":
            return local.isocalendar()[:2]
        return (local.year, local.month, local.day)[: 2 if unit == "month" else 3]


@dataclass(frozen=True)
class Days(Steps):
    """Steps that are the calendar days of a time zone, by Python's own calendar."""

    zone: str = "UTC"

    def of(self, time: int | None) -> int | None:
        assert time is not None
        if abs(time - self.start) > 2 * (self.count + 1) * self.every:  # far away
            return None
        step = (self._local(time) - self._local(self.start)).days
        return step if 0 <= step < self.count else None

    def begin(self, step: int) -> datetime:
        day = self._local(self.start) + timedelta(days=step)
        return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone)).astimezone(UTC)

    def _local(self, time: int) -> date:
        return _moment(time).astimezone(ZoneInfo(self.zone)).date()


def _time(record: Meaning) -> int | None:
    assert not isinstance(record.time, Fault)
    return record.time


def _moment(time: int) -> datetime:
    """A time in nanoseconds since 1970, to the microsecond."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time // 1000)


@dataclass(frozen=True)
class Rules:
    """The rules for reading an input."""

    plan: Plan
    steps: Steps
    skip_empty: bool = False
    persons: bool = False
    declared_keys_only: bool = False  # a record of another key is malformed
    step_by_step: bool = False  # records arrive in the order of their steps

    def malformed(self, record: Meaning) -> bool:
        """True if the record must be rejected."""
        if record.broken or Fault.MALFORMED in (record.time, record.value, record.key, record.user):
            return True
        if record.time is Fault.EMPTY or record.user is Fault.EMPTY:
            return True
        keys = self.plan.keys
        if self.declared_keys_only and keys is not None and record.key not in keys:
            return True
        return record.value is Fault.EMPTY and not self.skip_empty

    def left_of(self, record: Meaning) -> Meaning | None:
        """What a live input makes of a record: a malformed one only uses up its person's limits."""
        if not self.malformed(record):
            return record
        if record.broken or isinstance(record.time, Fault) or isinstance(record.user, Fault):
            return None
        return replace(record, value=Fault.EMPTY)

    def totals(self, records: Sequence[Meaning]) -> Totals:
        """The units of all steps and lanes, from well-formed records in their order."""
        found: Totals = {}
        used: dict[tuple[str, object], dict[int, int]] = {}
        steps = [self.steps.of(_time(record)) for record in records]
        pairs = [(step, one) for step, one in zip(steps, records, strict=True) if step is not None]
        if self.step_by_step:
            pairs.sort(key=lambda pair: pair[0])
        for step, record in pairs:
            if self.persons and not self._admits(used, record, step):
                continue
            lane = self._lane(record.key)
            if lane is None or isinstance(record.value, Fault):
                continue
            units = found.get((step, lane), 0) + self.units(record.value)
            found[step, lane] = units
        return {cell: units for cell, units in found.items() if units}

    def stretch(self, step: int) -> object:
        """The stretch of time in which the limits per person hold."""
        unit = self.plan.guarantee.protects
        if unit.period is not None:
            return self.steps.period(step, unit.period)
        return step if unit.within is not None else "the stream"

    def _admits(
        self, used: dict[tuple[str, object], dict[int, int]], record: Meaning, step: int
    ) -> bool:
        """True if the person's limits admit another record in this step; then counts it."""
        assert isinstance(record.user, str)
        unit = self.plan.guarantee.protects
        mine = used.setdefault((record.user, self.stretch(step)), {})
        if step in mine:
            free = mine[step] < unit.records_per_step
        else:
            apart = all(abs(step - other) >= unit.apart for other in mine)
            free = len(mine) < unit.steps and apart
        if free:
            mine[step] = mine.get(step, 0) + 1
        return free

    def _lane(self, key: str | Fault | None) -> int | None:
        if self.plan.keys is None:
            return 0
        return self.plan.keys.index(key) if key in self.plan.keys else None

    def units(self, value: float) -> int:
        """floor(clip(value) / resolution + ½), exactly."""
        grid = self.plan.grid
        clipped = Fraction(min(max(value, grid.low), grid.high))
        return math.floor(clipped / Fraction(grid.resolution) + Fraction(1, 2))
