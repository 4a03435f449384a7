"""Checks of arguments: each function returns its argument, or raises an error.

The error states the name, the rule and the value.  Rules are written positively (`not x > 0`), so
that NaN breaks them.  Errors may show values because they are parameters; a record's value never
passes through this module.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import InvalidType, InvalidValue

Column: TypeAlias = NDArray[np.float64]
"""A one-dimensional float64 array: weights, coefficients, taps."""

ComplexColumn: TypeAlias = NDArray[np.complex128]
"""A one-dimensional complex array: values of a series on the circle or a cut."""

Matrix: TypeAlias = NDArray[np.float64]
"""A two-dimensional float64 array: a complete factor."""

Signed: TypeAlias = NDArray[np.int64]
"""Integers on a grid: totals, taps, noise."""

Unsigned: TypeAlias = NDArray[np.uint64]
"""Words of 64 random bits, and the thresholds that they are compared with."""

WIDEST = 1e306  # of the range of records


def real(**argument: Any) -> float:
    """The single keyword's value as a finite float.

    >>> real(power=2)
    2.0
    """
    name, value = _only(argument)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidType("must be a real number", argument=name, got=_shown(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidValue("must be finite", argument=name, got=_shown(value))
    return number


def positive(**argument: Any) -> float:
    """The single keyword's value as a finite float > 0.

    >>> positive(half_life=float("nan"))
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: half_life must be > 0, got nan
    """
    name, value = _only(argument)
    if isinstance(value, float | np.floating) and not value > 0:
        raise InvalidValue("must be > 0", argument=name, got=_shown(value))
    number = real(**argument)
    if not number > 0:
        raise InvalidValue("must be > 0", argument=name, got=_shown(value))
    return number


def probability(**argument: Any) -> float:
    """The single keyword's value as a float between 0 and 1, both excluded.

    >>> probability(delta=1)
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: delta must be in (0, 1), got 1
    """
    name, value = _only(argument)
    number = real(**argument)
    if not 0 < number < 1:
        raise InvalidValue("must be in (0, 1)", argument=name, got=_shown(value))
    return number


def bounds(low: Any, high: Any) -> tuple[float, float]:
    """The bounds of records as finite floats, if low < high.

    >>> bounds(0, 120)
    (0.0, 120.0)
    """
    low, high = real(low=low), real(high=high)
    if not low < high:
        raise InvalidValue("must be < high", argument="low", got=f"{low!r} and {high!r}")
    if not high - low <= WIDEST:
        raise InvalidValue(
            f"high - low must be at most {WIDEST:g}, so that errors are finite",
            got=f"{low!r} and {high!r}",
            remedy="use records in a larger unit",
        )
    return low, high


def count(*, least: int = 1, most: int | None = None, **argument: Any) -> int:
    """The single keyword's value as an int, at least `least` and at most `most`.

    >>> count(n=0)
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: n must be an integer >= 1, got 0
    """
    name, value = _only(argument)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InvalidType("must be an integer", argument=name, got=_shown(value))
    number = int(value)
    if not number >= least:
        raise InvalidValue(f"must be an integer >= {least}", argument=name, got=_shown(value))
    if most is not None and not number <= most:
        raise InvalidValue(f"must be an integer <= {most}", argument=name, got=_shown(value))
    return number


def coefficients(**argument: Any) -> Column:
    """The single keyword's value as a non-empty column of finite float64.

    >>> coefficients(f=[1, 0.5])
    array([1. , 0.5])
    """
    return _array(argument, "a sequence", "one dimension", 1)


def positive_start(**argument: Any) -> Column:
    """The single keyword's value as a column of `coefficients` whose first entry is > 0.

    >>> positive_start(f=[0, 1])
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: f must start with a coefficient > 0, got 0.0
    """
    column = coefficients(**argument)
    if not column[0] > 0:
        name, _ = _only(argument)
        raise InvalidValue("must start with a coefficient > 0", argument=name, got=column[0])
    return column


def matrix(**argument: Any) -> Matrix:
    """The single keyword's value as a non-empty matrix of finite float64.

    >>> matrix(A=[[1, 0], [1, 1]])
    array([[1., 0.],
           [1., 1.]])
    """
    return _array(argument, "a matrix", "two dimensions", 2)


def settle(new: object, **checked: Any) -> None:
    """Give a frozen dataclass the checked values of its fields.

    Only its own `__init__` or `__post_init__` calls this, before anyone else sees the object.
    """
    for name, value in checked.items():
        object.__setattr__(new, name, value)


def _array(argument: dict[str, Any], kind: str, shape: str, dimensions: int) -> Column:
    name, value = _only(argument)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise InvalidType(f"{name} must be {kind} of real numbers") from error
    if array.dtype.kind not in "iuf":
        raise InvalidType(
            f"must be {kind} of real numbers", argument=name, got=f"dtype {array.dtype}"
        )
    if array.ndim != dimensions:
        raise InvalidValue(f"must have {shape}", argument=name, got=f"shape {array.shape}")
    if not array.size > 0:
        raise InvalidValue("must not be empty", argument=name, got=f"shape {array.shape}")
    numbers = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(numbers))
    if bad.size:
        place = tuple(bad[0].tolist())
        where = place[0] if dimensions == 1 else place
        raise InvalidValue("must be finite", argument=name, got=f"{array[place]} at index {where}")
    return numbers


def _only(argument: dict[str, Any]) -> tuple[str, Any]:
    ((name, value),) = argument.items()
    return name, value


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else text[:57] + "..."
