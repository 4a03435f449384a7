"""The changes of the lanes of a statistic by one person's records of one step.

They come from records that the plan's own code spreads over lanes, not from the plan's accounting.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hushfade.audit.randomness import Chance
from hushfade.audit.statistic_records import samples
from hushfade.check import Signed
from hushfade.planning.plan import Plan
from hushfade.public.statistics import Ratio

_SEED = 31  # the changes are the same in every run


def extreme(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The largest changes: records whose lanes have the largest norm, or differ most."""
    lanes = _spread(plan)
    best = max(lanes, key=_square)
    if plan.guarantee.neighbours == "add_remove":
        return {"an added record": _units(best)}
    pairs = [(one, other) for one in lanes for other in lanes]
    before, after = max(pairs, key=lambda pair: _square(pair[1] - pair[0]))
    found = {"another value": _units(after - before)}
    if plan.grid.keys is not None and len(plan.grid.keys) > 1:
        found["another key"] = _units(np.concatenate([-best, best]))
    return found


def divided(plan: Plan) -> dict[str, tuple[int, ...]]:
    """The change by a record that is divided among lanes as evenly as possible; may be empty."""
    lanes = _spread(plan)
    even = min(lanes, key=_square)
    if not _square(even) < _square(max(lanes, key=_square)):
        return {}
    if plan.guarantee.neighbours == "add_remove":
        return {"an added record, divided": _units(even)}
    if plan.grid.keys is not None and len(plan.grid.keys) > 1:
        return {"another key, divided": _units(np.concatenate([-even, even]))}
    largest = max(lanes, key=lambda one: _square(one - even))
    return {"another value, divided": _units(largest - even)}


def reached(plan: Plan) -> bool:
    """True if some records change lanes by as much as the plan accounts for.

    The numerator of a ratio is one lane: without another key it is taken away or added, not both.
    """
    moves = plan.grid.keys is not None and len(plan.grid.keys) > 1
    ratio = isinstance(plan.statistic, Ratio)
    return moves or not ratio or plan.guarantee.neighbours == "add_remove"


def _spread(plan: Plan) -> list[Signed]:
    """The lanes of as many equal records as a person may have in a step, for many records."""
    assert plan.statistic is not None
    grid = replace(plan.grid, keys=None, width=1)
    most = plan.guarantee.protects.records_per_step
    records: list[Any] = list(samples(plan.statistic, Chance(_SEED)).values())
    return [most * grid.record_sums([record]) for record in records]


def _square(lanes: Signed) -> int:
    return sum(units * units for units in lanes.tolist())


def _units(lanes: Signed) -> tuple[int, ...]:
    return tuple(int(units) for units in lanes)
