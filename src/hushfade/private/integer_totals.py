"""Checks of totals that are already integers on the grid.  They are never converted.

A caller that quantised its records passes int64 units.  Nothing here divides, rounds or clips.
Floats and bools are rejected, so that no total ever passes through floating point.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral
from types import ModuleType
from typing import Any

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue

_TOO_LARGE = (
    "a step's total exceeds the plan's largest_total of {most} units: "
    "use a coarser resolution, or split the records over several steps"
)


@cache
def loops() -> ModuleType:
    """The module `unit_loops`, loaded on first use because it loads numba."""
    from hushfade.private import unit_loops

    return unit_loops


def single(units: Any, *, most: int) -> int:
    """The total of one step with one lane."""
    if type(units) is not int:
        if not isinstance(units, Integral) or isinstance(units, bool | np.bool_):
            raise InvalidType("must be an integer", argument="units", got=type(units).__name__)
        units = int(units)
    if not -most <= units <= most:
        raise InvalidValue(_TOO_LARGE.format(most=most))
    total: int = units
    return total


def row(units: Any, *, lanes: int, most: int) -> Signed:
    """The totals of one step, one per lane."""
    totals = _integers(units)
    if totals.shape != (lanes,):
        raise InvalidValue(f"must have shape ({lanes},)", argument="units", got=totals.shape)
    return bounded(totals, most)


def block(units: Any, *, lanes: int, most: int) -> Signed:
    """The totals of many steps, (n,) for one lane or (n, lanes), as (n, lanes)."""
    totals = _integers(units)
    if totals.ndim == 1 and lanes == 1:
        totals = totals[:, None]
    if totals.ndim != 2 or totals.shape[1] != lanes:
        raise InvalidValue(f"must have shape (n, {lanes})", argument="units", got=totals.shape)
    return bounded(totals, most)


def _integers(units: Any) -> Signed:
    if isinstance(units, np.ndarray) and type(units) is not np.ndarray:
        raise InvalidType("units must be a plain array", got=type(units).__name__)
    array = units if isinstance(units, np.ndarray) else np.array(units, dtype=object)
    if array.dtype == object and array.size == 0:
        array = array.astype(np.int64)
    if array.dtype == object and all(type(value) is int for value in array.flat):
        try:
            array = array.astype(np.int64)
        except OverflowError:
            raise InvalidValue("units must fit into 64 bits") from None
    if array.dtype != np.int64:
        raise InvalidType("must be int64", argument="units", got=array.dtype)
    return np.array(array, order="C")  # a copy, because the caller may change its array


def bounded(totals: Signed, most: int) -> Signed:
    """The totals; raises InvalidValue if one is larger than `most` in magnitude."""
    if not loops().bounded(totals.reshape(-1), most):
        raise InvalidValue(_TOO_LARGE.format(most=most))
    return totals
