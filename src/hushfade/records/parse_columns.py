"""A batch's columns as arrays: numbers, times, keys, persons; or a refusal that names the place.

Nothing is repaired: '1_000', ' 1', 'nan', '1e999' and full-width digits are no numbers.  No message
carries the content.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Signed
from hushfade.errors import InvalidValue, Malformed
from hushfade.records.arrow import Values, compute, pa
from hushfade.records.batch import Batch

Mask = NDArray[np.bool_]
Found = TypeVar("Found")
TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_FARTHEST = 9_223_372_036_000_000_000  # nanoseconds: 11 April 2262
_PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}


def numbers(batch: Batch, name: str, *, skip_empty: bool) -> tuple[Column, Mask]:
    """The values, and which rows have one.  An empty value is refused, or skipped if allowed."""
    column = _plain(batch.columns["value"])
    text = pa.types.is_string(column.type)
    if not (text or _numeric(column.type)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be numbers")
    missing = _empty(column)
    present = ~_mask(missing)
    if not (skip_empty or present.all()):
        _refuse(batch, name, int(np.argmin(present)), "is empty")
    filled = compute.if_else(missing, "0", column) if text else column
    found = _read(filled, _float64)
    if found is None:
        _refuse(batch, name, _first_bad(filled, _float64), "must be a number")
    finite = np.isfinite(found)
    if not finite.all():
        _refuse(batch, name, int(np.argmin(finite)), "must be a finite number")
    return found, present


def times(batch: Batch, name: str, *, unit: str | None) -> tuple[Signed, bool]:
    """The times in nanoseconds since 1970, and whether they have a zone."""
    column = _plain(batch.columns["time"])
    missing = _mask(_empty(column))
    if missing.any():
        _refuse(batch, name, int(np.argmax(missing)), "is empty")
    if unit is not None:
        return _since_1970(batch, name, column, unit), True
    if _numeric(column.type):
        raise InvalidValue(f"times in numbers need a unit: is {name!r} in s, ms, us or ns?")
    return _written(batch, name, column)


def _written(batch: Batch, name: str, column: Values) -> tuple[Signed, bool]:
    kind = column.type
    zones: tuple[str | None, ...] = (None, "UTC")
    if pa.types.is_timestamp(kind):
        zones = ("UTC",) if _zoned(kind) else (None,)
    elif not (pa.types.is_string(kind) or pa.types.is_date(kind)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be times")
    for zone in zones:
        found = _read(column, partial(_timestamps, zone=zone))
        if found is not None:
            return found, zone is not None
    # as far as the reading that goes farther
    bad = max(_first_bad(column, partial(_timestamps, zone=zone)) for zone in zones)
    one = column.slice(bad, 1)
    mixed = any(_first_bad(one, partial(_timestamps, zone=zone)) for zone in zones)
    what = "must have a zone where others have, or none" if mixed else "must be a time"
    return _refuse(batch, name, bad, what)


def _zoned(kind: Any) -> bool:
    """Has the timestamp a zone?  Whichever it is, the numbers are UTC."""
    try:
        return kind.tz is not None
    except UnicodeDecodeError:  # its name is no text
        return True


def _since_1970(batch: Batch, name: str, column: Values, unit: str) -> Signed:
    if unit not in TIME_UNITS:
        raise InvalidValue(f"time unit must be one of {', '.join(TIME_UNITS)}", got=repr(unit))
    if not (pa.types.is_string(column.type) or _numeric(column.type)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be numbers")

    def counted(part: Values) -> Signed:
        if pa.types.is_integer(part.type):
            whole = compute.multiply_checked(part.cast(pa.int64()), TIME_UNITS[unit])
            return np.asarray(whole.to_numpy())
        exact = part.cast(pa.decimal128(19, _PLACES[unit]))  # to the nanosecond
        scaled = compute.multiply(exact, pa.scalar(Decimal(TIME_UNITS[unit]), pa.decimal128(10, 0)))
        return np.asarray(compute.floor(scaled).cast(pa.int64()).to_numpy())

    found = _read(column, counted)
    if found is None:
        what = f"must be a number of {unit} since 1970, before 2262"
        _refuse(batch, name, _first_bad(column, counted), what)
    return found


def keys(batch: Batch, name: str, declared: tuple[str, ...]) -> Signed:
    """The place of each row's key among those declared, -1 for any other, and for none."""
    column = _text(batch, "key", name)
    places = compute.index_in(column, value_set=pa.array(declared, pa.string()))
    return np.asarray(compute.fill_null(places, -1).cast(pa.int64()).to_numpy())


