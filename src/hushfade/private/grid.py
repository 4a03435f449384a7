"""The grid: the declared bounds and the resolution that turn every record into an integer.

A record x becomes floor(clip(x, low, high) / resolution + ½) units.  All input paths use
`Grid.units`, and the Spark expression is built from the same `Grid.rule`.  One record therefore
changes a step's total by an integer between low_unit and high_unit, whatever its source.
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
from hushfade.private import (
    declared_totals,
    integer_totals,
    real_numbers,
    spread,
    unit_sums,
    vectors,
)
from hushfade.private.real_numbers import Floats
from hushfade.private.spread import CodedSpread, Spread

Number = TypeVar("Number")
_PIECE = 1 << 15  # records rounded at a time, so that they stay in the processor's cache


def grid_of(
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    keys: Iterable[str] | None,
    width: int | None,
    norm: float | None,
    resolution: float | None,
    statistic: Spread | None = None,
) -> Grid:
    """The grid for these bounds, keys and resolution, after checks of all arguments.

    `largest_total` is 1 until the plan's taps are known.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("must be a Guarantee", argument="guarantee", got=type(guarantee).__name__)
    low, high = check.bounds(low, high)
    if (width is None) != (norm is None):
        raise InvalidType("width and norm must be given together: vectors need both")
    if keys is not None and width is not None:
        raise InvalidType("keys and width must not both be given: the record of a key is a number")
    names = None if keys is None else _names(keys)
    if norm is not None:
        norm = check.positive(norm=norm)
        low, high = check.bounds(-norm, norm)
    if resolution is None:
        resolution = 2.0 ** (math.floor(math.log2(high - low)) - 10)
    resolution = check.positive(resolution=resolution)
    if math.frexp(resolution)[0] != 0.5:
        raise InvalidValue("must be a power of two", argument="resolution", got=repr(resolution))
    lanes = 1 if width is None else check.count(width=width, most=10**8)
    largest = max(abs(low), abs(high)) / resolution
    if not 1.0 <= largest <= 2.0**40:
        raise InvalidValue(
            "must be from 2^-40 to 1 times max(|low|, |high|)",
            argument="resolution",
            got=repr(resolution),
        )
    if statistic is not None and norm is not None:
        raise InvalidType("statistic and norm cannot be combined: a statistic has no vectors")
    grid = Grid(low, high, resolution, 1, names, lanes, norm, statistic)
    if grid.low_unit == grid.high_unit:
        raise InvalidValue("must be below high - low", argument="resolution", got=repr(resolution))
    return grid


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise InvalidType("must be a sequence of names", argument="keys", got="one str")
    names = tuple(keys)
    if not names:
        raise InvalidValue("must not be empty", argument="keys")
    if not all(isinstance(name, str) for name in names):
        other = next(type(name).__name__ for name in names if not isinstance(name, str))
        raise InvalidType("must be text (str)", argument="keys", got=other)
    if len(set(names)) != len(names):
        raise InvalidValue("must not contain a key twice", argument="keys")
    return names


