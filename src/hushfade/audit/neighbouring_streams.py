"""Neighbouring streams: the changes of one person's records, and the steps where they occur.

The module lists the largest changes that a guarantee covers, in grid units.  They occur at the
first, a middle and the last step, as often and as close together as the guarantee allows.  If the
taps do not decrease, the list also has records farther apart and with other signs, each placed
where it adds most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushfade.audit import lane_changes
from hushfade.audit.observer import gain_of, support
from hushfade.check import Signed
from hushfade.planning.plan import Plan

_SOUGHT, _OFTEN = 1 << 27, 1000  # the most lags to search, and the most records to place


@dataclass(frozen=True)
class Change:
    """The change of totals by one person's records, in units, for some steps and lanes."""

    name: str
    steps: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]  # for each step: the change in lane 0, 1, ...

    @property
    def lanes(self) -> tuple[int, ...]:
        """The change at the first step, which is the largest change."""
        return self.moves[0]

    def units(self, n: int, lanes: int) -> Signed:
        """Δx of n steps, with the same change in each group of lanes."""
        found = np.zeros((n, lanes), dtype=np.int64)
        for place in range(0, lanes - len(self.lanes) + 1, len(self.lanes)):
            for step, move in zip(self.steps, self.moves, strict=True):
                found[step, place : place + len(self.lanes)] += move
        return found


def kinds(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The largest changes of one step's totals between neighbouring streams."""
    grid, guarantee = plan.grid, plan.guarantee
    most = guarantee.protects.records_per_step
    if plan.statistic is not None:
        return lane_changes.extreme(plan)
    if grid.norm is not None:
        if guarantee.neighbours == "add_remove":
            return {"an added vector": (most * grid.norm_unit,)}
        return {"a reversed vector": (2 * most * grid.norm_unit,)}
    largest = max(grid.low_unit, grid.high_unit, key=abs)
    if guarantee.neighbours == "add_remove":
        return {"an added record": (most * largest,)}
    found: dict[str, tuple[int, ...]] = {}
    found["another value"] = (most * (grid.high_unit - grid.low_unit),)
    if grid.keys is not None and len(grid.keys) > 1:
        found["another key"] = (-most * largest, most * largest)
    return found


def changes(plan: Plan, n: int) -> list[Change]:
    """Changes of every kind at the first, the middle and the last of n steps."""
    often, apart = plan.guarantee.protects.steps, _apart(plan, n)
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
    if plan.statistic is not None:
        steps = tuple(range(0, min(n, length), apart))[:often]
        for kind, lanes in lane_changes.divided(plan).items():
            found.append(Change(f"{kind}, first step", steps, (lanes,) * len(steps)))
    return found + arranged(plan, n)


def arranged(plan: Plan, n: int) -> list[Change]:
    """Changes by several records, each with the step and the sign that add most.

    The list is empty if the taps decrease, because then the closest records are the worst case.
    It is also empty if the effects of two records never overlap.
    """
    guarantee = plan.guarantee
    alone = guarantee.protects.steps == 1 or guarantee.protects.apart >= support(plan)
    if alone or plan.pair.gain is not None or falls(plan):
        return []
    found = []
    for kind, lanes in kinds(plan).items():
        back = _back(plan, lanes)
        size, against = max(zip(lanes, back, strict=True), key=lambda pair: abs(pair[0]))
        placed = [(s, sign) for s, sign in _placed(plan, -against / size) if s < n]
        if len(placed) > 1:
            steps = tuple(step for step, _ in placed)
            moves = tuple(lanes if sign > 0 else back for _, sign in placed)
            found.append(Change(f"{kind}, {len(steps)} times, worst placement", steps, moves))
    return found


def falls(plan: Plan) -> bool:
    """True if the taps never increase and are not negative."""
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
    """The number of steps within which changes at the first step have their complete effect.

    If the records would need more than `most` steps, they move closer together as long as their
    effects do not overlap.  `changes` does the same.
    """
    if plan.horizon is not None:
        return plan.horizon
    guarantee, reach = plan.guarantee, support(plan)
    whole = reach + (guarantee.protects.steps - 1) * guarantee.protects.apart
    if most is not None and whole > most:
        whole = reach + (guarantee.protects.steps - 1) * _apart(plan, most)
    return max([whole, *(reach + change.steps[-1] for change in arranged(plan, 1 << 62))])


def _apart(plan: Plan, n: int) -> int:
    """The distance of records in n steps: the separation, or less if columns do not overlap.

    Columns of R̃ that do not overlap are orthogonal at any distance, so the norm is the same.
    """
    guarantee, reach = plan.guarantee, support(plan)
    whole = reach + (guarantee.protects.steps - 1) * guarantee.protects.apart
    if plan.horizon is not None or whole <= n:
        return guarantee.protects.apart
    return min(guarantee.protects.apart, reach)


def _back(plan: Plan, lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The largest change of the opposite sign; if records are added, by the other bound."""
    grid, guarantee = plan.grid, plan.guarantee
    if grid.norm is not None or guarantee.neighbours == "replace":
        return tuple(-units for units in lanes)
    if plan.statistic is not None:
        return (0,) * len(lanes)
    low, high = grid.low_unit, grid.high_unit
    if not low < 0 < high:
        return (0,)
    return (guarantee.protects.records_per_step * (high if lanes[0] < 0 else low),)


@lru_cache(maxsize=32)
def _placed(plan: Plan, back: float) -> list[tuple[int, int]]:
    """Steps and signs of the records, the first at step 0.

    A record of the opposite sign has size `back`.  A record of size a adds
    a² c_0 + 2 a Σ_j a_j c_(d_j), where d_j is its distance to record j and c is the correlation of
    the taps.
    """
    from scipy.signal import fftconvolve

    r = plan.taps.integers[: plan.horizon].astype(np.float64)
    separation = plan.guarantee.protects.apart
    correlation = fftconvolve(r, r[::-1])[len(r) - 1 :]
    pull = correlation.copy()  # of all records so far, by lag after the last record
    placed = [(0, 1)]
    for _ in range(min(plan.guarantee.protects.steps, max(2, _SOUGHT // len(r)), _OFTEN) - 1):
        sums = np.append(pull[separation:], 0.0)  # the last lag has no overlap
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
