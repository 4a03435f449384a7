"""Records: a step counts each of them once, within its bounds, in its own key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hushfade.audit.findings import Finding
from hushfade.audit.subject import DOORS, Case, ChosenNoise, lanes_of, left, released, right
from hushfade.check import Signed
from hushfade.errors import HushfadeError
from hushfade.planning.plan import Plan

_RANDOM = 12
_FAR = 1e300
_VALUES = 1 << 18


class Counted(NamedTuple):
    """A record, its key, and the units that it adds to each lane."""

    key: int
    record: Any
    units: Signed


def records(case: Case) -> Iterator[Finding]:
    """Findings on single records, on many records, and on what a stream refuses."""
    known = case.counted
    right_ones = sum(_within(case.plan, one) for one in known)
    claim, shown = "counts once, within bounds, in its key", f"{right_ones} of {len(known)} do"
    yield Finding("one record", claim, shown, right_ones == len(known))
    yield _many(case, known)
    yield _refusals(case, known[0])


def samples(plan: Plan, rng: np.random.Generator) -> list[Any]:
    """Records within their bounds, at them, between and far beyond them."""
    grid, found = plan.grid, plan.statistic
    kind = "numbers" if found is None else found.kind
    if grid.norm is not None:
        axis, even = np.eye(1, grid.width)[0], np.ones(grid.width) / math.sqrt(grid.width)
        some = [axis, -axis, even, -even, *rng.normal(size=(_RANDOM, grid.width))]
        return [grid.norm * size * one for one in some for size in (0.5, 1.0, 1e6)]
    if kind == "truths":
        return [True, False]
    statistic: Any = found
    if kind == "texts":
        return [statistic.of, statistic.of + " ", ""]
    if kind == "pairs":
        shares, most = (-1.0, 0.0, 0.37, 1.0, 40.0), (statistic.numerator, statistic.denominator)
        return [[a * most[0], b * most[1]] for a in shares for b in shares]
    edges = getattr(statistic, "edges", (grid.low, grid.high))
    shares = (0.0, 0.25, 0.5, 1.0, -40.0, 40.0, *rng.random(_RANDOM))
    numbers = [edges[0] + (edges[-1] - edges[0]) * float(share) for share in shares]
    near = edges[:: max(1, len(edges) // 16)]
    return [*numbers, _FAR, -_FAR, *near, *(math.nextafter(edge, -_FAR) for edge in near)]


def placed(plan: Plan, several: list[tuple[int, Any]]) -> Any:
    """Records and the numbers of their keys, in the form that a step accepts."""
    if plan.grid.keys is None:
        return [record for _, record in several]
    found: dict[str, list[Any]] = {}
    for key, record in several:
        found.setdefault(plan.grid.keys[key], []).append(record)
    return found


def each_record(case: Case) -> list[Counted]:
    """What the samples add, each alone in a first step without noise, in the first and last key."""
    plan, one = case.plan, case.nothing(1) + 1
    unit = float(left(plan, 1)[0][0, 0]) * float(right(plan, one)[0, 0])
    found = []
    for key in sorted({0, len(plan.grid.keys or "1") - 1}):
        for record in samples(plan, case.chance.inputs()):
            step = case.start(ChosenNoise(case.nothing(1))).step(placed(plan, [(key, record)]))
            units = np.clip(lanes_of(step) / unit, -(2.0**60), 2.0**60)
            found.append(Counted(key, record, np.rint(units).astype(np.int64)))
    return found


def _within(plan: Plan, one: Counted) -> bool:
    """True if a record adds what its declared bounds allow, and nothing in another key."""
    grid, units = plan.grid, one.units
    if grid.norm is not None:
        return bool(sum(value * value for value in units.tolist()) <= grid.norm_unit**2)
    own = units[one.key * grid.parts :][: grid.parts]
    if np.count_nonzero(own) != np.count_nonzero(units):
        return False
    if grid.statistic is not None:
        whole, levels = grid.statistic.whole(grid.high_unit - grid.low_unit), grid.statistic.levels
        return bool(own.min() >= 0 and own.max() <= whole and own.sum() <= levels * whole)
    near = min(max(one.record, grid.low), grid.high) / grid.resolution
    return bool(grid.low_unit <= own[0] <= grid.high_unit and abs(own[0] - near) <= 1.0)


def _many(case: Case, known: list[Counted]) -> Finding:
    """The finding that steps with several records release R̃ x of the sums of what each adds."""
    rng, plan = case.chance.inputs(), case.plan
    n = case.steps(24, _VALUES)
    most = max(1, min(9, plan.grid.largest_total // max(plan.grid.largest_unit, 1)))
    stream, units, rows = case.start(ChosenNoise(case.nothing(n))), case.nothing(n), []
    for step in range(n):
        some = [known[place] for place in rng.integers(len(known), size=rng.integers(0, most + 1))]
        units[step] = sum((one.units for one in some), start=units[step])
        rows.append(lanes_of(stream.step(placed(plan, [(one.key, one.record) for one in some]))))
    differ = int(np.count_nonzero(np.array(rows) != case.expected(units)))
    claim = "R̃ x, where x is the sum of what each record adds"
    return Finding("many records", claim, f"{differ} of {units.size} values differ", not differ)


def _refusals(case: Case, valid: Counted) -> Finding:
    """The finding that a stream refuses invalid records, large totals, and steps too many."""
    plan, grid, row = case.plan, case.plan.grid, case.nothing(1)
    row[0, 0] = grid.largest_total + 1
    kind = "" if plan.statistic is None else plan.statistic.kind
    odd = {"pairs": [math.nan, 1.0], "truths": 7, "texts": 7}.get(kind, math.nan)
    wrong = placed(plan, [(0, valid.record), (0, odd if grid.norm is None else row[0] * math.nan)])
    tries: dict[str, Callable[[Any], Any]] = {"a bad record": lambda stream: stream.step(wrong)}
    for door in DOORS if grid.largest_total < 2**52 else DOORS[::2]:
        tries[f"a large total by {door}"] = partial(released, units=row, door=door)
        tries[f"a large negative total by {door}"] = partial(released, units=-row, door=door)
    streams = {what: case.start(ChosenNoise(row * 0)) for what in tries}
    if (plan.horizon or _VALUES) * case.lanes < _VALUES:
        for door in DOORS:
            tries[what := f"a step after the horizon by {door}"] = partial(
                released, units=row * 0, door=door
            )
            streams[what] = case.start(ChosenNoise(row * 0))
            released(streams[what], case.nothing(plan.horizon or 1))
    accepted = []
    for what, work in tries.items():
        stream, before = streams[what], streams[what].steps
        if not refuses(partial(work, stream)) or stream.steps != before:
            accepted.append(what)
    claim = "invalid records, large totals and steps after the horizon are refused"
    return Finding("refusals", claim, f"accepted: {', '.join(accepted) or 'none'}", not accepted)


def refuses(work: Callable[[], Any]) -> bool:
    """True if the call raises one of hushfade's errors."""
    try:
        work()
    except HushfadeError:
        return True
    return False
