"""Records that the audit offers to a stream: of any size and direction, in any form and key.

An offer consists of a step's records, the same records with one added, and the value with which
the added record should count.  This module computes that value from the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hushfade.audit.randomness import Chance
from hushfade.audit.total_sizes import largest_tried, one_record
from hushfade.check import Column
from hushfade.planning.plan import Plan

Record: TypeAlias = float | list[float] | list[int]  # an int is a float for types

_KEYS = 16  # the most keys that are all tried; otherwise the first, a middle and the last key
_DIRECTIONS = 4  # random directions of vectors
_SOME = 8  # records that are added to many others
_MANY = 1000
_VALUES = 1 << 16  # the most values in a step
_FAR = 1e300
_WHOLE = (0, 1, -1, 3, 100, -100, 1000, 2**40, -(2**40))
TYPES: dict[str, type[np.generic]] = {
    "int64": np.int64, "int8": np.int8, "uint8": np.uint8, "float32": np.float32,
}  # fmt: skip
FORMS: dict[str, Callable[[list[Record]], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "an array": np.array,
    "one alone": lambda records: records[-1],
}


@dataclass(frozen=True)
class Offer:
    """A step's records without and with one added record, and its value in units per lane."""

    name: str
    usual: Any
    more: Any
    units: Column
    lane: int  # of the record's key; 0 for a plan without keys


def offered(plan: Plan, steps: int, chance: Chance) -> list[Offer]:
    """Offers of every size in every key as a list, and of every form and type in two keys."""
    keys = _keys(plan)
    few = sorted({keys[0], keys[-1]})
    tried = _tried(plan, chance)
    found = [
        _offer(plan, f"a record of {name}", _usual(plan), record, key, list)
        for name, record in tried.items()
        for key in keys
    ]
    some = list(tried.values())[-_SOME:]
    for form, made in FORMS.items():
        usual = [] if form == "one alone" else _usual(plan)
        found += [
            _offer(plan, form, usual, record, key, made) for record in tried.values() for key in few
        ]
    found += [offer for key in few for offer in _typed(plan, key)]
    room = largest_tried(plan, steps) // one_record(plan)
    count = min(_MANY, room, _VALUES // plan.grid.width)
    crowd = (_usual(plan) * count)[:count]
    found += [
        _offer(plan, f"a record added to {count:,}", crowd, record, key, made)
        for record in some
        for key in few
        for made in (list, np.array)
    ]
    return found


def _typed(plan: Plan, key: int) -> Iterator[Offer]:
    """Offers of whole numbers, as Python integers and in arrays of other types than float64."""
    usual, records = _whole(plan, 1), [_whole(plan, number) for number in _WHOLE]
    for record in records:
        yield _offer(plan, "integers in a list", [usual], record, key, list)
        yield _offer(plan, "an integer alone", [], record, key, FORMS["one alone"])
    for name, kind in TYPES.items():
        for record in records:
            if np.array_equal(np.array(record).astype(kind).astype(np.int64), record):
                made = partial(np.array, dtype=kind)
                yield _offer(plan, f"an array of {name}", [usual], record, key, made)


def _whole(plan: Plan, number: int) -> Record:
    """The number as a record: a scalar, or a vector along the last axis."""
    if plan.grid.norm is None:
        return number
    return [0] * (plan.grid.width - 1) + [number]


def bad(plan: Plan) -> list[Any]:
    """Records in every form, of which one is not finite."""
    keys = _keys(plan)
    found = []
    for number in (math.nan, math.inf, -math.inf):
        record: Record = number
        if plan.grid.norm is not None:
            record = [0.0] * (plan.grid.width - 1) + [number]
        for made in FORMS.values():
            found += [
                _placed(plan, key, made([*_usual(plan), record])) for key in {keys[0], keys[-1]}
            ]
    return found


def quiet(plan: Plan) -> Any:
    """The records of an ordinary step."""
    return _placed(plan, 0, _usual(plan))


def _offer(
    plan: Plan,
    name: str,
    usual: list[Record],
    record: Record,
    key: int,
    made: Callable[[list[Record]], Any],
) -> Offer:
    before = _placed(plan, key, made(usual)) if usual else ()
    more = _placed(plan, key, made([*usual, record]))
    return Offer(name, before, more, _counted(plan, record, key), key)


def _placed(plan: Plan, key: int, records: Any) -> Any:
    return records if plan.grid.keys is None else {plan.grid.keys[key]: records}


def _keys(plan: Plan) -> list[int]:
    """The indices of the keys that are tried."""
    keys = plan.grid.keys
    if keys is None:
        return [0]
    last = len(keys) - 1
    return list(range(len(keys))) if last < _KEYS else [0, last // 2, last]


def _usual(plan: Plan) -> list[Record]:
    grid = plan.grid
    if grid.norm is not None:
        return [[grid.norm / 2.0] + [0.0] * (grid.width - 1)]
    room = grid.largest_total // max(grid.largest_unit, 1)
    usual: list[Record] = [grid.low, grid.high, grid.high]
    return usual[: max(0, room - 1)]  # leaves room for one added record


def _tried(plan: Plan, chance: Chance) -> dict[str, Record]:
    """Records to add: within their bounds, at them, beyond them, and as large as float64 allows."""
    grid = plan.grid
    if grid.norm is None:
        low, high = grid.low, grid.high
        span = min(high - low, _FAR)
        inside = low + 0.37 * span
        beyond = min(high + 40.0 * span, _FAR), max(low - 40.0 * span, -_FAR)
        return {f"{value:g}": value for value in (low, high, inside, *beyond, _FAR, -_FAR)}
    first = np.zeros(grid.width)
    first[0] = 1.0
    directions = {"along the first axis": first, "with equal coordinates": np.ones(grid.width)}
    rng = chance.inputs()
    for number in range(_DIRECTIONS):
        directions[f"in random direction {number + 1}"] = rng.normal(size=grid.width)
    found: dict[str, Record] = {}
    for name, direction in directions.items():
        unit = direction / np.linalg.norm(direction)
        for size in (0.37 * grid.norm, grid.norm, min(40.0 * grid.norm, _FAR), _FAR):
            found[f"norm {size:g} {name}"] = (size * unit).tolist()
    return found


def _counted(plan: Plan, record: Record, key: int) -> Column:
    """The clipped record in units per lane, before rounding to the grid."""
    grid = plan.grid
    found = np.zeros(grid.lanes)
    if grid.norm is None:
        assert not isinstance(record, list)
        found[key] = min(max(record, grid.low), grid.high) / grid.resolution
        return found
    row = np.asarray(record, dtype=np.float64)
    largest = float(np.max(np.abs(row)))
    if largest == 0.0:
        return found
    unit = row / largest
    scale = grid.norm_unit / float(np.linalg.norm(unit))
    if largest < grid.norm:  # otherwise it is clipped, and its size in units may overflow
        scale = min(scale, largest / grid.resolution)
    return np.asarray(unit * scale)
