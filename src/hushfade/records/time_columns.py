"""The column of times of a batch, in nanoseconds since 1970, and a code per row without a time.

A column has numbers in a declared unit, texts, or values of a time type.  A time beyond int64,
which covers 1677 to 2262, becomes the first or last nanosecond of int64, outside all declared
steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushfade.check import Column, Signed
from hushfade.errors import InvalidValue, Malformed
from hushfade.records import decimal_texts, time_texts
from hushfade.records.arrow import Values, pa
from hushfade.records.batch import Batch
from hushfade.records.faults import EMPTY, NOT_A_NUMBER, WITH_ZONE, WITHOUT_ZONE, Codes
from hushfade.records.parse_columns import filled, nulls, numeric, plain
from hushfade.records.texts import parts

TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}
_DAY = 86_400 * 10**9
_FIRST, _LAST = -(2**63), 2**63 - 1


def times(batch: Batch, name: str, *, unit: str | None, zoned: bool) -> tuple[Signed, Codes]:
    """The time of each row, and a code for each row without one.

    With a `unit` times are numbers in UTC.  Without, they are UTC if `zoned`, and local times
    otherwise.  A time with an unexpected zone, or without an expected one, is a fault.
    """
    column = plain(batch.columns["time"])
    codes: Codes = np.zeros(len(column), dtype=np.uint8)
    found = (
        _of_calendar(batch, name, column, zoned, codes)
        if unit is None
        else _since_1970(batch, name, column, unit, codes)
    )
    codes[nulls(column)] = EMPTY
    return found, codes


def first_is_zoned(batch: Batch, unit: str | None) -> bool:
    """Whether the time of the first row has a time zone."""
    column = plain(batch.columns["time"])
    if pa.types.is_timestamp(column.type):
        return _zoned(column.type)
    if unit is not None or not pa.types.is_string(column.type):
        return unit is not None
    data, offsets = parts(column.slice(0, 1))
    return bool(time_texts.has_zone(data[offsets[0] : offsets[-1]]))


def check_unit(unit: str | None) -> None:
    """Raise unless it is a unit of time, or None."""
    if unit is not None and unit not in TIME_UNITS:
        raise InvalidValue(
            f"must be one of {', '.join(TIME_UNITS)}", argument="time_unit", got=repr(unit)
        )


def _of_calendar(batch: Batch, name: str, column: Values, zoned: bool, codes: Codes) -> Signed:
    """Written or typed times."""
    kind = column.type
    if pa.types.is_string(kind):
        found: Signed = np.zeros(len(column), dtype=np.int64)
        time_texts.nanoseconds(*parts(column), zoned, found, codes)
        return found
    if numeric(kind):
        raise InvalidValue(
            f"numeric times need a unit (time_unit, --time-unit): is {name!r} in s, ms, us or ns?"
        )
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be times")
    has_zone = pa.types.is_timestamp(kind) and _zoned(kind)
    if has_zone != zoned:
        codes[:] = WITH_ZONE if has_zone else WITHOUT_ZONE
    if pa.types.is_date32(kind):
        return _multiplied(_integers(column.cast(pa.int32())), _DAY)
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    return _multiplied(_integers(column.cast(pa.int64())), TIME_UNITS[unit])


def _since_1970(batch: Batch, name: str, column: Values, unit: str, codes: Codes) -> Signed:
    """Numbers of the unit."""
    kind = column.type
    if pa.types.is_integer(kind):
        return _multiplied(_integers(column), TIME_UNITS[unit])
    if pa.types.is_floating(kind):
        if unit == "ns" or not pa.types.is_float64(kind):
            raise InvalidValue(
                f"column {name!r} must have integers",
                got=f"{kind}, which cannot hold times in {unit}",
                remedy="cast it to int64 where it comes from. A missing time turns a column of "
                "integers into floats",
            )
        return _of_floats(filled(column, 0), unit, codes)
    if not (pa.types.is_string(kind) or pa.types.is_decimal(kind)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be numbers")
    return _of_texts(column.cast(pa.string()), unit, codes)


def _of_texts(column: Values, unit: str, codes: Codes) -> Signed:
    found: Signed = np.zeros(len(column), dtype=np.int64)
    decimal_texts.floors(*parts(column), _PLACES[unit], found, codes)
    return found


def _of_floats(numbers: Column, unit: str, codes: Codes) -> Signed:
    """The texts of floats: the shortest decimal text that means the same float."""
    codes[~np.isfinite(numbers)] = NOT_A_NUMBER
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63)
    found = _multiplied(np.where(whole, numbers, 0.0).astype(np.int64), TIME_UNITS[unit])
    rest = np.flatnonzero(~whole & (codes == 0))
    if len(rest):
        none: Codes = np.zeros(len(rest), dtype=np.uint8)
        found[rest] = _of_texts(pa.array(numbers[rest]).cast(pa.string()), unit, none)
    return found


def _integers(column: Values) -> Signed:
    """A column of integers as int64, with 0 for nulls; larger numbers become the last int64."""
    numbers = filled(column, 0)
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, _LAST)
    return numbers.astype(np.int64)


def _multiplied(numbers: Signed, factor: int) -> Signed:
    """The numbers times the factor, within int64."""
    found: Signed = np.clip(numbers, -(_LAST // factor), _LAST // factor) * factor
    found[numbers > _LAST // factor] = _LAST
    found[numbers < -(_LAST // factor)] = _FIRST
    return found


def _zoned(kind: Any) -> bool:
    """Whether the timestamp type has a zone.  In any zone the numbers are UTC."""
    try:
        return kind.tz is not None
    except UnicodeDecodeError:  # its name is no text
        return True
