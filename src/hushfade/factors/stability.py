"""Whether the left factor of a pair stays bounded: where right has zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.errors import InvalidValue, Unstable
from hushfade.factors.left_series import left_series
from hushfade.factors.taps import IntegerTaps
from hushfade.numerics import stepped_zeros, unit_disk

if TYPE_CHECKING:
    from hushfade.decays import Decay
    from hushfade.factors.factorization import Factorization


def check_stable(pair: Factorization) -> None:
    """Raise Unstable if the left factor grows geometrically.

    It never grows if right has no zero inside the disk.  Zeros on the circle are accepted if left
    ends (with a window's own weights as right, left = 1).  Zeros inside are accepted if left does
    not grow within the horizon.  A zero inside that g shares is rejected, too, because it does not
    cancel in floating point.
    """
    if _zeros_inside(pair) == 0:
        return
    support = pair.taps.support
    assert support is not None
    n = pair.horizon or 4 * support + 1024
    try:
        left = np.abs(left_series(pair, n))
    except InvalidValue:  # beyond float64 within the first n steps
        left = np.array([0.0, np.inf])
    early, late = float(np.max(left[: len(left) // 2])), float(np.max(left[len(left) // 2 :]))
    if not late <= (1e-9 if pair.horizon is None else 4.0) * early:
        raise Unstable(
            "right must have no zero inside the unit disk, because its left factor would grow "
            "without bound: use more bits, or a horizon within which it does not grow"
        )


def _zeros_inside(pair: Factorization) -> int | None:
    """The number of zeros of right inside the disk; None where one is too near the circle."""
    taps = pair.taps
    if isinstance(taps, IntegerTaps):
        if unit_disk.falls(taps.values):
            return 0
        count = stepped_zeros.zeros_inside(taps.jumps, taps.values, _period(pair.decay))
        if count is not None:
            return count
    assert taps.support is not None
    return unit_disk.zeros_inside(taps.first(taps.support))


def _period(decay: Decay) -> int | None:
    """The lag with which the jumps of right nearly repeat, if there is one: the longest window."""
    longest = max(part.window or 0 for _, part in decay.terms)
    return longest if longest > 2 else None
