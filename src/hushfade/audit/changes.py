"""Neighbouring streams: how one person's records can differ, and where.

The largest changes that a guarantee covers, in grid units, at the first, a middle and the last
step, as often and as near together as the guarantee allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade.audit.observed import gain_of, taps_of
from hushfade.check import Signed
from hushfade.plan import Plan


@dataclass(frozen=True)
class Change:
    """One person's records: by how many units they change the totals of lanes, at some steps."""

    name: str
    steps: tuple[int, ...]
    lanes: tuple[int, ...]  # by how much, in lane 0, 1, ...

    def units(self, n: int, lanes: int) -> Signed:
        """Δx of n steps, the same change again in each group of lanes."""
        found = np.zeros((n, lanes), dtype=np.int64)
        for place in range(0, lanes - len(self.lanes) + 1, len(self.lanes)):
            for step in self.steps:
                found[step, place : place + len(self.lanes)] += self.lanes
        return found


def kinds(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The largest changes of one step's totals that the guarantee's neighbours may have."""
    intake, guarantee = plan.intake, plan.guarantee
    most = guarantee.records_per_step
    if intake.norm is not None:
        if guarantee.neighbours == "add_remove":
            return {"a vector more": (most * intake.norm_unit,)}
        return {"a vector turned round": (2 * most * intake.norm_unit,)}
    largest = max(intake.low_unit, intake.high_unit, key=abs)
    if guarantee.neighbours == "add_remove":
        return {"a record more": (most * largest,)}
    found: dict[str, tuple[int, ...]] = {}
    found["another value"] = (most * (intake.high_unit - intake.low_unit),)
    if intake.keys is not None and len(intake.keys) > 1:
        found["another key"] = (-most * largest, most * largest)
    return found


def changes(plan: Plan, n: int) -> list[Change]:
    """Every kind of change at the first, the middle and the last of n steps."""
    guarantee = plan.guarantee
    length = 1 + (guarantee.participations - 1) * guarantee.separation
    starts = {"first": 0, "middle": n // 2, "last": max(0, n - length)}
    heaviest = heaviest_column(plan, n)
    if heaviest not in starts.values():
        starts["heaviest"] = heaviest
    found = []
    for place, start in starts.items():
        steps = tuple(range(start, min(n, start + length), guarantee.separation))[
            : guarantee.participations
        ]
        for kind, lanes in kinds(plan).items():
            where = f"{place} step" if len(steps) == 1 else f"{len(steps)} times, {place} steps"
            found.append(Change(f"{kind}, {where}", steps, lanes))
    return found


def heaviest_column(plan: Plan, n: int) -> int:
    """The step at which a change has the largest effect on what crosses within n steps."""
    if plan.pair.gain is None:
        return 0
    from scipy.signal import fftconvolve

    square = gain_of(plan, n).astype(np.float64) ** 2
    taps = taps_of(plan).integers[:n].astype(np.float64) ** 2
    return int(np.argmax(fftconvolve(square[::-1], taps)[:n][::-1]))


def needed(plan: Plan) -> int:
    """Steps within which a change at the first step has its whole effect."""
    guarantee = plan.guarantee
    apart = min(guarantee.separation, taps_of(plan).support)
    steps = taps_of(plan).support + (guarantee.participations - 1) * apart
    return steps if plan.horizon is None else plan.horizon
