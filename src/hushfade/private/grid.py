"""The grid: declared bounds and a resolution, by which every record becomes an integer.

A record x becomes floor(clip(x, low, high) / resolution + ½) units.  All input paths use
`Grid.units`, and Spark's expression is built from the same `Grid.rule`.  One record therefore
changes a step's total by an integer between low_unit and high_unit, wherever it comes from.
A value that is not a finite number of the right shape is rejected; no error contains a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from hushfade import check
from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.privacy.guarantee import Guarantee
from hushfade.private import declared_totals, integer_totals, real_numbers, unit_sums, vectors
from hushfade.private.real_numbers import Floats

Number = TypeVar("Number")
_PIECE = 1 << 15  # records rounded at a time: they stay in the processor's cache


def grid_of(
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    keys: Iterable[str] | None,
    width: int | None,
    norm: float | None,
    resolution: float | None,
) -> Grid:
    """The grid of the declared bounds, keys and resolution, checked argument by argument.

    `largest_total` is 1 until the plan's taps are known.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("must be a Guarantee", argument="guarantee", got=type(guarantee).__name__)
    low, high = check.real(low=low), check.real(high=high)
    if not low < high:
        raise InvalidValue("must be < high", argument="low", got=f"{low!r} and {high!r}")
    if (width is None) != (norm is None):
        raise InvalidType("width and norm go together: vectors need both")
    if keys is not None and width is not None:
        raise InvalidType("keys and width exclude each other: a key's record is a number")
    names = None if keys is None else _names(keys)
    if norm is not None:
        norm = check.positive(norm=norm)
        low, high = -norm, norm
    span = high - low
    if not math.isfinite(span):
        raise InvalidValue("high - low must be finite", got=f"{low!r} and {high!r}")
    if resolution is None:
        resolution = 2.0 ** (math.floor(math.log2(span)) - 10)
    resolution = check.positive(resolution=resolution)
    if math.frexp(resolution)[0] != 0.5:
        raise InvalidValue("must be a power of two", argument="resolution", got=repr(resolution))
    lanes = 1 if width is None else check.count(width=width, most=10**8)
    largest = max(abs(low), abs(high)) / resolution
    if not 1.0 <= largest <= 2.0**40:
        raise InvalidValue(
            "must divide the bounds 1 to 2^40 times", argument="resolution", got=repr(resolution)
        )
    grid = Grid(low, high, resolution, 1, names, lanes, norm)
    if grid.low_unit == grid.high_unit:
        raise InvalidValue("must be below high - low", argument="resolution", got=repr(resolution))
    return grid


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise InvalidType("must be several names", argument="keys", got="one str")
    names = tuple(keys)
    if not names:
        raise InvalidValue("must not be empty", argument="keys")
    if not all(isinstance(name, str) for name in names):
        raise InvalidType("must be str", argument="keys")
    if len(set(names)) != len(names):
        raise InvalidValue("must differ from each other", argument="keys")
    return names


