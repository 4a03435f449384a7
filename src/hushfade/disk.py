"""Zeros of a real polynomial inside the unit disk, counted by the argument principle.

They decide stability: 1/r has bounded coefficients only if r has no zero with |x| < 1.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column

_FINEST = 1 << 22


def falls(column: Column) -> bool:
    """Is the column non-negative and non-increasing?

    Then it has no zero with |x| < 1 (Eneström 1893, Kakeya 1912): (1 - x) p(x) equals
    p_0 - Σ (p_{k-1} - p_k) x^k, and the sum stays below p_0 there.

    >>> falls(np.array([1.0, 0.5, 0.5, 0.0])), falls(np.array([1.0, 0.5, 0.6]))
    (True, False)
    """
    return bool(column[-1] >= 0.0 and np.all(np.diff(column) <= 0.0))


def zeros_inside(column: Column) -> int | None:
    """The number of zeros with |x| < 1, None where a zero lies too near the circle to tell.

    Winding number of p(e^iθ) about 0, from samples so dense that the argument never turns by
    more than a quarter between two of them.  Requires p_0 ≠ 0.  Cost: an FFT of 16 times the
    degree, more if a zero is near the circle.

    >>> zeros_inside(np.array([1.0, 3.0])), zeros_inside(np.array([3.0, 1.0]))
    (1, 0)
    """
    from scipy import fft

    support = int(np.flatnonzero(column)[-1]) + 1
    taps = column[:support]
    if falls(taps):
        return 0
    size = 1 << (16 * support).bit_length()
    while size <= max(_FINEST, 1 << (17 * support).bit_length()):
        # The half circle is enough: p(conj x) = conj p(x).  The sign of θ is that of the FFT.
        values = fft.rfft(taps, size)
        if not np.all(np.abs(values) > 0.0):
            return None
        turns = np.angle(values[1:] / values[:-1])
        if np.max(np.abs(turns)) < np.pi / 2:
            return -round(float(np.sum(turns)) / np.pi)
        size *= 4
    return None
