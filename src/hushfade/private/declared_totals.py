"""Step totals that a caller gives in the unit of the records: exact multiples of the resolution.

A caller that sums records must first clip and quantise each of them (`plan.quantise`).  This module
rounds nothing.  It rejects a total that is not on the grid, because rounding a sum is not the same
as rounding its records.  For totals in integer units see `integer_totals`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.private import integer_totals, real_numbers

_PIECE = 1 << 14  # totals converted at a time, so that they stay in the processor's cache

_TOO_LARGE = "totals must be finite and at most the plan's largest_total"


def single(total: Any, resolution: float, most: int) -> int:
    """One total in units; `total` is an int or a float."""
    if isinstance(total, bool | np.bool_) or not isinstance(total, Integral | float):
        raise InvalidType("must be an int or a float", argument="total", got=type(total).__name__)
    number = float(total) if isinstance(total, float) else int(total)
    if not abs(number) <= most * resolution:  # false for nan
        raise InvalidValue(_TOO_LARGE)
    units, rest = divmod(Fraction(number), Fraction(resolution))
    if rest:
        raise InvalidValue(_off_grid(resolution))
    return units


def block(totals: Any, lanes: int, resolution: float, most: int) -> Signed:
    """The totals of many steps, (n,) for one lane or (n, lanes), as (n, lanes) units."""
    array = real_numbers.array(totals, "totals")
    if array.ndim == 1 and lanes == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != lanes:
        raise InvalidValue(f"must have shape (n, {lanes})", argument="totals", got=array.shape)
    return _units(array, resolution, most)


def row(totals: Any, lanes: int, resolution: float, most: int) -> Signed:
    """The totals of one step, one per lane, in units."""
    array = real_numbers.array(totals, "totals")
    if array.shape != (lanes,):
        raise InvalidValue(f"must have shape ({lanes},)", argument="totals", got=array.shape)
    return _units(array, resolution, most)


def _units(array: NDArray[Any], resolution: float, most: int) -> Signed:
    if array.dtype.kind == "f":
        return _of_floats(array, resolution, most)
    units = np.empty(array.shape, dtype=np.int64)
    rows = max(1, _PIECE // (array.shape[1] if array.ndim == 2 else 1))
    for start in range(0, len(array), rows):
        piece = array[start : start + rows]
        units[start : start + rows] = _of_integers(piece, resolution, most)
    return units


def _of_floats(totals: NDArray[Any], resolution: float, most: int) -> Signed:
    if totals.dtype != np.float64:
        raise InvalidType("totals must be integers or float64: shorter floats do not sum exactly")
    units = np.empty(totals.shape, dtype=np.int64)
    column = totals.reshape(-1) if totals.flags.carray else totals.flatten()
    loops = integer_totals.loops()
    verdict = loops.convert(column, resolution, most * resolution, units.reshape(-1))
    if verdict == loops.TOO_LARGE:
        raise InvalidValue(_TOO_LARGE)
    if verdict == loops.OFF_GRID:
        raise InvalidValue(_off_grid(resolution))
    return units


def _of_integers(totals: NDArray[Any], resolution: float, most: int) -> Signed:
    """The units of integer totals, in integer arithmetic: float64 would round above 2^53."""
    limit = math.floor(min(most * resolution, 2.0**62))
    if int(totals.max()) > limit or int(totals.min()) < -limit:
        raise InvalidValue(_TOO_LARGE)
    if limit == 0:  # all totals are 0, and 1/resolution may exceed int64
        return np.zeros(totals.shape, dtype=np.int64)
    if resolution <= 1.0:
        return totals.astype(np.int64) * round(1.0 / resolution)
    if resolution > 2.0**62:  # larger than every total, so only 0 is a multiple
        units, rest = np.zeros(totals.shape, dtype=np.int64), totals
    else:
        units, rest = np.divmod(totals.astype(np.int64), round(resolution))
    if np.any(rest):
        raise InvalidValue(_off_grid(resolution))
    return units


def _off_grid(resolution: float) -> str:
    return (
        f"totals must be multiples of the resolution {resolution!r}: apply plan.quantise to "
        "the records before you sum them"
    )