@dataclass(frozen=True)
class Grid:
    """How one plan reads records.  `keys` is for keyed streams, `norm` and `width` for vectors."""

    low: float
    high: float
    resolution: float
    largest_total: int  # of a step, in units: a larger total could overflow the private product
    keys: tuple[str, ...] | None = None
    width: int = 1
    norm: float | None = None

    @property
    def lanes(self) -> int:
        """The number of totals per step."""
        return self.width if self.keys is None else len(self.keys)

    @property
    def scalar(self) -> bool:
        """Is a release one number?"""
        return self.keys is None and self.norm is None

    @cached_property
    def low_unit(self) -> int:
        """The units of a record at `low`."""
        return int(self.rule(self.low, _clipped, math.floor))

    @cached_property
    def high_unit(self) -> int:
        """The units of a record at `high`."""
        return int(self.rule(self.high, _clipped, math.floor))

    @property
    def norm_unit(self) -> int:
        """The largest ℓ2 norm of a vector in units, rounded down."""
        assert self.norm is not None
        return math.floor(self.norm / self.resolution)

    @cached_property
    def largest_unit(self) -> int:
        """The largest number of units, in magnitude, that one record adds to one total."""
        if self.norm is not None:
            return self.norm_unit
        return max(abs(self.low_unit), abs(self.high_unit))

    # Records ---------------------------------------------------------------------------------

    def rule(
        self,
        value: Any,
        clip: Callable[[Any, float, float], Any],
        floor: Callable[[Any], Number],
    ) -> Number:
        """The one statement of how a finite number becomes units.

        `clip` and `floor` say in which arithmetic: Python's, numpy's, or Spark's expressions.
        All are IEEE 754 doubles, so they agree to the last bit.
        """
        return floor(clip(value, self.low, self.high) / self.resolution + 0.5)

    def units(self, records: Any) -> Signed:
        """Each record as an integer, what it adds to its total; vectors as one row per record.

        >>> Grid(low=0, high=1, resolution=0.25, largest_total=100).units([0.3, 7, 2**70, -1])
        array([1, 4, 4, 0])
        """
        if self.norm is None:
            return self._quantised(real_numbers.finite(records))
        return vectors.units(
            records, width=self.width, norm_unit=self.norm_unit, resolution=self.resolution
        )

    def _quantised(self, numbers: Floats) -> Signed:
        column = numbers.reshape(-1)
        units = np.empty(column.shape, dtype=np.int64)
        for start in range(0, len(column), _PIECE):
            piece = slice(start, start + _PIECE)
            units[piece] = self.rule(column[piece], np.clip, np.floor)
        return units.reshape(numbers.shape)

    def quantise(self, records: Any) -> Floats:
        """The records, clipped and rounded to the grid, in their own unit."""
        return np.multiply(self.units(records), self.resolution, dtype=np.float64)

    def record_sum(self, records: Any) -> int:
        """The total of a step in units, where a release is one number."""
        if type(records) is float:  # the common case first: a live step is short
            return integer_totals.single(self._number(records), most=self.largest_total)
        units = self._quantised(_column(records))
        total = int(unit_sums.summed(units, largest=self.largest_unit))
        return integer_totals.single(total, most=self.largest_total)

    def _number(self, record: float) -> int:
        """One record in units: `units` without arrays."""
        if not math.isfinite(record):
            real_numbers.finite(record)  # raises
        return int(self.rule(record, _clipped, math.floor))

    def record_sums(self, records: Any) -> Signed:
        """The totals of a step in units, by key or of vectors."""
        if self.keys is None:
            totals = unit_sums.summed(self.units(records), largest=self.largest_unit)
        else:
            totals = self._summed_by_key({} if real_numbers.nothing(records) else records)
        return integer_totals.row(totals, lanes=self.lanes, most=self.largest_total)

    def _summed_by_key(self, records: Any) -> Signed:
        sums = unit_sums.UnitSums(self.lanes, largest=self.largest_unit)
        lanes, columns = [], []
        for lane, of_key in self._by_lane(records):
            if type(of_key) is float:  # the only record of its key
                sums.totals[lane] = self._number(of_key)
                continue
            lanes.append(lane)
            columns.append(_column(of_key))
        if columns:
            cells = np.repeat(lanes, [len(column) for column in columns])
            sums.add(cells, self._quantised(np.concatenate(columns)))
        return sums.totals

    # Totals that the caller has summed -------------------------------------------------------

    def total(self, total: Any) -> int:
        """The total of a step in units, where a release is one number: a multiple of the grid."""
        if type(total) is float:  # the common case first: a live step is short
            per_one, most = self._scale
            units = total * per_one
            if -most <= units <= most and units.is_integer() and (units or not total):
                return int(units)
        return declared_totals.single(total, self.resolution, self.largest_total)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """Units per 1, a power of two or infinite, and `largest_total` as a float."""
        return 1.0 / self.resolution, float(self.largest_total)

    def totals(self, totals: Any) -> Signed:
        """The totals of a step in units: multiples of the grid, one per lane or by key."""
        if self.keys is not None and isinstance(totals, Mapping):
            row = np.zeros(self.lanes, dtype=np.int64)
            for lane, total in self._by_lane(totals):
                row[lane] = self.total(total)
            return row
        return declared_totals.row(totals, self.lanes, self.resolution, self.largest_total)

    def block(self, totals: Any) -> Signed:
        """The totals of many steps, (n,) or (n, lanes), as (n, lanes) units."""
        return declared_totals.block(totals, self.lanes, self.resolution, self.largest_total)

    # Keys ------------------------------------------------------------------------------------

    @cached_property
    def lane_of(self) -> dict[str, int]:
        """The lane of each key."""
        return {key: lane for lane, key in enumerate(self.keys or ())}

    def _by_lane(self, given: Any) -> Iterator[tuple[int, Any]]:
        """The lane of each key that is given, and what is given for it."""
        if not isinstance(given, Mapping):
            raise InvalidType("records must be a mapping from key to value or values")
        unknown = sum(key not in self.lane_of for key in given)
        if unknown:
            raise InvalidValue(
                "must belong to the plan's keys", argument="records", got=f"{unknown} other keys"
            )
        return ((self.lane_of[key], of_key) for key, of_key in given.items())


def _column(records: Any) -> Floats:
    """A number, or a column of numbers, as a column."""
    numbers = real_numbers.finite(records)
    if numbers.ndim > 1:
        raise InvalidValue(
            "must be a number or a column", argument="records", got=f"{numbers.ndim} dimensions"
        )
    return numbers.reshape(-1)


def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
