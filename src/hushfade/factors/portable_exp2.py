"""Powers of two with the same bits on every machine.

numpy has variants of exp2 for different processors, and their last bits differ.  This function uses
only additions and multiplications of whole columns, whose results IEEE 754 defines.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import numpy as np

from hushfade.check import Column

_PARTS = 32  # parts of an octave
_LN2 = 0.6931471805599453
_SERIES = (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0)  # series of (e^t - 1) / t, last term first


def exp2(x: Column) -> Column:
    """2^x for -1 ≤ x ≤ 0, with an error below 0.6 units in the last place.

    2^x = 2^(i/32) e^t with the nearest i and |t| ≤ ln 2 / 64; six terms of the series give e^t.

    >>> exp2(np.array([-1.0, -0.5])).tolist()
    [0.5, 0.7071067811865476]
    """
    high, low = _powers()
    t = -_PARTS * x
    nearest = np.rint(t)
    t -= nearest
    t *= -_LN2 / _PARTS
    series = np.full(len(x), _SERIES[0])
    for coefficient in _SERIES[1:]:
        series *= t
        series += coefficient
    series *= t
    place = nearest.astype(np.intp)
    base = high[place]
    series *= base
    series += low[place]
    series += base
    return series


@cache
def _powers() -> tuple[Column, Column]:
    """2^(-i/32) for i ≤ 32, each as the sum of two float64."""
    with localcontext() as context:
        context.prec = 40
        exact = [Decimal(2) ** (Decimal(-i) / _PARTS) for i in range(_PARTS + 1)]
        high = [float(value) for value in exact]
        low = [float(value - Decimal(h)) for value, h in zip(exact, high, strict=True)]
    return np.array(high), np.array(low)
