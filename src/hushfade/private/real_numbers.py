"""Conversion of values of any type to arrays of real numbers.

The errors name types and shapes only.  They never contain a value, because the values are records
or totals of records.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import InvalidType, InvalidValue

Floats = NDArray[np.float64]

_DEEPEST = 64  # dimensions of a numpy array
_PLAIN = frozenset((int, float, np.int64, np.float64))  # most values have these types


def array(values: Any, name: str) -> NDArray[Any]:
    """The values as an array of integers or floats, unchanged."""
    numbers = _converted(values, name)
    if numbers is None or numbers.dtype.kind not in "iuf":
        raise _not_real(numbers, name)
    return numbers


def finite(values: Any, name: str = "records") -> Floats:
    """The values as finite float64.  An integer becomes the nearest float64, whatever its size.

    Rounding to the nearest float64 is monotone, so clipping its result to bounds that are float64
    gives the same number as clipping the integer itself.  A number beyond the range of float64,
    such as 1e999 or 10^400, is rejected in the same way as an infinity.

    >>> finite([2**70, 0.5])
    array([1.18059162e+21, 5.00000000e-01])
    """
    floats = nearest(values, name)
    if not np.isfinite(floats).all():
        raise InvalidValue("must be finite numbers", argument=name, got="nan or an infinity")
    return floats


def nearest(values: Any, name: str) -> Floats:
    """The nearest float64 of each value, infinite beyond the range of float64."""
    numbers = _converted(values, name)
    if numbers is None or numbers.dtype.kind == "O":
        if isinstance(values, dict):
            remedy = "this plan has no keys, so pass the numbers alone"
            raise InvalidType("must not be a mapping", argument=name, remedy=remedy)
        numbers = _large_integers(values, name)
    if numbers.dtype.kind not in "iuf":
        raise _not_real(numbers, name)
    return numbers.astype(np.float64, copy=False)


def nothing(records: Any) -> bool:
    """Whether `records` is an empty sequence of any type."""
    if isinstance(records, np.ndarray):
        return bool(records.shape[:1] == (0,))
    return isinstance(records, list | tuple) and len(records) == 0


def _converted(values: Any, name: str) -> NDArray[Any] | None:
    """The values as a numpy array; None if numpy cannot convert them."""
    if isinstance(values, np.ma.MaskedArray):
        remedy = "leave out the values that do not count"
        raise InvalidType("must not be masked", argument=name, remedy=remedy)
    if isinstance(values, list | tuple) and _has_truth_value(values):
        raise InvalidType("must be real numbers", argument=name, got="bool")
    try:
        return np.asarray(values)
    except Exception:  # its message might contain a value, so do not raise from here
        return None


def _has_truth_value(values: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Whether nested lists contain a truth value.

    numpy reads truth values in a list with numbers as 0 and 1, but gives a list of truth values
    alone another type, which is rejected.  So one record would decide whether another is accepted.
    numpy itself rejects lists that are nested too deeply.
    """
    if depth > _DEEPEST or set(map(type, values)) <= _PLAIN:
        return False
    return any(_is_truth_value(value, depth) for value in values if type(value) not in _PLAIN)


def _is_truth_value(value: Any, depth: int) -> bool:
    """Whether the value is a truth value, an array of truth values, or a list that contains one."""
    if isinstance(value, list | tuple):
        return _has_truth_value(value, depth + 1)
    with suppress(Exception):  # its message might contain a value
        return np.asarray(value).dtype.kind == "b"
    return False


def _large_integers(values: Any, name: str) -> NDArray[Any]:
    """The array of nested lists of numbers, some of which are integers of more than 64 bits."""
    floats = _rounded(values, name)
    with suppress(ValueError):  # lists of different lengths; the message might contain a value
        return np.array(floats, dtype=np.float64)
    raise _not_real(None, name)


def _rounded(values: Any, name: str) -> Any:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [_rounded(value, name) for value in values]
    if isinstance(values, bool) or not isinstance(values, int | float | np.integer | np.floating):
        raise _not_real(None, name)
    try:
        return float(values)
    except OverflowError:
        return np.inf if values > 0 else -np.inf


def _not_real(numbers: NDArray[Any] | None, name: str) -> InvalidType:
    if numbers is None or numbers.dtype.kind == "O":
        return InvalidType("must be real numbers of one shape", argument=name)
    return InvalidType("must be real numbers", argument=name, got=numbers.dtype.type.__name__)
