"""Seeded bugs in the handling of records and totals: their form, key, direction, sign and size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hushfade import InvalidValue, Plan
from hushfade.check import Column, Matrix, Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.sampling_tables import Table
from hushfade.public.release import Release
from lab.audits.seeded_bugs.subjects import (
    COUNTS,
    KEYED,
    SINGLE,
    SWAPPED,
    SYMMETRIC,
    VECTORS,
    Bug,
    Proxy,
    Seeded,
)

ReadRecords = Callable[[Plan, Any], Any]
"""From the records of a step to their total; None: read them as usual."""
ChangeTotals = Callable[[Plan, Matrix], Matrix]


class Reading(Proxy):
    """A stream that sums records by a function."""

    def __init__(self, stream: Any, plan: Plan, read: ReadRecords) -> None:
        super().__init__(stream, plan)
        self.read = read

    def step(self, records: Any = ()) -> Release:
        """Close a step with its records."""
        total = self.read(self.plan, records)
        release: Release = (
            self.stream.step(records) if total is None else self.stream.step_total(total)
        )
        return release

    def step_total(self, total: Any) -> Release:
        """Close a step with its total, as usual."""
        release: Release = self.stream.step_total(total)
        return release


class Misread(Seeded):
    """Records are summed in a wrong way."""

    def __init__(self, read: ReadRecords) -> None:
        self.read = read

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that misreads records."""
        return Reading(stream, plan, self.read)


def clipped_sum(plan: Plan, records: Any) -> float:
    """The sum is clipped, not each record."""
    total = float(np.sum(records))
    if not math.isfinite(total):
        raise InvalidValue("records must be finite")
    grid = plan.grid.resolution
    return math.floor(min(max(total, -100.0), 100.0) / grid + 0.5) * float(grid)


def rounded_sum(plan: Plan, records: Any) -> float:
    """Records are clipped, summed, and then put on the grid."""
    values = np.asarray(records, dtype=float)
    if not np.all(np.isfinite(values)):
        raise InvalidValue("records must be finite")
    return float(_on_grid(plan, np.sum(np.clip(values, plan.grid.low, plan.grid.high))))


def sum_with_nan_as_zero(plan: Plan, records: Any) -> float:
    """NaN counts as 0."""
    return float(np.sum(plan.quantise(np.nan_to_num(np.asarray(records, dtype=float)))))


def clipped_by_coordinate(plan: Plan, records: Any) -> Column:
    """Each coordinate of a vector is clipped, not its norm."""
    rows = np.atleast_2d(np.asarray(records, dtype=float).reshape(-1, plan.grid.lanes))
    if not np.all(np.isfinite(rows)):
        raise InvalidValue("records must be finite")
    norm = plan.grid.norm
    assert norm is not None
    return np.asarray(_on_grid(plan, np.clip(rows, -norm, norm).sum(axis=0)))


def clipped_in_the_first_key(plan: Plan, records: Any) -> dict[Any, float]:
    """Records of all keys but the first are not clipped."""
    if len(records) == 0:
        return {}
    assert plan.grid.keys is not None
    first = plan.grid.keys[0]
    return {
        key: float(np.sum(plan.quantise(values)))
        if key == first
        else float(_on_grid(plan, np.sum(values)))
        for key, values in records.items()
    }


def unclipped_where(chosen: Callable[[Any], bool]) -> ReadRecords:
    """Some records are not clipped."""

    def total(plan: Plan, records: Any) -> float | None:
        return float(_on_grid(plan, np.sum(records))) if chosen(records) else None

    return total


def first_coordinate_alone(plan: Plan, records: Any) -> Column | None:
    """Of a vector that is not in a list, only the first coordinate counts."""
    row = np.asarray(records, dtype=float)
    if row.ndim != 1 or row.size == 0 or not np.all(np.isfinite(row)):
        return None
    kept = plan.quantise([row])[0]
    kept[1:] = 0.0
    return np.asarray(kept)


def _on_grid(plan: Plan, total: Any) -> Any:
    if not np.all(np.abs(total) < 1e12):
        raise InvalidValue("records must be finite")
    return np.floor(total / plan.grid.resolution + 0.5) * plan.grid.resolution


class Altered(Proxy):
    """A stream whose totals pass through a function before they enter."""

    def __init__(self, stream: Any, plan: Plan, change: ChangeTotals) -> None:
        super().__init__(stream, plan)
        self.change = change

    def run(self, totals: Any) -> Column:
        """Close steps with changed totals."""
        return np.asarray(self.stream.run(self.change(self.plan, np.asarray(totals, dtype=float))))


