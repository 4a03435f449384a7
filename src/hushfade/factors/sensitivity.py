"""The ℓ2 sensitivity of R x to one person's records, for one participation or for several.

Sums use numpy's own loops, whose order does not depend on the machine.  The order in a BLAS does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.factors import fft_products, unit_disk
from hushfade.factors.cached_columns import sum_of_squares


@dataclass(frozen=True)
class Sensitivity:
    """The largest ℓ2 change of R x if one record changes by 1, and whether the value is exact."""

    value: float
    exact: bool  # True: exact to the last digits of float64; False: a proven upper bound

    def __float__(self) -> float:
        return self.value


def once(r: Column, gain: Column) -> float:
    """An upper bound on max_s √(Σ_k gain_{s+k}² r_k²), the largest column norm of R.

    >>> round(once(np.array([1.0, 0.5]), np.array([1.0, 2.0])) ** 2, 9)  # 1 + 2²/4, or 2²
    4.0
    """
    n = len(r)
    squares = gain[::-1] ** 2.0, r**2
    # add a bound on the error of the FFT, which is relative to its largest terms
    slack = 2.0**-50 * math.log2(2 * n) * math.prod(map(_norm, squares))
    return math.sqrt(float(np.max(fft_products.plain_product(*squares, slice(0, n)))) + slack)


def repeated(r: Column, k: int, b: int) -> Sensitivity:
    """The largest ‖Σ_i ±R e_{s_i}‖ of up to k columns at least b apart, and whether it is exact.

    The stream has len(r) steps.  For r ≥ 0 that does not increase, the result is
    ‖Σ_{i<k} r shifted by ib‖ (Kalinin & Lampert 2024).  Otherwise it is an upper bound, from the
    sum over i and j of the largest correlation of |r| at lags ≥ |i-j| b.
    Cost: O(len(r)), or one FFT product.

    >>> repeated(np.array([1.0, 0.5, 0.0]), 2, 1)  # ‖(1, 1.5, 0.5)‖
    Sensitivity(value=1.8708286933869707, exact=True)
    """
    if k == 1:
        return Sensitivity(_norm(r), exact=True)
    if not unit_disk.falls(r):
        return Sensitivity(_bound(r, k, b), exact=False)
    b = min(b, len(r))
    total = _endless(r, b)
    total[k * b :] -= total[: max(len(r) - k * b, 0)].copy()
    return Sensitivity(_norm(total), exact=True)


def forever(r: Column, k: int, b: int) -> Sensitivity:
    """The same as `repeated` for an endless stream, with the taps r, then zeros.

    If q columns overlap, each column after the q-th adds one period of the periodic sum.

    >>> forever(np.array([1.0, 0.5]), 2, 1).value, forever(np.array([1.0, 0.5]), 10**18, 1).value
    (1.8708286933869707, 1500000000.0)
    """
    b = min(b, len(r))  # with a larger b they do not overlap, either
    if not unit_disk.falls(r):
        return Sensitivity(_bound(r, k, b), exact=False)
    q = min(k, -(-len(r) // b))
    first = repeated(np.concatenate([r, np.zeros((q - 1) * b)]), q, b).value
    period = _endless(r, b)[-b:]
    return Sensitivity(math.hypot(first, math.sqrt(k - q) * _norm(period)), exact=True)


def _norm(column: Column) -> float:
    return math.sqrt(sum_of_squares(column))


def _endless(r: Column, b: int) -> Column:
    """Σ_{i≥0} r shifted by ib, within len(r) steps; exact if r consists of multiples of a unit."""
    n = len(r)
    padded = np.zeros((-(-n // b), b))
    padded.ravel()[:n] = r
    return np.cumsum(padded, axis=0).ravel()[:n]


def _bound(r: Column, k: int, b: int) -> float:
    """√(Σ_{i,j<k} of the largest correlation of |r| at lags ≥ |i-j| b)."""
    n, size = len(r), np.abs(r)
    correlation = fft_products.plain_product(size[::-1], size, slice(0, n))[
        ::-1
    ]  # Σ_i |r_i| |r_{i+d}|
    beyond = np.maximum.accumulate(correlation[::-1])[::-1]  # the largest at lags ≥ d
    meeting = beyond[b::b][: k - 1]
    times = 2.0 * (float(k) - np.arange(1, len(meeting) + 1))
    return math.sqrt(k * float(correlation[0]) + float(np.sum(times * meeting)))