@dataclass(frozen=True)
class Grid:
    """The rule by which a plan reads records.  `keys` is for keyed streams, `norm` and `width` are
    for vectors."""

    low: float
    high: float
    resolution: float
    largest_total: int  # per step, in units: a larger total could overflow the private product
    keys: tuple[str, ...] | None = None
    width: int = 1
    norm: float | None = None
    statistic: Spread | None = None  # spreads a record over several lanes of its key

    @property
    def lanes(self) -> int:
        """The number of totals per step."""
        return (self.width if self.keys is None else len(self.keys)) * self.parts

    @property
    def parts(self) -> int:
        """The number of totals per step and key."""
        return 1 if self.statistic is None else len(self.statistic.parts)

    @property
    def scalar(self) -> bool:
        """Whether a release is one number."""
        return self.keys is None and self.norm is None and self.statistic is None

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
        return max(map(abs, self.lane_units))

    @cached_property
    def lane_units(self) -> tuple[int, int]:
        """The smallest and the largest number of units that one record adds to one total."""
        if self.statistic is None:
            return self.low_unit, self.high_unit
        return 0, self.statistic.whole(self.high_unit - self.low_unit)

    @property
    def lane_bounds(self) -> tuple[float, float]:
        """The same in the unit of the totals, before rounding to the grid where there is one."""
        if self.statistic is None:
            return self.low, self.high
        return 0.0, self.lane_units[1] * self.resolution

    # Records ---------------------------------------------------------------------------------

    @cached_property
    def _coded(self) -> CodedSpread | None:
        """The statistic, if its records have codes instead of units of the grid."""
        return self.statistic if isinstance(self.statistic, CodedSpread) else None

    def rule(
        self,
        value: Any,
        clip: Callable[[Any, float, float], Any],
        floor: Callable[[Any], Number],
    ) -> Number:
        """The units of a finite number.  This is the only definition of the rule.

        `clip` and `floor` choose the arithmetic: Python, numpy, or Spark expressions.  All use
        IEEE 754 doubles, so they agree to the last bit.
        """
        return floor(clip(value, self.low, self.high) / self.resolution + 0.5)

    def units(self, records: Any) -> Signed:
        """The integer that each record adds to its total; for vectors, one row per record.

        >>> Grid(low=0, high=1, resolution=0.25, largest_total=100).units([0.3, 7, 2**70, -1])
        array([1, 4, 4, 0])
        """
        if self._coded is not None:
            return self._coded.codes(spread.readable(records, self._coded.kind))
        if self.norm is None:
            return self._quantised(real_numbers.finite(records))
        return vectors.units(
            records, width=self.width, norm_unit=self.norm_unit, resolution=self.resolution
        )

    def spread(self, cells: Signed, units: Signed) -> tuple[Signed, Signed]:
        """The totals that records change, and by how much: cell · parts + part, and units.

        `cells` numbers steps and keys, and `units` are the records' own, as `units` returns them.
        """
        if self.statistic is None:
            return cells, units
        low = self.low_unit if self._coded is None else 0
        lanes, added = self.statistic.lanes(units - low, self.high_unit - self.low_unit)
        return (cells[:, None] * self.parts + lanes).reshape(-1), added.reshape(-1)

    def _quantised(self, numbers: Floats) -> Signed:
        column = numbers.reshape(-1)
        units = np.empty(column.shape, dtype=np.int64)
        for start in range(0, len(column), _PIECE):
            piece = slice(start, start + _PIECE)
            units[piece] = self.rule(column[piece], np.clip, np.floor)
        return units.reshape(numbers.shape)

    def quantise(self, records: Any) -> Floats:
        """The records in their own unit, clipped and rounded to the grid."""
        return np.multiply(self.units(records), self.resolution, dtype=np.float64)

    def record_sum(self, records: Any) -> int:
        """The total of a step in units, if a release is one number."""
        if type(records) is float:  # the common case first, because a live step is short
            return integer_totals.single(self._number(records), most=self.largest_total)
        units = self._quantised(_column(records))
        total = int(unit_sums.summed(units, largest=self.largest_unit))
        return integer_totals.single(total, most=self.largest_total)

    def _number(self, record: float) -> int:
        """One record in units, like `units` but without arrays."""
        if not math.isfinite(record):
            real_numbers.finite(record)  # raises
        return int(self.rule(record, _clipped, math.floor))

    def record_sums(self, records: Any) -> Signed:
        """The totals of a step in units, one per key or coordinate."""
        if self.statistic is not None:
            totals = self._spread_sums(records)
        elif self.keys is None:
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

    def _spread_sums(self, records: Any) -> Signed:
        sums = unit_sums.UnitSums(self.lanes, largest=self.largest_unit)
        if self.keys is None:
            several = [] if real_numbers.nothing(records) else [(0, records)]
        else:
            several = list(self._by_lane({} if real_numbers.nothing(records) else records))
        for key, of_key in several:
            if real_numbers.nothing(of_key):
                continue
            units = self.units(of_key)
            if units.ndim > 1:
                raise InvalidValue(
                    "must be one record or a column",
                    argument="records",
                    got=f"{units.ndim} dimensions",
                )
            units = units.reshape(-1)
            sums.add(*self.spread(np.full(len(units), key), units))
        return sums.totals

    # Totals that the caller has summed -------------------------------------------------------

    def total(self, total: Any) -> int:
        """The total of a step in units, if a release is one number; it must be on the grid."""
        if type(total) is float:  # the common case first, because a live step is short
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
        """The totals of a step in units, given per lane or by key; they must be on the grid."""
        if self.keys is not None and self.statistic is None and isinstance(totals, Mapping):
            row = np.zeros(self.lanes, dtype=np.int64)
            for lane, total in self._by_lane(totals):
                row[lane] = self.total(total)
            return row
        return declared_totals.row(totals, self.lanes, self.resolution, self.largest_total)

    def block(self, totals: Any) -> Signed:
        """The totals of many steps, (n,) or (n, lanes), in units with shape (n, lanes)."""
        return declared_totals.block(totals, self.lanes, self.resolution, self.largest_total)

    # Keys ------------------------------------------------------------------------------------

    @cached_property
    def lane_of(self) -> dict[str, int]:
        """The lane of each key."""
        return {key: lane for lane, key in enumerate(self.keys or ())}

    def _by_lane(self, given: Any) -> Iterator[tuple[int, Any]]:
        """The lane of each given key, and its value or values."""
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
