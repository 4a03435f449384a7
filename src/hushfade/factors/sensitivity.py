"""The ℓ2 sensitivity of R x to one person's records, for one participation or for several.

once, repeated, forever    in floats, for any taps
squared                    of integer taps: an integer, exact or a proven upper bound

No integer depends on a library whose last bits differ between machines.  So the noise that follows
from the sensitivity is the same on every machine.  Sums of floats use numpy's own loops, whose
order does not depend on the machine.  The order in a BLAS does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors import zeros
from hushfade.factors.columns import sum_of_squares
from hushfade.factors.power_series import plain_product
from hushfade.factors.taps import IntegerTaps

Numbers = TypeVar("Numbers", Column, Signed)

_MOST_PIECES = 4096  # up to this many pieces, all pairs are correlated one by one
_INT64 = 1 << 62  # smaller sums are safe in int64
_AT_ONCE = 1 << 20  # numbers in temporary arrays


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
    return math.sqrt(float(np.max(plain_product(*squares, slice(0, n)))) + slack)


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
    if not zeros.falls(r):
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
    if not zeros.falls(r):
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
    correlation = plain_product(size[::-1], size, slice(0, n))[::-1]  # Σ_i |r_i| |r_{i+d}|
    meeting = _largest_beyond(correlation, k, b)
    times = 2.0 * (float(k) - np.arange(1, len(meeting) + 1))
    return math.sqrt(k * float(correlation[0]) + float(np.sum(times * meeting)))


def _largest_beyond(correlation: Numbers, k: int, b: int) -> Numbers:
    """The largest correlation at lags ≥ b, at lags ≥ 2b, ..., for up to k columns."""
    largest: Numbers = np.maximum.accumulate(correlation[::-1])[::-1]
    return largest[b::b][: k - 1]


# Integers --------------------------------------------------------------------------------------


def squared(
    taps: IntegerTaps,
    *,
    gain: Signed | None = None,
    steps: int | None = None,
    participations: int = 1,
    separation: int = 1,
) -> int:
    """An upper bound on ‖Σ_i ±R e_{s_i}‖² over up to k columns that are at least b apart.

    R = diag(gain) Toeplitz(taps.integers) over the first `steps` steps, or over all steps.  The
    bound is exact for k = 1, and for taps ≥ 0 that never rise.  With a gain it comes from k times
    the norm of the largest column.

    >>> taps = IntegerTaps.of(np.array([2, 1]), bits=1)
    >>> squared(taps), squared(taps, participations=2)  # 2² + 1², 2² + 3² + 1²
    (5, 14)
    """
    k, b = participations, separation
    if steps is not None:
        k = min(k, 1 + (steps - 1) // b)
    if gain is not None:
        return k * k * largest_column(taps, gain)
    if k == 1:
        return taps.sum_of_squares(steps)
    used = taps.values[taps.jumps[:-1] < (steps or taps.support)]
    if zeros.falls(used):
        return _overlapping(taps, k, b, steps)
    return _correlated(np.abs(taps.integers[:steps]), k, b)


def largest_column(taps: IntegerTaps, gain: Signed) -> int:
    """max_s Σ_k gain_{s+k}² r_k²: exact below 2^53, else larger by a relative (pieces + 8) 2^-52.

    With prefix sums G of gain² a column is Σ_j v_j² (G_{s+end_j} - G_{s+start_j}) over the constant
    pieces.  The prefix sums are exact.  The terms of a column are ≥ 0.  Adding them in float64, one
    after another, has a relative error below (pieces + 4) 2^-53.

    >>> largest_column(IntegerTaps.of(np.array([2, 1]), bits=1), np.array([1, 2]))  # 4·1 + 1·4, 4·4
    16
    """
    n, (values, lengths) = len(gain), taps.pieces
    small = int(np.max(gain)) ** 2 * n < _INT64
    sums = np.cumsum(gain**2 if small else gain.astype(object) ** 2)
    sums = np.concatenate([[0], sums, np.repeat(sums[-1:], min(taps.support, n))])
    total, start = np.zeros(n), 0
    for value, length in zip(values, lengths, strict=True):
        end = min(start + length, n)
        terms = sums[end : end + n] - sums[start : start + n]
        total += float(value * value) * terms.astype(np.float64)
        start = end
    largest = Fraction(float(np.max(total)))
    if max(value * value for value in values) * int(sums[-1]) < 1 << 53:
        return int(largest)
    return math.ceil(largest * (1 + Fraction(len(values) + 8, 1 << 52)))


def exact_sum_of_squares(x: Signed) -> int:
    """The exact sum Σ x_i².

    >>> exact_sum_of_squares(np.array([2**40, -1]))
    1208925819614629174706177
    """
    if len(x) > _AT_ONCE:
        return sum(exact_sum_of_squares(part) for part in np.array_split(x, 1 + len(x) // _AT_ONCE))
    size = max(int(np.max(x)), -int(np.min(x)))
    if size * size * len(x) < _INT64:
        return int(np.sum(x * x))
    if len(x) > 1 << 12:
        return sum(
            exact_sum_of_squares(part) for part in np.array_split(x, 1 + len(x) // (1 << 12))
        )
    return sum(value * value for value in x.tolist())


def _overlapping(taps: IntegerTaps, k: int, b: int, steps: int | None) -> int:
    """‖Σ_{i<k} r shifted by ib‖² within `steps` steps, for r ≥ 0 that never rises.

    No other k columns have a larger norm (Kalinin & Lampert 2024).  With E = Σ_{i≥0} r shifted by
    ib, which has period b from `steady` on, the sum is E_t - E_{t-kb}.  Memory: 8 bytes per tap.
    """
    n = min(taps.support, steps or taps.support)
    if b >= n:  # the columns do not overlap; the last one may be cut off
        last = n if steps is None else min(n, steps - (k - 1) * b)
        return (k - 1) * taps.sum_of_squares(n) + taps.sum_of_squares(last)
    rows = -(-n // b)
    small = int(taps.values[0]) * rows < _INT64
    padded = np.zeros((rows, b), dtype=np.int64 if small else object)
    flat = padded.ravel()
    start = 0
    for value, length in zip(*taps.pieces, strict=True):
        flat[start : min(start + length, n)] = value
        start += length
    endless = np.cumsum(padded, axis=0, out=padded).ravel()
    steady = (rows - 1) * b
    period = endless[steady:]
    end = k * b if steps is None else min(k * b, steps)
    total = exact_sum_of_squares(endless[: min(steady, end)])
    if end > steady:
        whole, rest = divmod(end - steady, b)
        total += whole * exact_sum_of_squares(period) + (
            exact_sum_of_squares(period[:rest]) if rest else 0
        )
    after = steady if steps is None else min(steady, steps - k * b)
    if after > 0:
        start = k * b if k * b < steady else steady  # afterwards all multiples of b are alike
        for low in range(0, after, _AT_ONCE):
            high = min(low + _AT_ONCE, after)
            at = np.arange(start + low, start + high)
            at = np.where(at < steady, at, steady + (at - steady) % b)
            total += exact_sum_of_squares(endless[at] - endless[low:high])
    return total


def _correlated(size: Signed, k: int, b: int) -> int:
    """Σ_{i,j<k} of the largest correlation of `size` at lags ≥ |i-j| b.

    The correlation C of a piecewise constant column has second differences only at the differences
    of its jumps: C_{d-1} - 2 C_d + C_{d+1} = -A_d, where A is the correlation of the jump heights.
    """
    n, energy = len(size), exact_sum_of_squares(size)
    edges = np.flatnonzero(np.diff(size, prepend=0, append=0))
    if len(edges) > _MOST_PIECES:
        return k * k * energy
    kind = np.int64 if energy < _INT64 else object  # intermediate sums may wrap around and return
    heights = np.diff(size, prepend=0, append=0)[edges].astype(kind)
    bends = np.zeros(n + 1, dtype=kind)
    for place in range(1, len(edges)):
        bends[edges[place] - edges[:place]] += heights[place] * heights[:place]
    slopes = -np.cumsum(bends[:0:-1])[::-1]  # C_d - C_{d+1}, d = 0, ..., n-1
    correlation = np.cumsum(slopes[::-1])[::-1]
    meeting: list[int] = _largest_beyond(correlation, k, b).tolist()
    return k * energy + 2 * sum((k - i) * c for i, c in enumerate(meeting, start=1))