class People:
    """Numbers people in the order in which they are first seen, from batch to batch.

    A person is told by text, byte for byte: the number 7 of one file is the '7' of another.  If
    they were two, one person would count twice.  Memory: the text of each.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def numbers(self, batch: Batch, name: str) -> Signed:
        """A number for each row's person; those not seen before get the next."""
        column = _text(batch, "user", name)
        missing = _mask(_empty(column))
        if missing.any():
            _refuse(batch, name, int(np.argmax(missing)), "is empty: whose record is it?")
        whole = pa.concat_arrays([pa.array([], pa.string()), *column.chunks])
        coded = whole.dictionary_encode()
        seen = _decoded(coded.dictionary)
        if seen is None:
            _refuse(batch, name, _first_bad(column, _validated), "must be UTF-8")
        known = self._known
        people = [known.setdefault(person, len(known)) for person in seen]
        found: Signed = np.array(people, dtype=np.int64)[coded.indices.to_numpy()]
        return found


def _text(batch: Batch, role: str, name: str) -> Values:
    """Text, or whole numbers as text: what names a key or a person."""
    column = _plain(batch.columns[role])
    if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be text or whole numbers")
    return column.cast(pa.string())


def _empty(column: Values) -> Values:
    """Which rows have nothing: null, or an empty text."""
    if pa.types.is_string(column.type):
        return compute.fill_null(compute.equal(column, ""), True)
    return compute.is_null(column)


def _plain(column: Values) -> Values:
    """Dictionaries, the other kinds of string, and nulls alone, as plain strings."""
    if pa.types.is_dictionary(column.type):
        with suppress(pa.ArrowNotImplementedError):  # of lists and the like: refused as it is
            column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):  # a column without any value is of no kind
        column = column.cast(pa.string())
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def _numeric(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _float64(column: Values) -> Column:
    """The nearest float64 of each value."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own conversion is not always the nearest
    return np.asarray(compute.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy())


def _timestamps(column: Values, zone: str | None) -> Signed:
    """Nanoseconds since 1970; years that these do not reach count as the first or last they do."""
    exact = _read(column, partial(_in_units, unit="ns", zone=zone))
    if exact is not None:
        return exact
    coarse = _in_units(column, unit="us", zone=zone)
    return np.asarray(np.clip(coarse, -_FARTHEST // 1000, _FARTHEST // 1000) * 1000)


def _in_units(column: Values, unit: str, zone: str | None) -> Signed:
    return np.asarray(column.cast(pa.timestamp(unit, zone)).cast(pa.int64()).to_numpy())


def _decoded(texts: Values) -> list[str] | None:
    """The texts, or None: the error of those that are not UTF-8 would carry one."""
    with suppress(UnicodeDecodeError):
        found: list[str] = texts.to_pylist()
        return found
    return None


def _validated(column: Values) -> bool:
    column.validate(full=True)
    return True


def _mask(flags: Values) -> Mask:
    return np.asarray(flags.to_numpy(), dtype=np.bool_)


def _read(column: Values, read: Callable[[Values], Found]) -> Found | None:
    """What is read, or None: the error of a column that cannot be read would show a value."""
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return read(column)
    return None


def _first_bad(column: Values, read: Callable[[Values], object]) -> int:
    """The first row that cannot be read, by halving; the number of rows if all can."""
    low, high = 0, len(column)
    while low < high:
        middle = (low + high) // 2
        if _read(column.slice(low, middle + 1 - low), read) is None:
            high = middle
        else:
            low = middle + 1
    return low


def _refuse(batch: Batch, name: str, row: int, what: str) -> NoReturn:
    raise Malformed(f"{batch.place(row)}, column {name!r}: {what}")
