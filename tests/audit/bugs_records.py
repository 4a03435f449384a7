"""Seeded bugs in what becomes of records and totals: their form, key, direction, sign and size."""

from __future__ import annotations

import numpy as np

from hushfade import Exponential, InvalidValue, plan
from hushfade.public.release import Release
from tests.audit.bugs import KEYED, ONE, SINGLE, SWAPPED, Bug, Proxy, Seeded

VECTORS = plan(Exponential(half_life=3), ONE, width=3, norm=1.0)
SYMMETRIC = plan(Exponential(half_life=8), ONE, low=-1, high=1)


def on_grid(plan, total):
    if not np.all(np.abs(total) < 1e12):
        raise InvalidValue("records must be finite")
    return np.floor(total / plan.grid.resolution + 0.5) * plan.grid.resolution


class Stepped(Proxy):
    """Records are summed by a function of plan and records; where it has no answer, as usual."""

    def __init__(self, stream, plan, total):
        super().__init__(stream, plan)
        self.total = total

    def step(self, records=()):
        found = self.total(self.plan, records)
        return self.stream.step(records) if found is None else self.stream.step_total(found)

    def step_total(self, total):
        return self.stream.step_total(total)


class Summed(Seeded):
    def __init__(self, total):
        self.total = total

    def wrong(self, stream, plan, noise):
        return Stepped(stream, plan, self.total)


def clipped_by_coordinate(plan, records):
    rows = np.atleast_2d(np.asarray(records, dtype=float).reshape(-1, plan.grid.width))
    if not np.all(np.isfinite(rows)):
        raise InvalidValue("records must be finite")
    norm = plan.grid.norm
    return on_grid(plan, np.clip(rows, -norm, norm).sum(axis=0))


def clipped_in_the_first_key(plan, records):
    if len(records) == 0:
        return {}
    first = plan.grid.keys[0]
    return {
        key: float(np.sum(plan.quantise(of_key)))
        if key == first
        else float(on_grid(plan, np.sum(of_key)))
        for key, of_key in records.items()
    }


def unclipped_where(chosen):
    def total(plan, records):
        return float(on_grid(plan, np.sum(records))) if chosen(records) else None

    return total


def first_vector_alone(plan, records):
    """Of a row that is not in a list, only the first coordinate counts."""
    row = np.asarray(records, dtype=float)
    if row.ndim != 1 or row.size == 0 or not np.all(np.isfinite(row)):
        return None
    kept = plan.quantise([row])[0]
    kept[1:] = 0.0
    return kept


class Altered(Proxy):
    """Totals pass through a function before they enter."""

    def __init__(self, stream, plan, change):
        super().__init__(stream, plan)
        self.change = change

    def run(self, totals):
        return self.stream.run(self.change(self.plan, np.asarray(totals, dtype=float)))


class Totalled(Seeded):
    def __init__(self, change):
        self.change = change

    def wrong(self, stream, plan, noise):
        return Altered(stream, plan, self.change)


def negative_ten_times(plan, totals):
    return np.where(totals < 0, 10.0 * totals, totals)


def negative_saturated(plan, totals):
    return np.maximum(totals, -(2.0**20) * plan.grid.resolution)


def large_twice(plan, totals):
    return np.where((totals > 1000) & (totals < 1e6), 2.0 * totals, totals)


class Revealing(Proxy):
    """No noise where a total is more than a hundred records."""

    def run(self, totals):
        rows = np.asarray(totals, dtype=float).reshape(len(totals), -1)
        stream, first = self.stream, self.stream.steps
        drawer, limit = stream._engine.drawer, 100 * self.plan.grid.high

        class Drawing:
            def draws(self, law, step, steps, lanes, *, lane=0):
                z = drawer.draws(law, step, steps, lanes)
                z[rows[step - first : step - first + steps] > limit] = 0
                return z

        stream._engine.drawer = Drawing()
        try:
            return stream.run(totals)
        finally:
            stream._engine.drawer = drawer

    def step_total(self, total):
        row = np.asarray(self.run(np.reshape(np.asarray(total, dtype=float), (1, -1))))[0]
        return Release(self.stream.steps, row if len(row) > 1 else float(row[0]), 1.0)


class Loud(Seeded):
    def wrong(self, stream, plan, noise):
        return Revealing(stream, plan)


BUGS: dict[str, Bug] = {
    "vectors clipped by coordinate": Bug(Summed(clipped_by_coordinate), VECTORS),
    "a vector alone loses coordinates": Bug(Summed(first_vector_alone), VECTORS),
    "clip in the first key only": Bug(Summed(clipped_in_the_first_key), KEYED),
    "arrays are not clipped": Bug(
        Summed(unclipped_where(lambda records: isinstance(records, np.ndarray))), SINGLE
    ),
    "tuples are not clipped": Bug(
        Summed(unclipped_where(lambda records: isinstance(records, tuple) and records)), SINGLE
    ),
    "a number alone is not clipped": Bug(
        Summed(unclipped_where(lambda records: isinstance(records, float))), SINGLE
    ),
    "many records are not clipped": Bug(
        Summed(unclipped_where(lambda records: np.size(records) > 16)), SINGLE
    ),
    "negative totals count ten times": Bug(Totalled(negative_ten_times), SWAPPED),
    "negative totals saturate": Bug(Totalled(negative_saturated), SYMMETRIC),
    "large totals count twice": Bug(Totalled(large_twice), SINGLE),
    "large totals have no noise": Bug(Loud(), SINGLE),
}
