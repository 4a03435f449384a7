"""The exact sensitivity: two neighbouring inputs under the same noise differ by R̃ Δx.

The audit recovers the values that crossed from both releases, in whole units.  Their difference
contains no noise.  With Gaussian noise the audit compares its ℓ2 norm with σ μ.  With other laws it
compares the integers with the shifts that `plan.privacy` accounts for.  This check is exact.  It
detects the norm of unrounded taps, an ignored participation, or a clip in the wrong place.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hushfade.audit import lane_changes
from hushfade.audit.audited_streams import inputs
from hushfade.audit.finding import Finding, exact, info
from hushfade.audit.lanes import lane_records
from hushfade.audit.loss_probabilities import Losses
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
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning.plan import Plan

CHECK, RECORDS, ENDS = "sensitivity", "records", "horizon"

_LONGEST = 1 << 18  # the most values of a run
_TO_THE_END = 1 << 23  # the most values of a run to the horizon
_FEW = 8  # the most steps of a run from records
_CLOSE = 1e-9
_NUMERICAL = 5e-4  # the relative error of `loss_probabilities`, at most
_OFF_GRID = 0.05


def sensitivity(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that each change of one person's records moves y by R̃ Δx, within the bound."""
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
    """Findings that an added record of any value and form moves its total within its bounds."""
    plan = subject.plan(plan)
    if plan.statistic is not None:
        return lane_records(subject, plan, name, chance)
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
            _worst_move(moves),
            passed=all(moved.right and moved.size <= largest * (1.0 + _CLOSE) for moved in moves),
        )
        for what, moves in found.items()
    ]
    if plan.grid.norm is None:
        bounded.append(_swing(plan, name, [moved for moves in found.values() for moved in moves]))
    refused, left = _refusals(subject, plan, source)
    claim = "refused, with an unchanged state"
    shown = f"{refused} of {left} refused with an unchanged state"
    bounded.append(exact(RECORDS, f"{name}, nan and inf", claim, shown, passed=refused == left))
    return bounded


