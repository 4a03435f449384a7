"""The sensitivity, exactly: two neighbouring inputs under the same noise differ by R̃ Δx.

The audit recovers what crossed from both releases, in whole units.  The difference has no noise in
it.  For Gaussian noise its ℓ2 norm is compared with σ μ to the last digits, for other laws its
integers with the shifts that `plan.privacy` accounts for.  Chance has no part in it.  This check
finds a norm of unrounded taps, a forgotten participation, a clip in the wrong place.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hushfade.audit.audited_streams import inputs
from hushfade.audit.finding import Finding, exact, told
from hushfade.audit.neighbouring_streams import (
    Change,
    changes,
    falls,
    heaviest_column,
    kinds,
    needed,
)
from hushfade.audit.observer import crossed, legible, private
from hushfade.audit.randomness import Chance
from hushfade.audit.sample_records import Offer, bad, offered, quiet
from hushfade.audit.subject import Subject, doors, refuses, taken
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import HushfadeError
from hushfade.laws import Gaussian
from hushfade.planning.plan import Plan

CHECK, RECORDS, ENDS = "sensitivity", "records", "horizon"

_LONGEST = 1 << 18  # values of a run
_TO_THE_END = 1 << 23  # values of a run to the horizon
_FEW = 8  # steps of a run from records
_CLOSE = 1e-9
_OFF_GRID = 0.05


def sensitivity(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Every change of one person's records moves what crosses by R̃ Δx, and not too far."""
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    longest = max(2, _LONGEST // lanes)
    whole = needed(plan, longest)
    steps = legible(plan, min(whole, longest))
    found = []
    base, source = inputs(plan, steps, chance), chance.noise()
    before = _crossed(subject, plan, base, source)
    for change in changes(plan, steps):
        other = base + change.units(steps, lanes)
        moved = _crossed(subject, plan, other, source) - before
        reached = steps == whole and _worst(plan, change, steps)
        if isinstance(plan.law, Gaussian):
            found.append(_compared(name, plan, change, moved, steps, reached=reached))
        else:
            found.append(_accounted(name, plan, change, moved, steps))
    return found


def records(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """One record more, whatever its value and form, moves its total by what the bounds allow."""
    plan = subject.plan(plan)
    source = chance.noise()
    steps = min(_FEW, plan.horizon or _FEW)
    found: dict[str, list[_Moved]] = {}
    for offer in offered(plan, steps, chance):
        found.setdefault(offer.name, []).append(_moved(subject, plan, source, steps, offer))
    largest = max(max(map(abs, lanes)) for lanes in _added(plan).values())
    bounded = [
        exact(
            RECORDS,
            f"{name}, {what}",
            f"moves its total by at most {_units(largest)}",
            _told(moves),
            passed=all(moved.right and moved.size <= largest * (1.0 + _CLOSE) for moved in moves),
        )
        for what, moves in found.items()
    ]
    if plan.grid.norm is None:
        bounded.append(_swing(plan, name, [moved for moves in found.values() for moved in moves]))
    refused, left = _refusals(subject, plan, source)
    claim = "refused, the state as before"
    shown = f"{refused} of {left} refused with the state as before"
    bounded.append(exact(RECORDS, f"{name}, nan and inf", claim, shown, passed=refused == left))
    return bounded


def ends(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """A plan for so many steps gives no more."""
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    if plan.horizon is None:
        return []
    claim = f"no step after the {plan.horizon:,} that the noise is made for"
    if plan.horizon * lanes > _TO_THE_END:
        shown = f"not looked at: more than {_TO_THE_END:,} steps and keys"
        return [told(ENDS, name, claim, shown, "none")]
    stream = subject.start(plan, chance.noise())
    stream.run(np.zeros((plan.horizon - 1, lanes)))
    after = taken({"run of two": lambda: stream.run(np.zeros((2, lanes)))})
    if not after:
        stream.run(np.zeros((1, lanes)))
        after = taken(doors(plan, stream))
    shown = f"step {plan.horizon + 1:,} is " + (f"released by {after}" if after else "refused")
    return [exact(ENDS, name, claim, shown, passed=not after)]


def norm(units: Signed) -> float:
    """The ℓ2 norm of integers, from the exact sum of their squares."""
    return math.sqrt(sum(value * value for value in units.ravel().tolist() if value))


def _crossed(subject: Subject, plan: Plan, units: Signed, source: Any) -> Matrix:
    released = subject.start(plan, source).run(units * plan.grid.resolution)
    return crossed(plan, released.reshape(units.shape))


def _compared(
    name: str, plan: Plan, change: Change, moved: Matrix, steps: int, *, reached: bool
) -> Finding:
    lanes = plan.grid.lanes
    expected = private(plan, change.units(steps, lanes))
    off = float(np.max(np.abs(moved - expected)))
    whole = np.rint(np.clip(moved, -(2.0**62), 2.0**62)).astype(np.int64)
    group = len(change.lanes)
    largest = max(
        norm(whole[:, place : place + group]) for place in range(0, lanes - group + 1, group)
    )
    ratio = largest / plan.sigma / plan.guarantee.mu
    as_told = not reached or ratio >= 1.0 - _CLOSE
    where = f"{steps:,} steps" if steps == plan.horizon else f"the first {steps:,} steps"
    where += f" of {plan.horizon:,}" if steps < (plan.horizon or 0) else ""
    where += f", in each of {lanes:,} keys" if plan.grid.keys is not None else ""
    return exact(
        CHECK,
        f"{name}, {change.name}",
        "R̃ Δx, " + ("μ exactly" if reached else "at most μ"),
        f"‖R̃ Δx‖/σ = {ratio:.12g} μ in {where}" + ("" if off < _OFF_GRID else "; not R̃ Δx"),
        passed=off < _OFF_GRID and ratio <= 1.0 + _CLOSE and as_told,
    )


def _accounted(name: str, plan: Plan, change: Change, moved: Matrix, steps: int) -> Finding:
    """Noise of other laws: the shifts, step by step, are covered by one of the plan's cases."""
    lanes, group = plan.grid.lanes, len(change.lanes)
    expected = private(plan, change.units(steps, lanes))
    off = float(np.max(np.abs(moved - expected)))
    whole = np.abs(np.rint(np.clip(moved, -(2.0**62), 2.0**62)).astype(np.int64))
    groups = [whole[:, place : place + group] for place in range(0, lanes - group + 1, group)]
    sizes = [Counter(each[each > 0].tolist()) for each in groups]
    covered = all(any(dominates(case, size) for case in accounted(plan)) for size in sizes)
    largest = max(sizes, key=lambda size: sum(value * times for value, times in size.items()))
    shown = f"{sum(largest.values()):,} shifts, the largest {max(largest, default=0):,} units"
    return exact(
        CHECK,
        f"{name}, {change.name}",
        "R̃ Δx, shifts that the plan accounts for",
        f"{shown}, in {steps:,} steps"
        + ("" if covered else "; not accounted for")
        + ("" if off < _OFF_GRID else "; not R̃ Δx"),
        passed=off < _OFF_GRID and covered,
    )


def accounted(plan: Plan) -> list[Counter[int]]:
    """The shifts of each case of `plan.privacy`, with how often each occurs."""
    cases = []
    for case in plan.privacy.cases:
        sizes: Counter[int] = Counter()
        for _, shifts in case.shifted:
            for size, times in shifts:
                sizes[size] += times
        cases.append(sizes)
    return cases


def dominates(larger: Counter[int], smaller: Counter[int]) -> bool:
    """Has `larger` at least as many shifts of every size or more?

    >>> dominates(Counter({5: 1, 2: 3}), Counter({4: 1, 2: 2})), dominates(
    ...     Counter({5: 1}), Counter({1: 2})
    ... )
    (True, False)
    """
    seen = 0
    for size in sorted(smaller, reverse=True):
        seen += smaller[size]
        if seen > sum(times for other, times in larger.items() if other >= size):
            return False
    return True


def _worst(plan: Plan, change: Change, steps: int) -> bool:
    """Does the plan claim that nothing moves it farther than this change?"""
    guarantee = plan.guarantee
    often = guarantee.participations
    if plan.horizon is not None:
        often = min(often, 1 + (plan.horizon - 1) // guarantee.separation)
    if change.steps[0] != heaviest_column(plan, steps) or len(change.steps) < often:
        return False
    if math.hypot(*change.lanes) < _claimed(plan) * (1.0 - _CLOSE):
        return False
    # the same taps everywhere, and for several records falling ones, or the bound is not reached
    once = guarantee.participations == 1
    if plan.pair.gain is not None:
        return once
    return once or falls(plan)


def _claimed(plan: Plan) -> float:
    """The change that the plan is made for, in units; a single key cannot reach that of two."""
    grid, guarantee = plan.grid, plan.guarantee
    if grid.norm is not None:
        return guarantee.vector_change(float(grid.norm_unit))
    return guarantee.change(grid.low_unit, grid.high_unit, keyed=grid.keys is not None)


def _added(plan: Plan) -> dict[str, tuple[int, ...]]:
    """What a single record more may do, whatever the neighbours are."""
    alone = replace(plan.guarantee, neighbours="add_remove", records_per_step=1)
    return kinds(replace(plan, guarantee=alone))


def _stepped(subject: Subject, plan: Plan, source: Any, steps: int, first: Any) -> Matrix:
    """Releases of a few steps from records, those of the first step as given."""
    stream = subject.start(plan, source)
    found = [np.asarray(stream.step(first).value)]
    found += [np.asarray(stream.step(quiet(plan)).value) for _ in range(steps - 1)]
    return np.array(found).reshape(steps, plan.grid.lanes)


@dataclass(frozen=True)
class _Moved:
    """By how many units one record more moved its totals, and whether as it should."""

    size: float
    right: bool
    fault: str = ""
    units: float = math.nan  # with its sign, in the total of its own key


def _moved(subject: Subject, plan: Plan, source: Any, steps: int, offer: Offer) -> _Moved:
    try:
        before = _stepped(subject, plan, source, steps, offer.usual)
        after = _stepped(subject, plan, source, steps, offer.more)
    except HushfadeError:
        return _Moved(math.inf, right=False, fault=", refused")
    moved = crossed(plan, after) - crossed(plan, before)
    unit = np.zeros((steps, plan.grid.lanes), dtype=np.int64)
    unit[0, 0] = 1
    answer = private(plan, unit)[:, 0]
    units = np.rint(moved[0] / answer[0])
    size, own = float(np.linalg.norm(units)), float(units[offer.lane])
    fault = ""
    if not float(np.max(np.abs(moved - np.outer(answer, units)))) < _OFF_GRID:
        fault = ", and not by R̃"
    elif not float(np.max(np.abs(units - offer.units))) <= 1.0:  # rounded, or toward zero
        fault = ", and not what its bounds leave of it"
    elif plan.grid.norm is None and not _within(plan, units, offer.lane):
        fault = ", and not within its bounds"
    return _Moved(size, right=not fault, fault=fault, units=own)


def _within(plan: Plan, units: Column, lane: int) -> bool:
    """Does a number count from low to high on the grid, to the unit, and in its own key alone?"""
    own = plan.grid.low_unit <= units[lane] <= plan.grid.high_unit
    return bool(own) and not np.any(np.delete(units, lane))


def _swing(plan: Plan, name: str, moves: list[_Moved]) -> Finding:
    """What the record that counts least and the one that counts most are apart.

    Both bounds are offered, so that they are as far apart as high and low are on the grid.
    """
    counted = [moved.units for moved in moves]
    apart, promised = max(counted) - min(counted), plan.grid.high_unit - plan.grid.low_unit
    return exact(
        RECORDS,
        f"{name}, from the lowest to the highest",
        f"{_units(promised)} apart",
        f"{_units(apart)} apart; {len(moves)} tried",
        passed=apart == promised and not any(map(math.isnan, counted)),
    )


def _told(moves: list[_Moved]) -> str:
    """The worst of them."""
    worst = max(moves, key=lambda moved: (not moved.right, moved.size))
    return _units(worst.size) + worst.fault + f"; {len(moves)} tried"


def _units(size: float) -> str:
    return "1 unit" if size == 1 else f"{size:.6g} units"


def _refusals(subject: Subject, plan: Plan, source: Any) -> tuple[int, int]:
    """How many bad records are refused and leave the stream as it was, and how many there are."""
    offers = bad(plan)
    stream = subject.start(plan, source)
    if plan.horizon != 1:
        stream.step(quiet(plan))
    refused = 0
    for offer in offers:
        state = stream.save()
        refused += refuses(partial(stream.step, offer)) and stream.save() == state
    return refused, len(offers)
