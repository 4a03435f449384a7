"""The sensitivity, exactly: two neighbouring inputs under the same noise differ by R̃ Δx.

What crossed is recovered from both releases, in whole units.  Its difference has no noise in it, so
its ℓ2 norm is compared with σ μ to the last digits: no statistics, no chance.  This is what finds
a norm of unrounded taps, a forgotten participation, a clip in the wrong place.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hushfade.audit.accuracy import inputs
from hushfade.audit.chance import Chance
from hushfade.audit.changes import Change, changes, falls, heaviest_column, kinds, needed
from hushfade.audit.finding import Finding, exact
from hushfade.audit.observed import crossed, private
from hushfade.audit.subject import Subject, doors, taken
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import HushfadeError
from hushfade.plan import Plan

CHECK, RECORDS, ENDS = "sensitivity", "records", "horizon"

_LONGEST = 1 << 18  # values of a run
_FEW = 8  # steps of a run from records
_CLOSE = 1e-9
_OFF_GRID = 0.05


def sensitivity(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Every change of one person's records moves what crosses by R̃ Δx, and at most by σ μ."""
    plan = subject.plan(plan)
    lanes = plan.intake.lanes
    longest = max(2, _LONGEST // lanes)
    whole = needed(plan, longest)
    steps = min(whole, longest)
    if plan.horizon is not None:
        steps = min(steps, plan.horizon)
    found = []
    base, source = inputs(plan, steps, chance), chance.noise()
    before = _crossed(subject, plan, base, source)
    for change in changes(plan, steps):
        other = base + change.units(steps, lanes)
        moved = _crossed(subject, plan, other, source) - before
        reached = steps == whole and _worst(plan, change, steps)
        found.append(_compared(name, plan, change, moved, steps, reached=reached))
    return found


def records(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """One record more, whatever its value, moves its total by what the bounds allow."""
    plan = subject.plan(plan)
    intake = plan.intake
    source = chance.noise()
    steps = min(_FEW, plan.horizon or _FEW)
    largest = max(max(map(abs, lanes)) for lanes in _added(plan).values())
    found = []
    for value in _values(plan):
        quiet = _stepped(subject, plan, source, steps, None)
        loud = _stepped(subject, plan, source, steps, value)
        moved = crossed(plan, loud) - crossed(plan, quiet)
        unit = np.zeros((steps, intake.lanes), dtype=np.int64)
        unit[0, 0] = 1
        answer = private(plan, unit)[:, 0]
        units = np.rint(moved[0] / answer[0])
        linear = float(np.max(np.abs(moved - np.outer(answer, units)))) < _OFF_GRID
        size = float(np.linalg.norm(units))
        found.append(
            exact(
                RECORDS,
                f"{name}, a record of {value:g}",
                f"moves its total by at most {largest} units",
                f"{size:.6g} units" + ("" if linear else ", and not by R̃"),
                passed=size <= largest * (1.0 + _CLOSE) and linear,
            )
        )
    refused, left = _refusals(subject, plan, source)
    claim = "refused, the state as before"
    shown = f"{refused} of {left} refused with the state as before"
    found.append(exact(RECORDS, f"{name}, nan and inf", claim, shown, passed=refused == left))
    return [*found, _largest(subject, plan, name, source)]


def ends(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """A plan for so many steps gives no more."""
    plan = subject.plan(plan)
    lanes = plan.intake.lanes
    if plan.horizon is None or plan.horizon * lanes > _LONGEST:
        return []
    stream = subject.start(plan, chance.noise())
    stream.run(np.zeros((plan.horizon, lanes)))
    after = taken(doors(plan, stream))
    shown = f"step {plan.horizon + 1} is " + (f"released by {after}" if after else "refused")
    claim = f"no step after the {plan.horizon} that the noise is made for"
    return [exact(ENDS, name, claim, shown, passed=not after)]


def norm(units: Signed) -> float:
    """The ℓ2 norm of integers, from the exact sum of their squares."""
    return math.sqrt(sum(value * value for value in units.ravel().tolist() if value))


def _crossed(subject: Subject, plan: Plan, units: Signed, source: Any) -> Matrix:
    released = subject.start(plan, source).run(units * plan.intake.resolution)
    return crossed(plan, released.reshape(units.shape))


def _compared(
    name: str, plan: Plan, change: Change, moved: Matrix, steps: int, *, reached: bool
) -> Finding:
    lanes = plan.intake.lanes
    expected = private(plan, change.units(steps, lanes))
    off = float(np.max(np.abs(moved - expected)))
    whole = np.rint(np.clip(moved, -(2.0**62), 2.0**62)).astype(np.int64)
    group = len(change.lanes)
    largest = max(
        norm(whole[:, place : place + group]) for place in range(0, lanes - group + 1, group)
    )
    ratio = largest / plan.sigma / plan.guarantee.mu
    as_told = not reached or ratio >= 1.0 - _CLOSE
    return exact(
        CHECK,
        f"{name}, {change.name}",
        "R̃ Δx, " + ("μ exactly" if reached else "at most μ"),
        f"‖R̃ Δx‖/σ = {ratio:.12g} μ in {steps} steps" + ("" if off < _OFF_GRID else "; not R̃ Δx"),
        passed=off < _OFF_GRID and ratio <= 1.0 + _CLOSE and as_told,
    )


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
    intake, guarantee = plan.intake, plan.guarantee
    if intake.norm is not None:
        return guarantee.vector_change(float(intake.norm_unit))
    return guarantee.change(intake.low_unit, intake.high_unit, keyed=intake.keys is not None)


def _largest(subject: Subject, plan: Plan, name: str, source: Any) -> Finding:
    """The largest total counts in full, and a larger one is refused: nothing saturates."""
    intake = plan.intake
    row = np.zeros((1, intake.lanes))
    quiet = subject.start(plan, source).run(row)
    row[0, 0] = intake.largest_total * intake.resolution
    loud = subject.start(plan, source).run(row)
    first = (np.asarray(loud) - quiet).reshape(1, intake.lanes)[0, 0]
    counted = float(first / plan.decay.weights(1)[0] / row[0, 0])
    row[0, 0] += max(intake.resolution, np.spacing(row[0, 0]))
    refused = _refuses(lambda: subject.start(plan, source).run(row))
    shown = f"counts {counted:.9g} times, a larger one is " + ("refused" if refused else "taken")
    claim = "counts in full, a larger one is refused"
    passed = abs(counted - 1.0) < _CLOSE and refused
    return exact(RECORDS, f"{name}, the largest total", claim, shown, passed=passed)


def _added(plan: Plan) -> dict[str, tuple[int, ...]]:
    """What a single record more may do, whatever the neighbours are."""
    alone = replace(plan.guarantee, neighbours="add_remove", records_per_step=1)
    return kinds(replace(plan, guarantee=alone))


def _values(plan: Plan) -> tuple[float, ...]:
    low, high = plan.intake.low, plan.intake.high
    return (low, high, low + 0.37 * (high - low), 1e300, -1e300, high + 40.0 * (high - low))


def _stepped(subject: Subject, plan: Plan, source: Any, steps: int, more: float | None) -> Matrix:
    """Releases of a few steps from records, with one more in the first step."""
    stream = subject.start(plan, source)
    first: list[Column | float] = [np.asarray(stream.step(_records(plan, more)).value)]
    first += [np.asarray(stream.step(_records(plan, None)).value) for _ in range(steps - 1)]
    return np.array(first).reshape(steps, plan.intake.lanes)


def _records(plan: Plan, more: float | None) -> Any:
    intake = plan.intake
    usual = [intake.low, intake.high, intake.high]
    if intake.norm is not None:
        rows = [[intake.norm / 2] + [0.0] * (intake.width - 1)]
        return rows if more is None else [*rows, [more] + [0.0] * (intake.width - 1)]
    listed = usual if more is None else [*usual, more]
    return listed if intake.keys is None else {intake.keys[0]: listed}


def _refusals(subject: Subject, plan: Plan, source: Any) -> tuple[int, int]:
    """How many bad records are refused and leave the stream as it was, and how many there are."""
    bad = (math.nan, math.inf, -math.inf)
    stream = subject.start(plan, source)
    stream.step(_records(plan, None))
    refused = 0
    for value in bad:
        state = stream.save()
        refused += _refuses(lambda value=value: stream.step(_records(plan, value))) and (
            stream.save() == state
        )
    return refused, len(bad)


def _refuses(work: Any) -> bool:
    try:
        work()
    except HushfadeError:
        return True
    return False
