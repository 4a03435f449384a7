"""The root of a function of one variable between two ends, by Brent's method.

The code follows `scipy.optimize.brentq`, operation by operation, so that roots agree to the last
bit.  Importing scipy.optimize would take longer than everything else in a short command.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from hushfade.errors import InvalidValue

_RELATIVE = 4.0 * sys.float_info.epsilon
_MOST = 100  # the most steps, as in scipy


def root_of(
    function: Callable[[float], float], low: float, high: float, *, tolerance: float = 2e-12
) -> float:
    """A zero of a continuous function that has different signs at `low` and `high`.

    The error is at most `tolerance` plus four units in the last place (Brent 1973, chapter 4).

    >>> round(root_of(lambda x: x * x - 2.0, 0.0, 2.0), 12)
    1.414213562373
    """
    before, now = low, high
    f_before, f_now = function(before), function(now)
    if f_before == 0.0 or f_now == 0.0:
        return before if f_before == 0.0 else now
    if not f_before * f_now < 0.0:
        raise InvalidValue("the function must have different signs at low and high")
    other = f_other = step = last_step = 0.0
    for _ in range(_MOST):
        if f_before != 0.0 and f_now != 0.0 and (f_before < 0.0) != (f_now < 0.0):
            other, f_other = before, f_before
            step = last_step = now - before
        if abs(f_other) < abs(f_now):  # keep the better end in `now`
            before, now, other = now, other, now
            f_before, f_now, f_other = f_now, f_other, f_now
        least = (tolerance + _RELATIVE * abs(now)) / 2.0
        half = (other - now) / 2.0
        if f_now == 0.0 or abs(half) < least:
            return now
        if abs(last_step) > least and abs(f_now) < abs(f_before):
            if before == other:  # the secant
                attempt = -f_now * (now - before) / (f_now - f_before)
            else:  # the inverse parabola
                slope = (f_before - f_now) / (before - now)
                other_slope = (f_other - f_now) / (other - now)
                attempt = (
                    -f_now
                    * (f_other * other_slope - f_before * slope)
                    / (other_slope * slope * (f_other - f_before))
                )
            if 2.0 * abs(attempt) < min(abs(last_step), 3.0 * abs(half) - least):
                last_step, step = step, attempt
            else:
                last_step = step = half
        else:
            last_step = step = half
        before, f_before = now, f_now
        now += step if abs(step) > least else math.copysign(least, half)
        f_now = function(now)
    raise InvalidValue("no root was found: the function must be continuous")
