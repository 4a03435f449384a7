"""Totals of every size and type, by every method: each counts once, in full, or is refused.

All runs have the same noise, so releases differ only by the totals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hushfade.audit.finding import Finding, exact, info
from hushfade.audit.observer import in_use, support
from hushfade.audit.randomness import Chance
from hushfade.audit.released_lanes import lanes_of
from hushfade.audit.statistic_records import largest_record
from hushfade.audit.subject import Subject, refuses
from hushfade.check import Column, Matrix
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.errors import HushfadeError
from hushfade.planning.plan import Plan

CHECK = "records"

_CLOSE = 1e-9
_LAST_BITS = 16 * float(np.finfo(np.float64).eps)
_SMALL = 50  # the largest total that is tried in every type
_QUANTISED = 40
_VALUES = 1 << 18
_CROWD = 1 << 20


def totals(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that totals count in full."""
    plan, source = subject.plan(plan), chance.noise()
    found = [
        _every_size(subject, plan, name, source),
        _every_type(subject, plan, name, source, chance),
    ]
    if plan.statistic is None:
        found.append(_quantised(subject, plan, name, source, chance))
    if np.isfinite(2.0 * plan.grid.largest_total * plan.grid.resolution):
        found += [_largest(subject, plan, name, source, sign) for sign in (1, -1)]
        found.append(_sustained(subject, plan, name, source))
    return [*found, *_crowd(subject, plan, name, source, chance)]


def _every_size(subject: Subject, plan: Plan, name: str, source: NoiseSource) -> Finding:
    """The finding that totals of both signs and every size count exactly once."""
    grid = plan.grid
    most = min(grid.largest_total, 1e300 / grid.resolution)
    sizes = [4**power for power in range(32) if 4**power <= most]
    worst, wrong = 1.0, 0
    for units in [sign * size for size in sizes for sign in (1, -1)]:
        counted, rounding = _counts(subject, plan, source, units * grid.resolution)
        wrong += not abs(counted - 1.0) <= rounding
        worst = max(worst, counted, key=lambda times: abs(times - 1.0))
    shown = f"{2 * len(sizes) - wrong} of {2 * len(sizes)} do"
    shown += f"; one counts {worst:.9g} times" if wrong else ""
    return exact(CHECK, f"{name}, totals of every size", "count in full", shown, passed=wrong == 0)


def _every_type(
    subject: Subject, plan: Plan, name: str, source: NoiseSource, chance: Chance
) -> Finding:
    """The finding that floats, integers, mappings and units give the same bytes."""
    whole = chance.inputs().integers(-_SMALL, _SMALL, size=plan.grid.lanes, endpoint=True)
    unit = max(1.0, plan.grid.resolution)
    fits = _SMALL * unit <= min(plan.grid.largest_total * plan.grid.resolution, 2.0**53)
    whole *= round(unit) if fits else 0
    expected = _first(subject, plan, source, "run", whole[None, :].astype(np.float64))
    other = []
    for kind, (door, total) in _types(plan, whole).items():
        try:
            same = _first(subject, plan, source, door, total).tobytes() == expected.tobytes()
        except HushfadeError:
            same = False
        other += [] if same else [kind]
    count = len(_types(plan, whole))
    shown = f"{count - len(other)} of {count} do" + (f", not {', '.join(other)}" if other else "")
    claim = "count the same in every type and by every method"
    return exact(CHECK, f"{name}, whole totals", claim, shown, passed=not other)


def _types(plan: Plan, whole: Any) -> dict[str, tuple[str, Any]]:
    """The same total in every type that a method accepts."""
    grid = plan.grid
    found: dict[str, tuple[str, Any]] = {
        "integers by run": ("run", whole[None, :].astype(np.int64)),
        "short integers by run": ("run", whole[None, :].astype(np.int16)),
    }
    if np.any(np.abs(whole) >= 2**15):
        del found["short integers by run"]
    units = np.array([grid.total(int(total)) for total in whole])
    found["units by run_units"] = ("run_units", units[None, :])
    found["units by step_units"] = ("step_units", int(units[0]) if grid.scalar else units)
    if grid.scalar:
        number = int(whole[0])
        kinds: tuple[Callable[[int], Any], ...] = (int, float, np.int64, np.float64)
        found["a list by run"] = ("run", [number])
        return found | {
            f"{kind.__name__} by step_total": ("step_total", kind(number))
            for kind in kinds
            if isinstance(kind, type)
        }
    found["integers by step_total"] = ("step_total", whole.astype(np.int64))
    found["floats by step_total"] = ("step_total", whole.astype(np.float64))
    if grid.keys is not None and grid.statistic is None:
        for kind in (int, float):
            row = {key: kind(value) for key, value in zip(grid.keys, whole, strict=True)}
            found[f"a mapping to {kind.__name__} by step_total"] = ("step_total", row)
    return found


