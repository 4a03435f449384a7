"""Records become integers: clipped, put on the grid, summed per step.  The private half's door.

A value x in [low, high] becomes floor(x / resolution + ½), so low and high have integer images and
one record changes a step's total by integers between them.  Nothing here is ever repaired: what is
not a finite number of the right shape is refused, and no message carries a record's value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue

Floats = NDArray[np.float64]

_PIECE = 1 << 14  # totals read at a time

_TOO_LARGE = "totals must be finite and at most the plan's largest_total"
_OFF_GRID = (
    "totals must be multiples of the resolution {resolution!r}: sum records that plan.quantise "
    "has put on the grid"
)


@dataclass(frozen=True)
class Grid:
    """How one plan reads records.  `keys` for keyed streams, `norm` and `width` for vectors."""

    low: float
    high: float
    resolution: float
    largest_total: int  # of a step, in grid units: the bound that keeps int64 from overflowing
    keys: tuple[str, ...] | None = None
    width: int = 1
    norm: float | None = None

    @property
    def lanes(self) -> int:
        """How many totals a step has."""
        return self.width if self.keys is None else len(self.keys)

    @property
    def low_unit(self) -> int:
        """The integer image of low."""
        return math.floor(self.low / self.resolution + 0.5)

    @property
    def high_unit(self) -> int:
        """The integer image of high."""
        return math.floor(self.high / self.resolution + 0.5)

    @property
    def norm_unit(self) -> int:
        """The largest ℓ2 norm of a vector on the grid, rounded down."""
        assert self.norm is not None
        return math.floor(self.norm / self.resolution)

    @property
    def scalar(self) -> bool:
        """Is a release one number?"""
        return self.keys is None and self.norm is None

    def record_sum(self, records: Any) -> int:
        """A step's total from its records, a number or many, where a release is one number."""
        return int(self._bounded(np.array([self._sum(records)]))[0])

    def record_sums(self, records: Any) -> Signed:
        """A step's totals from its records: by key, or vectors."""
        if self.keys is not None:
            return self._bounded(self._by_key({} if _nothing(records) else records, self._sum))
        return self._bounded(self._vector_sum(records))

    def total(self, total: Any) -> int:
        """A step's total, where a release is one number: a multiple of the grid."""
        if type(total) is float:  # the common case first: a live step is short
            per_unit, most = self._scale
            units = total * per_unit
            if -most <= units <= most and units.is_integer() and (units or not total):
                return int(units)
        return self._exact(total)

    def totals(self, totals: Any) -> Signed:
        """A step's totals, summed by a caller who clipped each record: multiples of the grid."""
        if self.keys is not None and isinstance(totals, Mapping):
            return self._bounded(self._by_key(totals, self._exact))
        row = _numbers(totals, "totals")
        if row.shape != (self.lanes,):
            raise InvalidValue(f"totals must have shape ({self.lanes},)", got=row.shape)
        found: Signed = self.block(row[None, :])[0]
        return found

    def block(self, totals: Any) -> Signed:
        """Many steps' totals, (n,) or (n, lanes), as (n, lanes) integers on the grid."""
        array = _numbers(totals, "totals")
        if array.ndim == 1 and self.lanes == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.lanes:
            raise InvalidValue(f"totals must have shape (n, {self.lanes})", got=array.shape)
        if array.dtype.kind == "f" and array.dtype != np.float64:
            raise InvalidType(
                "totals must be integers or float64: shorter floats do not sum exactly"
            )
        out = np.empty(array.shape, dtype=np.int64)
        rows = max(1, _PIECE // self.lanes)
        for start in range(0, len(array), rows):  # in pieces that stay in the cache
            out[start : start + rows] = self._units_of(array[start : start + rows])
        return out

    def _units_of(self, totals: NDArray[Any]) -> Signed:
        if totals.dtype.kind in "iu":  # in integers throughout: float64 would round beyond 2^53
            return self._integers(totals)
        per_unit, most = self._scale
        limit = most * self.resolution  # compared before they are scaled, which may overflow
        if not (float(totals.min()) >= -limit and float(totals.max()) <= limit):  # nan is not
            raise InvalidValue(_TOO_LARGE)
        units = totals * per_unit
        found = units.astype(np.int64, order="C")
        same = np.array_equal(found, units)
        if per_unit < 1.0:  # what is too small for its own scale is not 0
            same = same and np.array_equal(units == 0.0, totals == 0.0)
        if not same:
            raise InvalidValue(_OFF_GRID.format(resolution=self.resolution))
        return found

    def _integers(self, array: NDArray[Any]) -> Signed:
        limit = math.floor(min(self.largest_total * self.resolution, 2.0**62))
        if array.size and (int(array.max()) > limit or int(array.min()) < -limit):
            raise InvalidValue(_TOO_LARGE)
        if limit == 0:  # only zeros are left, and 1/resolution may exceed int64
            return np.zeros(array.shape, dtype=np.int64)
        if self.resolution <= 1.0:
            return np.ascontiguousarray(array.astype(np.int64) * round(1.0 / self.resolution))
        if self.resolution > 2.0**62:  # beyond any of them, so that only 0 is a multiple
            units, beyond = np.zeros(array.shape, dtype=np.int64), array
        else:
            units, beyond = np.divmod(array.astype(np.int64), round(self.resolution))
        if np.any(beyond):
            raise InvalidValue(_OFF_GRID.format(resolution=self.resolution))
        return np.ascontiguousarray(units)

    def units(self, values: Any) -> Signed:
        """Each value clipped and on the grid, as an integer: what one record adds to its total."""
        return self._units(_numbers(values, "values")).astype(np.int64)

    def quantise(self, values: Any) -> Floats:
        """The values clipped and on the grid, in the data's own unit; vectors to their norm."""
        if self.norm is not None:
            return self._vectors(values) * self.resolution
        return self._units(_numbers(values, "values")) * self.resolution

    def _units(self, values: NDArray[Any]) -> Floats:
        numbers = values.astype(np.float64)
        if not np.all(np.isfinite(numbers)):
            raise InvalidValue("records must be finite numbers", got="nan or an infinity")
        clipped = np.clip(numbers, self.low, self.high)
        return np.asarray(np.floor(clipped / self.resolution + 0.5))

    def _sum(self, records: Any) -> int:
        numbers = _numbers(records, "records")
        if numbers.ndim > 1:
            raise InvalidValue(
                "records must be a number or a column", got=f"{numbers.ndim} dimensions"
            )
        units = self._units(numbers)
        largest = max(abs(self.low_unit), abs(self.high_unit), 1)
        if units.size * largest >= 2**62:
            raise InvalidValue("records must be fewer: their sum could exceed 62 bits")
        return int(np.sum(units.astype(np.int64)))

    def _exact(self, total: Any) -> int:
        kind = type(total)
        if kind is int or kind is float:
            number: Any = total
        elif isinstance(total, Integral) and not isinstance(total, bool | np.bool_):
            number = int(total)
        elif isinstance(total, np.float64):
            number = float(total)
        else:
            raise InvalidType("total must be an int or a float", got=kind.__name__)
        if not abs(number) <= self.largest_total * self.resolution:
            raise InvalidValue(_TOO_LARGE)
        if type(number) is int and self.resolution > 1.0:
            units, beyond = divmod(number, int(self.resolution))
            exact = beyond == 0
        else:
            units = int(number / self.resolution)  # exact: a power of two, within 2^53
            exact = units * self.resolution == number
        if not exact:
            raise InvalidValue(_OFF_GRID.format(resolution=self.resolution))
        return units

    def _by_key(self, records: Any, read: Any) -> Signed:
        if not isinstance(records, Mapping):
            raise InvalidType("records must be a mapping from key to value or values")
        unknown = sum(key not in self._places for key in records)
        if unknown:
            raise InvalidValue(
                "records must belong to the plan's keys", got=f"{unknown} other keys"
            )
        row = np.zeros(self.lanes, dtype=np.int64)
        for key, of_key in records.items():
            row[self._places[key]] = read(of_key)
        return row

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.keys or ())}

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Units of the grid for each of the data's, a power of two, and the largest total."""
        return 1.0 / self.resolution, float(self.largest_total)

    def _vector_sum(self, records: Any) -> Signed:
        rounded = self._vectors(records)
        if len(rounded) * max(self.norm_unit, 1) >= 2**62:
            raise InvalidValue("records must be fewer: their sum could exceed 62 bits")
        return np.asarray(np.sum(rounded.astype(np.int64), axis=0))

    def _vectors(self, records: Any) -> Floats:
        """Rows scaled to the norm and rounded; toward zero where rounding would exceed it."""
        assert self.norm is not None
        if _nothing(records):
            return np.zeros((0, self.width))
        rows = _numbers(records, "records").astype(np.float64)
        if rows.ndim == 1:
            rows = rows[None, :]
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise InvalidValue(f"records must be rows of width {self.width}")
        if not np.all(np.isfinite(rows)):
            raise InvalidValue("records must be finite numbers", got="nan or an infinity")
        limit = self.norm_unit
        largest = np.max(np.abs(rows), axis=1, initial=0.0)
        unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
        norms = np.maximum(np.linalg.norm(unit, axis=1), 1.0)  # a row of zeros stays zeros
        with np.errstate(over="ignore"):
            scale = np.minimum(largest / self.resolution, limit / norms)
        scaled = unit * scale[:, None]
        rounded = np.floor(scaled + 0.5)
        outside = [row for row in range(len(rows)) if _square(rounded[row]) > limit * limit]
        for row in outside:
            rounded[row] = np.trunc(scaled[row])
            while _square(rounded[row]) > limit * limit:
                rounded[row] = np.trunc(rounded[row] * (1.0 - 1e-12))
        return np.asarray(rounded)

    def _bounded(self, totals: Signed) -> Signed:
        if max(int(np.max(totals)), -int(np.min(totals))) > self.largest_total:
            raise InvalidValue("the step's total must stay below the plan's largest_total")
        return totals


def _square(row: Floats) -> int:
    return sum(int(value) ** 2 for value in row.tolist())


def _numbers(values: Any, name: str) -> NDArray[Any]:
    """The values as a real array; the message tells kinds and shapes, never contents."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidType(f"{name} must not be masked: leave out what does not count")
    try:
        array = np.asarray(values)
    except Exception:  # whatever a foreign object's own conversion raises might carry its value
        raise InvalidType(f"{name} must be real numbers of one shape") from None
    if array.dtype.kind not in "iuf":
        raise InvalidType("must be real numbers", argument=name, got=array.dtype.type.__name__)
    return array


def _nothing(records: Any) -> bool:
    """An empty sequence: no records, whatever their kind."""
    return isinstance(records, list | tuple | np.ndarray) and len(records) == 0
