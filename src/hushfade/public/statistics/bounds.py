"""The declared bounds of a statistic."""

from __future__ import annotations

import math

from hushfade import check
from hushfade.errors import InvalidValue


def checked_bounds(low: float, high: float) -> tuple[float, float]:
    """The bounds as floats, if low < high."""
    low, high = check.real(low=low), check.real(high=high)
    if not low < high:
        raise InvalidValue("must be < high", argument="low", got=f"{low!r} and {high!r}")
    if not math.isfinite(high - low):
        raise InvalidValue("high - low must be finite", got=f"{low!r} and {high!r}")
    return low, high
