"""By how much one person's change moves R x in ℓ2, for one appearance or for several."""

from __future__ import annotations

import math

import numpy as np

from hushfade import disk, fourier
from hushfade.check import Column


def once(r: Column, gain: Column) -> float:
    """The largest column norm of diag(gain) Toeplitz(r), from above: max_s √(Σ_k gain_{s+k}² r_k²).

    >>> round(once(np.array([1.0, 0.5]), np.array([1.0, 2.0])) ** 2, 9)  # 1 + 2²/4, or 2²
    4.0
    """
    n = len(r)
    squares = gain[::-1] ** 2.0, r**2
    # an FFT errs relative to its largest terms: its error bound is added
    slack = 2.0**-50 * math.log2(2 * n) * math.prod(map(np.linalg.norm, squares))
    return math.sqrt(float(np.max(fourier.plain_product(*squares, slice(0, n)))) + slack)


def repeated(r: Column, k: int, b: int) -> tuple[float, bool]:
    """The largest ‖Σ_i ±R e_{s_i}‖ of up to k columns at least b apart, within len(r) steps.

    And whether it is exact.  For r ≥ 0 that does not increase it is ‖Σ_{i<k} r shifted by ib‖
    (Kalinin & Lampert 2024).  Otherwise it is bounded by Σ_{i,j} of the largest correlation of |r|
    at lags ≥ |i-j| b.

    >>> repeated(np.array([1.0, 0.5, 0.0]), 2, 1)  # ‖(1, 1.5, 0.5)‖
    (1.8708286933869707, True)
    """
    if k == 1:
        return float(np.linalg.norm(r)), True
    n = len(r)
    if disk.falls(r):
        total = np.zeros(n)
        for i in range(k):
            total[i * b :] += r[: n - i * b]
        return float(np.linalg.norm(total)), True
    size = np.abs(r)
    correlation = fourier.plain_product(size[::-1], size, slice(0, n))[::-1]  # Σ_i |r_i| |r_{i+d}|
    beyond = np.maximum.accumulate(correlation[::-1])[::-1]  # the largest at lags ≥ d
    pairs = sum(2 * (k - m) * float(beyond[m * b]) for m in range(1, k) if m * b < n)
    return math.sqrt(k * float(correlation[0]) + pairs), False