class Totalled(Seeded):
    """Totals are changed before they enter."""

    def __init__(self, change: ChangeTotals) -> None:
        self.change = change

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with changed totals."""
        return Altered(stream, plan, self.change)


def saturated(plan: Plan, totals: Matrix) -> Matrix:
    """Totals beyond 2^20 units count as 2^20 units."""
    most = 2.0**20 * plan.grid.resolution
    return np.clip(totals, -most, most)


def negative_saturated(plan: Plan, totals: Matrix) -> Matrix:
    """Totals below -2^20 units count as -2^20 units."""
    return np.maximum(totals, -(2.0**20) * plan.grid.resolution)


def negative_ten_times(plan: Plan, totals: Matrix) -> Matrix:
    """Negative totals count ten times."""
    return np.where(totals < 0, 10.0 * totals, totals)


def large_twice(plan: Plan, totals: Matrix) -> Matrix:
    """Large totals count twice."""
    return np.where((totals > 1000) & (totals < 1e6), 2.0 * totals, totals)


class Late(Proxy):
    """A stream whose totals enter one step late."""

    def __init__(self, stream: Any, plan: Plan) -> None:
        super().__init__(stream, plan)
        self.waiting: Matrix = np.zeros((1, plan.grid.lanes))

    def run(self, totals: Any) -> Column:
        """Close steps with the totals of the steps before."""
        x = np.concatenate([self.waiting, np.reshape(totals, (len(totals), -1))])
        self.waiting = x[-1:]
        return np.asarray(self.stream.run(x[:-1])).reshape(np.shape(totals))


class Delayed(Seeded):
    """The private half is one tap off: a total enters one step late."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that is late."""
        return Late(stream, plan)


class Revealing(Proxy):
    """A stream without noise where a total is more than a hundred records."""

    def run(self, totals: Any) -> Column:
        """Close steps, those with large totals without noise."""
        rows = np.asarray(totals, dtype=float).reshape(len(totals), -1)
        stream, first = self.stream, self.stream.steps
        drawer, limit = stream._engine.drawer, 100 * self.plan.grid.high

        class Drawing:
            def draws(
                self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0
            ) -> Signed:
                z: Signed = drawer.draws(law, step, steps, lanes)
                z[rows[step - first : step - first + steps] > limit] = 0
                return z

        stream._engine.drawer = Drawing()
        try:
            return np.asarray(stream.run(totals))
        finally:
            stream._engine.drawer = drawer


class Loud(Seeded):
    """Large totals have no noise."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that reveals large totals."""
        return Revealing(stream, plan)


BUGS: dict[str, Bug] = {
    "clip after sum": Bug(Misread(clipped_sum), SINGLE),
    "nan counts as a number": Bug(Misread(sum_with_nan_as_zero), SINGLE),
    "totals saturate": Bug(Totalled(saturated), SINGLE),
    "off by one: totals enter a step late": Bug(Delayed(), SINGLE),
    "vectors clipped by coordinate": Bug(Misread(clipped_by_coordinate), VECTORS),
    "a single vector loses coordinates": Bug(Misread(first_coordinate_alone), VECTORS),
    "only the first key is clipped": Bug(Misread(clipped_in_the_first_key), KEYED),
    "arrays are not clipped": Bug(
        Misread(unclipped_where(lambda records: isinstance(records, np.ndarray))), SINGLE
    ),
    "tuples are not clipped": Bug(
        Misread(unclipped_where(lambda records: isinstance(records, tuple) and records != ())),
        SINGLE,
    ),
    "a single number is not clipped": Bug(
        Misread(unclipped_where(lambda records: isinstance(records, float))), SINGLE
    ),
    "many records are not clipped": Bug(
        Misread(unclipped_where(lambda records: np.size(records) > 16)), SINGLE
    ),
    "negative totals count ten times": Bug(Totalled(negative_ten_times), SWAPPED),
    "negative totals saturate": Bug(Totalled(negative_saturated), SYMMETRIC),
    "large totals count twice": Bug(Totalled(large_twice), SINGLE),
    "large totals have no noise": Bug(Loud(), SINGLE),
    "fractions are put on a grid of 1 after their sum": Bug(Misread(rounded_sum), COUNTS),
}