def _quantised(
    subject: Subject, plan: Plan, name: str, source: NoiseSource, chance: Chance
) -> Finding:
    """The finding that the sum of `plan.quantise(records)` equals the total that `step` counts."""
    grid, rng = plan.grid, chance.inputs()
    claim = "the sum of quantised records equals the total that step counts"
    count = min(_QUANTISED, grid.largest_total // max(grid.largest_unit, 1))
    if not count:
        shown = "not tested: a step has no room for a record"
        return info(CHECK, f"{name}, quantise", claim, shown, "none")
    values: Any
    if grid.norm is not None:
        values = rng.normal(size=(count, grid.width)) * grid.norm
    else:
        span = min(grid.high - grid.low, 1e300) or abs(grid.high)
        values = grid.low + span * rng.uniform(-1.0, 2.0, size=count)
    records, total = values, np.sum(plan.quantise(values), axis=0)
    if grid.keys is not None:
        records = {grid.keys[-1]: values}
        total = np.append(np.zeros(grid.lanes - 1), total)
    by_records = _first(subject, plan, source, "step", records)
    by_total = _first(subject, plan, source, "run", np.reshape(total, (1, -1)))
    same = by_records.tobytes() == by_total.tobytes()
    shown = f"{len(values)} records, some beyond their bounds: " + (
        "equal" if same else "not equal"
    )
    return exact(CHECK, f"{name}, quantise", claim, shown, passed=same)


def _largest(subject: Subject, plan: Plan, name: str, source: NoiseSource, sign: int) -> Finding:
    """The finding that the largest total counts in full and larger totals are refused."""
    grid = plan.grid
    total = sign * grid.largest_total * grid.resolution
    counted, _ = _counts(subject, plan, source, total)
    beyond = total + sign * max(grid.resolution, float(np.spacing(abs(total))))
    accepted = [
        kind
        for kind, (door, row) in _beyond(plan, beyond)
        if not refuses(partial(_first, subject, plan, source, door, row))
    ]
    shown = f"it counts {counted:.9g} times; a larger total is "
    shown += f"accepted as {', '.join(accepted)}" if accepted else "refused"
    claim = "it counts once; a larger total is refused"
    passed = abs(counted - 1.0) < _CLOSE and not accepted
    what = "the largest total" if sign > 0 else "the largest negative total"
    return exact(CHECK, f"{name}, {what}", claim, shown, passed=passed)


def _sustained(subject: Subject, plan: Plan, name: str, source: NoiseSource) -> Finding:
    """The finding that no sum overflows if every step has the largest total."""
    lanes = plan.grid.lanes
    steps = min(plan.horizon or support(plan), max(1, _VALUES // lanes))
    total = plan.grid.largest_total * plan.grid.resolution
    what, claim = f"{name}, the largest total at every step", "no sum overflows"
    try:
        released = [
            subject.start(plan, source).run(np.full((steps, lanes), size)).reshape(steps, lanes)
            for size in (0.0, total, -total)
        ]
    except HushfadeError:
        return exact(CHECK, what, claim, "refused", passed=False)
    sums = np.cumsum(in_use(plan, steps))[:, None]
    scale = np.max(np.abs(sums))
    off = max(
        float(np.max(np.abs((loud - released[0]) / total - sign * sums))) / scale
        for loud, sign in zip(released[1:], (1, -1), strict=True)
    )
    shown = f"largest error {off:.1g} of the largest sum in {steps:,} steps"
    return exact(CHECK, what, claim, shown, passed=off < _CLOSE)


def _crowd(
    subject: Subject, plan: Plan, name: str, source: NoiseSource, chance: Chance
) -> Iterator[Finding]:
    """The finding that hushfade refuses more records than the largest total has room for.

    There is no finding if that needs too many records.
    """
    grid = plan.grid
    each = grid.largest_unit
    count = grid.largest_total // max(each, 1) + 2
    if not (each > 0 and count * grid.width <= _CROWD):
        return
    record: Any = grid.high if grid.high_unit == each else grid.low
    if grid.norm is not None:
        record = [grid.norm] + [0.0] * (grid.width - 1)
    if plan.statistic is not None:
        record = largest_record(plan.statistic, chance)
    records: Any = [record] * count if plan.statistic is not None else np.array([record] * count)
    if grid.keys is not None:
        records = {grid.keys[0]: records}
    refused = refuses(partial(_first, subject, plan, source, "step", records))
    shown = f"{count:,} records are " + ("refused" if refused else "accepted")
    yield exact(CHECK, f"{name}, too many records", "refused", shown, passed=refused)


def _beyond(plan: Plan, beyond: float) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Totals that are too large, in the first lane or in all lanes."""
    row = np.zeros(plan.grid.lanes)
    row[0] = beyond
    yield "floats by run", ("run", row[None, :])
    yield "floats by step_total", ("step_total", beyond if plan.grid.scalar else row)
    units = np.zeros(plan.grid.lanes, dtype=np.int64)
    units[0] = plan.grid.largest_total + 1 if beyond > 0 else -plan.grid.largest_total - 1
    yield "units by run_units", ("run_units", units[None, :])
    yield "units by step_units", ("step_units", int(units[0]) if plan.grid.scalar else units)
    sizes = [round(beyond)] if abs(beyond) < 2.0**62 else []
    for size in [*sizes, 2**62, -(2**62)]:
        if abs(size) < abs(beyond):
            continue
        whole = np.full((1, plan.grid.lanes), size)
        yield f"integers of {size:.3g} by run", ("run", whole)
        by_total = size if plan.grid.scalar else whole[0]
        yield f"integers of {size:.3g} by step_total", ("step_total", by_total)


def _counts(subject: Subject, plan: Plan, source: NoiseSource, total: float) -> tuple[float, float]:
    """How many times a total counts in the first release, and the rounding error of this number."""
    weight = float(in_use(plan, 1)[0])
    rows: Matrix = np.zeros((2, 1, plan.grid.lanes))
    rows[1, 0, 0] = total
    try:
        without, loud = (float(_first(subject, plan, source, "run", row)[0]) for row in rows)
    except HushfadeError:
        return 0.0, 0.0  # refused
    rounding = _LAST_BITS * (abs(without) + abs(loud)) / abs(weight * total)
    return (loud - without) / weight / total, rounding


def _first(subject: Subject, plan: Plan, source: NoiseSource, door: str, given: Any) -> Column:
    """The flat release of a first step by one method."""
    stream = subject.start(plan, source)
    if door in ("run", "run_units"):
        return np.ravel(getattr(stream, door)(given))
    return lanes_of(getattr(stream, door)(given))