def ends(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The finding that a plan with a horizon refuses steps after it."""
    plan = subject.plan(plan)
    lanes = plan.grid.lanes
    if plan.horizon is None:
        return []
    claim = f"no step after the horizon of {plan.horizon:,} steps"
    if plan.horizon * lanes > _TO_THE_END:
        shown = f"not tested: more than {_TO_THE_END:,} values (steps times keys)"
        return [info(ENDS, name, claim, shown, "none")]
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
    tight = not reached or ratio >= 1.0 - _CLOSE
    where = f"{steps:,} steps" if steps == plan.horizon else f"the first {steps:,} steps"
    where += f" of {plan.horizon:,}" if steps < (plan.horizon or 0) else ""
    where += f", in each of {lanes:,} keys" if plan.grid.keys is not None else ""
    return exact(
        CHECK,
        f"{name}, {change.name}",
        "R̃ Δx, " + ("μ exactly" if reached else "at most μ"),
        f"‖R̃ Δx‖/σ = {ratio:.12g} μ in {where}" + ("" if off < _OFF_GRID else "; not R̃ Δx"),
        passed=off < _OFF_GRID and ratio <= 1.0 + _CLOSE and tight,
    )


def _accounted(name: str, plan: Plan, change: Change, moved: Matrix, steps: int) -> Finding:
    """The finding, for other laws, that one of the plan's cases covers the shifts."""
    lanes, group = plan.grid.lanes, len(change.lanes)
    expected = private(plan, change.units(steps, lanes))
    off = float(np.max(np.abs(moved - expected)))
    whole = np.abs(np.rint(np.clip(moved, -(2.0**62), 2.0**62)).astype(np.int64))
    groups = [whole[:, place : place + group] for place in range(0, lanes - group + 1, group)]
    sizes = [Counter(each[each > 0].tolist()) for each in groups]
    covered = all(_covered(plan, size) for size in sizes)
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


def _covered(plan: Plan, size: Counter[int]) -> bool:
    """True if the plan accounts for these shifts: one by one, or by a larger δ(ε).

    A statistic divides records among lanes: more shifts than the plan accounts for, but smaller.
    """
    if any(dominates(case, size) for case in accounted(plan)) or plan.statistic is None:
        return any(dominates(case, size) for case in accounted(plan))
    assert isinstance(plan.law, Laplace | Huber)
    losses, epsilon = Losses(plan.law, size), plan.guarantee.epsilon
    if losses.largest <= epsilon:
        return True
    most = ((share, plan.privacy.delta(share * epsilon)) for share in (0.0, 0.5, 1.0))
    return all(
        losses.delta(share * epsilon) <= delta * (1.0 + _NUMERICAL) + 1e-15 for share, delta in most
    )


def accounted(plan: Plan) -> list[Counter[int]]:
    """The shifts of each case of `plan.privacy`, and how often each occurs."""
    cases = []
    for case in plan.privacy.cases:
        sizes: Counter[int] = Counter()
        for _, shifts in case.shifted:
            for size, times in shifts:
                sizes[size] += times
        cases.append(sizes)
    return cases


def dominates(larger: Counter[int], smaller: Counter[int]) -> bool:
    """True if, for every size, `larger` has at least as many shifts of that size or more.

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
    """True if the plan claims that no change has a larger effect than this one."""
    guarantee = plan.guarantee
    often = guarantee.protects.steps
    if plan.horizon is not None:
        often = min(often, 1 + (plan.horizon - 1) // guarantee.protects.apart)
    if change.steps[0] != heaviest_column(plan, steps) or len(change.steps) < often:
        return False
    if math.hypot(*change.lanes) < _claimed(plan) * (1.0 - _CLOSE):
        return False
    # several records reach the bound only if every column has the same, decreasing taps
    once = guarantee.protects.steps == 1
    if plan.pair.gain is not None:
        return once
    return once or falls(plan)


def _claimed(plan: Plan) -> float:
    """The largest change that the plan accounts for, in units; it may involve two keys."""
    grid, guarantee = plan.grid, plan.guarantee
    if grid.norm is not None:
        return guarantee.vector_change(float(grid.norm_unit))
    if plan.statistic is not None:
        largest = max(math.hypot(*lanes) for lanes in kinds(plan).values())
        return largest if lane_changes.reached(plan) else math.inf
    return guarantee.change(grid.low_unit, grid.high_unit, keyed=grid.keys is not None)


def _added(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The largest change by a single added record, for either neighbouring relation."""
    alone = replace(
        plan.guarantee, neighbours="add_remove", protects=plan.guarantee.protects.one_per_step()
    )
    return kinds(replace(plan, guarantee=alone))


def _stepped(subject: Subject, plan: Plan, source: Any, steps: int, first: Any) -> Matrix:
    """The releases of a few steps from records, with `first` as the first step's records."""
    stream = subject.start(plan, source)
    found = [np.asarray(stream.step(first).value)]
    found += [np.asarray(stream.step(quiet(plan)).value) for _ in range(steps - 1)]
    return np.array(found).reshape(steps, plan.grid.lanes)


@dataclass(frozen=True)
class _Moved:
    """The effect of an added record on the totals, in units, and whether it is right."""

    size: float
    right: bool
    fault: str = ""
    units: float = math.nan  # signed, in the total of its own key


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
        fault = ", not by R̃"
    elif not float(np.max(np.abs(units - offer.units))) <= 1.0:  # rounding may go toward zero
        fault = ", not the clipped value"
    elif plan.grid.norm is None and not _within(plan, units, offer.lane):
        fault = ", not within its bounds"
    return _Moved(size, right=not fault, fault=fault, units=own)


def _within(plan: Plan, units: Column, lane: int) -> bool:
    """True if the record counts between low and high, in units, and only in its own key."""
    own = plan.grid.low_unit <= units[lane] <= plan.grid.high_unit
    return bool(own) and not np.any(np.delete(units, lane))


def _swing(plan: Plan, name: str, moves: list[_Moved]) -> Finding:
    """The finding on the difference between the lowest and the highest counted record.

    The records include both bounds, so the difference is high - low on the grid.
    """
    counted = [moved.units for moved in moves]
    apart, promised = max(counted) - min(counted), plan.grid.high_unit - plan.grid.low_unit
    return exact(
        RECORDS,
        f"{name}, range of one record",
        f"{_units(promised)}",
        f"{_units(apart)}; {len(moves)} tried",
        passed=apart == promised and not any(map(math.isnan, counted)),
    )


def _worst_move(moves: list[_Moved]) -> str:
    """A description of the worst effect."""
    worst = max(moves, key=lambda moved: (not moved.right, moved.size))
    return _units(worst.size) + worst.fault + f"; {len(moves)} tried"


def _units(size: float) -> str:
    return "1 unit" if size == 1 else f"{size:.6g} units"


def _refusals(subject: Subject, plan: Plan, source: Any) -> tuple[int, int]:
    """The number of bad records refused without a change of the stream, and their number."""
    offers = bad(plan)
    stream = subject.start(plan, source)
    if plan.horizon != 1:
        stream.step(quiet(plan))
    refused = 0
    for offer in offers:
        state = stream.save()
        refused += refuses(partial(stream.step, offer)) and stream.save() == state
    return refused, len(offers)
