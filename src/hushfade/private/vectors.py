"""Vectors on the grid: rows clipped to an ℓ2 norm, and rounded without exceeding it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidValue
from hushfade.private import real_numbers
from hushfade.private.real_numbers import Floats


def units(records: Any, *, width: int, norm_unit: int, resolution: float) -> Signed:
    """One row of integers per vector, each with a norm of at most `norm_unit`.

    Components are rounded half up.  If the rounded row would exceed the norm, its components are
    rounded toward zero instead.

    >>> units([[0.6, 0.8], [30, 40]], width=2, norm_unit=10, resolution=0.125)
    array([[5, 6],
           [6, 8]])
    """
    if real_numbers.nothing(records):
        return np.zeros((0, width), dtype=np.int64)
    # numpy sums a row in another order if the rows are not contiguous in memory; then the number of
    # rows would change the last bit of a norm
    rows = np.ascontiguousarray(real_numbers.finite(records))
    if rows.ndim == 1:
        rows = rows[None, :]
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidValue(f"records must be rows of width {width}")
    largest = np.max(np.abs(rows), axis=1, initial=0.0)
    unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
    norms = np.maximum(np.linalg.norm(unit, axis=1), 1.0)  # a row of zeros stays zeros
    with np.errstate(over="ignore"):
        scale = np.minimum(largest / resolution, norm_unit / norms)
    scaled = unit * scale[:, None]
    rounded = np.floor(scaled + 0.5)
    limit = norm_unit * norm_unit
    for row in range(len(rows)):
        if _square(rounded[row]) > limit:
            rounded[row] = np.trunc(scaled[row])
            while _square(rounded[row]) > limit:
                rounded[row] = np.trunc(rounded[row] * (1.0 - 1e-12))
    return np.asarray(rounded.astype(np.int64))


def _square(row: Floats) -> int:
    return sum(int(value) ** 2 for value in row.tolist())
