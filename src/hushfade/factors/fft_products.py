"""Products of coefficient columns by FFT, in one float64 word or in two.

Every entry of an FFT product has an error of about 2^-53 of the *largest* terms.  `power_series`
combines two remedies, which make even the smallest coefficients accurate:

* the caller multiplies blocks whose entries have similar magnitudes;
* `product` splits each factor into heads on a grid and a remainder.  Products of heads are columns
  of integers, which rounding recovers exactly.  The rest is tiny, and so is its error.  The result
  is an unevaluated sum high + low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.check import Column


@dataclass(frozen=True, slots=True)
class Words:
    """A column as the unevaluated sum high + low, where |low| is much smaller than |high|."""

    high: Column
    low: Column

    def __getitem__(self, rows: slice) -> Words:
        return Words(self.high[rows], self.low[rows])

    def __neg__(self) -> Words:
        return Words(-self.high, -self.low)

    def plus(self, other: Words) -> Words:
        """The sum of both columns; no bit of the high words is lost (Knuth's two-sum)."""
        a, b = self.high, other.high
        s = a + b
        t = s - a
        return Words(s, (a - (s - t)) + (b - t) + self.low + other.low)

    def rounded(self) -> Column:
        """The column, rounded to one word."""
        return self.high + self.low

    def renewed(self) -> Words:
        """The same value, where high is the rounded sum high + low."""
        return Words(self.high, np.zeros_like(self.high)).plus(
            Words(self.low, np.zeros_like(self.low))
        )

    def joined(self, other: Words) -> Words:
        """This column followed by the other."""
        return Words(np.concatenate([self.high, other.high]), np.concatenate([self.low, other.low]))


def single(column: Column) -> Words:
    """The column as words with an empty low part."""
    return Words(column, np.zeros_like(column))


def plain_product(u: Column, v: Column, rows: slice) -> Column:
    """(u * v)[rows], with an error of about 2^-53 of the largest terms.  Cost: 3 FFTs."""
    from scipy import fft

    size = _size(u, v, rows)
    return np.asarray(fft.irfft(fft.rfft(u, size) * fft.rfft(v, size), size)[rows])


def product(u: Words, v: Words, rows: slice) -> Words:
    """(u * v)[rows] in two words, with an error of about 2^(-53-2p) of the largest terms.

    With entries scaled below 2^p, u = u_1 + 2^-p (u_2 + u_3), where u_1 and u_2 are integers, and
    u_3 is the rest.  u_1 v_1 and u_1 v_2 + u_2 v_1 are integers, too.  Rounding recovers them
    exactly, because p is the largest with 2^2p ‖u‖‖v‖ (log2 size + 1) 2^-53 ≤ 2^-5, far below the
    1/2 at which rounding would fail.  p is 16 to 22 for columns that decay.  Only the rest, 2^-2p
    of the whole, has the error of its FFT.  Cost: 9 FFTs.
    """
    from scipy import fft

    size = _size(u.high, v.high, rows)
    scale_u, scale_v = _exponent(u.high), _exponent(v.high)
    if scale_u is None or scale_v is None:
        return single(np.zeros(size)[rows])
    norm = _norm(u.high, scale_u) * _norm(v.high, scale_v)
    if not math.isfinite(norm):
        return single(np.full(size, np.nan)[rows])
    p = int(53 - 5 - math.log2(max(norm, 1.0) * (math.log2(size) + 1))) // 2
    u1, u2, u3 = (fft.rfft(part, size) for part in _split(u, p, scale_u))
    v1, v2, v3 = (fft.rfft(part, size) for part in _split(v, p, scale_v))
    first = np.rint(fft.irfft(u1 * v1, size)[rows])
    second = np.rint(fft.irfft(u1 * v2 + u2 * v1, size)[rows])
    rest = fft.irfft(u1 * v3 + u3 * v1 + np.ldexp(1.0, -p) * (u2 + u3) * (v2 + v3), size)[rows]
    back = scale_u + scale_v - 2 * p
    heads = single(np.ldexp(first, back)).plus(single(np.ldexp(second, back - p)))
    return Words(heads.high, heads.low + np.ldexp(rest, back - p))


def _size(u: Column, v: Column, rows: slice) -> int:
    """A length with a fast FFT for which terms that wrap around stay below `rows`."""
    from scipy import fft

    full = len(u) + len(v) - 1
    return int(fft.next_fast_len(max(rows.stop, full - rows.start), real=True))


def _exponent(column: Column) -> int | None:
    """An e with all |entries| < 2^e; None for a column of zeros."""
    largest = float(np.max(np.abs(column), initial=0.0))
    return None if largest == 0.0 else math.frexp(largest)[1]


def _norm(column: Column, exponent: int) -> float:
    scaled = np.ldexp(column, -exponent)
    return math.sqrt(float(np.sum(scaled * scaled)))  # BLAS would wait for its threads


def _split(column: Words, p: int, exponent: int) -> tuple[Column, Column, Column]:
    """column · 2^(p - exponent) as c_1 + 2^-p (c_2 + c_3), where c_1 and c_2 are integers."""
    scaled = np.ldexp(column.high, p - exponent)
    first = np.rint(scaled)
    finer = np.ldexp(scaled - first, p)
    second = np.rint(finer)
    return first, second, (finer - second) + np.ldexp(column.low, 2 * p - exponent)
