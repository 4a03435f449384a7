"""Neighbouring streams: how one person's records can differ, and where.

The largest changes that a guarantee covers, in grid units, at the first, a middle and the last
step, as often and as near together as the guarantee allows.  Where the taps do not fall, also
farther apart and with other signs, each record where it adds most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushfade.audit.observer import gain_of, support
from hushfade.check import Signed
from hushfade.planning.plan import Plan

_SOUGHT, _OFTEN = 1 << 27, 1000  # lags that are looked at, at most, to place so many records


@dataclass(frozen=True)
class Change:
    """One person's records: by how many units they change the totals of lanes, at some steps."""

    name: str
    steps: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]  # for each step by how much, in lane 0, 1, ...

    @property
    def lanes(self) -> tuple[int, ...]:
        """The change at the first step, which is the largest."""
        return self.moves[0]

    def units(self, n: int, lanes: int) -> Signed:
        """Δx of n steps, the same change again in each group of lanes."""
        found = np.zeros((n, lanes), dtype=np.int64)
        for place in range(0, lanes - len(self.lanes) + 1, len(self.lanes)):
            for step, move in zip(self.steps, self.moves, strict=True):
                found[step, place : place + len(self.lanes)] += move
        return found


def kinds(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The largest changes of one step's totals that the guarantee's neighbours may have."""
    grid, guarantee = plan.grid, plan.guarantee
    most = guarantee.records_per_step
    if grid.norm is not None:
        if guarantee.neighbours == "add_remove":
            return {"a vector more": (most * grid.norm_unit,)}
        return {"a vector turned round": (2 * most * grid.norm_unit,)}
    largest = max(grid.low_unit, grid.high_unit, key=abs)
    if guarantee.neighbours == "add_remove":
        return {"a record more": (most * largest,)}
    found: dict[str, tuple[int, ...]] = {}
    found["another value"] = (most * (grid.high_unit - grid.low_unit),)
    if grid.keys is not None and len(grid.keys) > 1:
        found["another key"] = (-most * largest, most * largest)
    return found


def changes(plan: Plan, n: int) -> list[Change]:
    """Every kind of change at the first, the middle and the last of n steps."""
    often, apart = plan.guarantee.participations, _apart(plan, n)
    length = 1 + (often - 1) * apart
    starts = {"first": 0, "middle": n // 2, "last": max(0, n - length)}
    heaviest = heaviest_column(plan, n)
    if heaviest not in starts.values():
        starts["heaviest"] = heaviest
    found = []
    for place, start in starts.items():
        steps = tuple(range(start, min(n, start + length), apart))[:often]
        for kind, lanes in kinds(plan).items():
            where = f"{place} step" if len(steps) == 1 else f"{len(steps)} times, {place} steps"
            found.append(Change(f"{kind}, {where}", steps, (lanes,) * len(steps)))
    return found + arranged(plan, n)


def arranged(plan: Plan, n: int) -> list[Change]:
    """Several records, each next one where, and with the sign with which, it adds most.

    None where the taps fall, there the nearest is the worst, or where records never meet.
    """
    guarantee = plan.guarantee
    alone = guarantee.participations == 1 or guarantee.separation >= support(plan)
    if alone or plan.pair.gain is not None or falls(plan):
        return []
    found = []
    for kind, lanes in kinds(plan).items():
        back = _back(plan, lanes)
        placed = [(s, sign) for s, sign in _placed(plan, -back[0] / lanes[0]) if s < n]
        if len(placed) > 1:
            steps = tuple(step for step, _ in placed)
            moves = tuple(lanes if sign > 0 else back for _, sign in placed)
            found.append(Change(f"{kind}, {len(steps)} times, where most is added", steps, moves))
    return found


def falls(plan: Plan) -> bool:
    """Do the taps never rise, and stay above zero?"""
    integers = plan.taps.integers[: plan.horizon]
    return bool(np.all(np.diff(integers) <= 0) and integers[-1] >= 0)


def heaviest_column(plan: Plan, n: int) -> int:
    """The step at which a change has the largest effect on what crosses within n steps."""
    if plan.pair.gain is None:
        return 0
    from scipy.signal import fftconvolve

    square = gain_of(plan, n).astype(np.float64) ** 2
    taps = plan.taps.integers[:n].astype(np.float64) ** 2
    return int(np.argmax(fftconvolve(square[::-1], taps)[:n][::-1]))


def needed(plan: Plan, most: int | None = None) -> int:
    """Steps within which changes at the first step have their whole effect.

    Records that are too far apart for `most` steps are taken nearer, if they do not meet there
    either: `changes` does the same in so many steps.
    """
    if plan.horizon is not None:
        return plan.horizon
    guarantee, reach = plan.guarantee, support(plan)
    whole = reach + (guarantee.participations - 1) * guarantee.separation
    if most is not None and whole > most:
        whole = reach + (guarantee.participations - 1) * _apart(plan, most)
    return max([whole, *(reach + change.steps[-1] for change in arranged(plan, 1 << 62))])


def _apart(plan: Plan, n: int) -> int:
    """The distance of records in n steps: as near as allowed, or less where they do not meet.

    Columns that do not meet are orthogonal at any distance, so that the norm is the same.
    """
    guarantee, reach = plan.guarantee, support(plan)
    whole = reach + (guarantee.participations - 1) * guarantee.separation
    if plan.horizon is not None or whole <= n:
        return guarantee.separation
    return min(guarantee.separation, reach)


def _back(plan: Plan, lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The largest change the other way: that of the other bound if only values are added."""
    grid, guarantee = plan.grid, plan.guarantee
    if grid.norm is not None or guarantee.neighbours == "replace":
        return tuple(-units for units in lanes)
    low, high = grid.low_unit, grid.high_unit
    if not low < 0 < high:
        return (0,)
    return (guarantee.records_per_step * (high if lanes[0] < 0 else low),)


@lru_cache(maxsize=32)
def _placed(plan: Plan, back: float) -> list[tuple[int, int]]:
    """Steps and signs of records, the first at 0; one the other way counts `back` times.

    A record of size a, d after the last, adds a² c_0 + 2 a Σ_j a_j c at its distances to the
    others, with c the correlation of the taps.
    """
    from scipy.signal import fftconvolve

    r = plan.taps.integers[: plan.horizon].astype(np.float64)
    separation = plan.guarantee.separation
    correlation = fftconvolve(r, r[::-1])[len(r) - 1 :]
    pull = correlation.copy()  # of all records so far, at lags after the last
    placed = [(0, 1)]
    for _ in range(min(plan.guarantee.participations, max(2, _SOUGHT // len(r)), _OFTEN) - 1):
        sums = np.append(pull[separation:], 0.0)  # at the end they do not meet
        along = correlation[0] + 2.0 * sums
        against = back * back * correlation[0] - 2.0 * back * sums
        place = int(np.argmax(np.maximum(along, against)))
        sign = 1 if along[place] >= against[place] else -1
        lag = separation + place
        if plan.horizon is not None and placed[-1][0] + lag >= plan.horizon:
            break
        placed.append((placed[-1][0] + lag, sign))
        left = pull[lag:]
        pull = correlation * (1.0 if sign > 0 else -back)
        pull[: len(left)] += left
    return placed
