"""Power series as float64 columns: multiply, inverse, power, square_root in O(n log n).

Every coefficient is accurate, including small ones.  Newton's iteration doubles the known part
[0, m) to [0, 2m) at each level.  Three techniques keep the errors relative to each coefficient:

* *Blocks of similar magnitude.*  (h·h)[m:2m) never needs the product of the low halves, so each
  product has one factor from [m/2, 2m) only, and its FFT error is relative to this block.
* *Two words.*  Residuals are computed in two float64 words (`product`) and the step is refined
  once, so coefficients have errors of about 1e-15 even if large terms cancel, as for windows.
* *Tilting.*  With geometric decay, the entries of a block have different magnitudes.  So u_k and
  v_k are first multiplied by 2^(θk), and the product by 2^(-θk), with θ estimated from the known
  part.  Coefficients computed with a smaller θ are accurate relative to their block only, so θ
  grows slowly.

Coefficients below 2.3e-308, the smallest normal float64, are returned as 0.
`docs/decisions/0002-accurate-series.md` gives the reasons and measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidValue
from hushfade.factors.columns import fitted

__all__ = ["inverse", "multiply", "power", "square_root"]

_BASE = 64  # the number of coefficients computed directly, in 50-digit decimals
_STEEPER = 24.0  # bits by which a level may tilt its column more than the previous level
_TINY = float(np.finfo(np.float64).tiny)
_quietly = np.errstate(over="ignore", invalid="ignore")  # `_finished` raises an error instead


@_quietly
def multiply(a: Column, b: Column) -> Column:
    """The first n coefficients of a·b, for two columns of length n.

    (ab)_n = Σ_k a_k b_{n-k}.  The error is about 1e-15 of Σ_k |a_k b_{n-k}|.  Cost: about 8 plain
    FFT products.

    >>> multiply([1, 1, 0], [1, 2, 3])
    array([1., 3., 5.])
    """
    a, b = check.coefficients(a=a), check.coefficients(b=b)
    if len(a) != len(b):
        raise InvalidValue("a and b must have the same length", got=f"{len(a)} and {len(b)}")
    n = len(a)
    width = _width(n)
    u, v = fitted(a, width), fitted(b, width)
    out = np.convolve(a[:_BASE], b[:_BASE])[:_BASE]
    m = _BASE
    while m < n:
        theta = _held(_slope(u[:m], v[:m]), u[: 2 * m], v[: 2 * m])
        block = _middle(_tilted(single(u[: 2 * m]), theta), _tilted(single(v[: 2 * m]), theta), m)
        out = np.concatenate([out, _tilted(block, -theta, start=m).rounded()])
        m *= 2
    return _finished(out[:n], "a·b")


@_quietly
def inverse(f: Column) -> Column:
    """The first n coefficients of y = 1/f.

    y_0 = 1/f_0,  y_n = -Σ_{k≥1} f_k y_{n-k} / f_0.  Requires f_0 ≠ 0.  Cost: about 8 plain FFT
    products.

    >>> inverse([1, -0.5, 0, 0])
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    f = check.coefficients(f=f)
    if not f[0] != 0:
        raise InvalidValue("f must start with a coefficient != 0", got=f[0])
    n = len(f)
    width = _width(n)
    g = single(fitted(f, width))
    y = _base(f, -1.0)
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(_slope(y.high, g.high[:m]), theta + _STEEPER / m)
        theta = _held(theta, g.high[: 2 * m])
        tilted_y, tilted_g = _tilted(y, theta), _tilted(g[: 2 * m], theta)
        residual = -_middle(tilted_y, tilted_g, m)
        step = _solved(residual, tilted_g[:m], tilted_y.high)
        y = y.joined(_tilted(step, -theta, start=m))
        m *= 2
    return _finished(y.rounded()[:n], "1/f")


@_quietly
def square_root(f: Column) -> Column:
    """The first n coefficients of h = √f, with h_0 > 0.

    a_0 = √f_0,  a_n = (f_n - Σ_{0<k<n} a_k a_{n-k}) / 2a_0.  Requires f_0 > 0.  Cost: about 8
    plain FFT products.  The relative error of every coefficient is ≤ 1e-11 at n = 2^20 for
    counting, exponentials, power laws, windows and their mixtures (for most, 1e-15).  If weights
    jump by orders of magnitude from one index to the next, as in 1 + 10^6 x^200, a block contains
    coefficients of all sizes, and the small ones lose their accuracy.

    >>> square_root([1, 2, 3, 4])
    array([1., 1., 1., 1.])
    """
    f = check.positive_start(f=f)
    n = len(f)
    g = fitted(f, _width(n))
    h = _base(f, 0.5)
    if n <= _BASE:
        return _finished(h.rounded()[:n], "√f")
    y = _base(_finished(h.rounded(), "√f"), -1.0).rounded()
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(_slope(h.high), theta + _STEEPER / m)
        tilted_h = _tilted(h, theta)
        tilted_y = _tilted(single(y), theta).high
        residual = _tilted(single(g[m : 2 * m]), theta, start=m).plus(-_square(tilted_h, m))
        double = Words(2 * tilted_h.high, 2 * tilted_h.low)
        step = _solved(residual, double, 0.5 * tilted_y)
        if 2 * m < n:
            grown = _inverse_step(tilted_y, tilted_h.joined(step).high)
            y = np.concatenate([y, _tilted(single(grown), -theta, start=m).high])
        h = h.joined(_tilted(step, -theta, start=m))
        m *= 2
    return _finished(h.rounded()[:n], "√f")


@_quietly
def power(f: Column, p: float) -> Column:
    """The first n coefficients of h = f^p for any real p, with h_0 = f_0^p.

    From x h' f = p h x f': n h_n = Σ_{k≥1} q_k h_{n-k} with q = p x f'/f.  Requires f_0 > 0.
    Cost: about 25 plain FFT products.

    >>> power([1, 1, 0, 0], 3)
    array([1., 3., 3., 1.])
    """
    f, p = check.positive_start(f=f), check.real(p=p)
    if p in (-1.0, 0.5):
        return inverse(f) if p == -1.0 else square_root(f)
    n = len(f)
    width = _width(n)
    index = np.arange(width, dtype=np.float64)
    derivative = index[:n] * f
    q = fitted(p * multiply(_finished(derivative, "x f'"), inverse(f)), width)
    h = _base(f, p).rounded()
    if n <= _BASE:
        return _finished(h[:n], f"f^{p:g}")
    y = _base(_finished(h, f"f^{p:g}"), -1.0).rounded()
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(_slope(h, q[:m]), theta + _STEEPER / m)
        theta = _held(theta, q[: 2 * m])
        tilted_h, tilted_y = _tilted(single(h), theta).high, _tilted(single(y), theta).high
        block = _middle(single(tilted_h), _tilted(single(q[: 2 * m]), theta), m).rounded()
        integral = plain_product(tilted_y, block, slice(0, m)) / index[m : 2 * m]
        step = product(single(tilted_h), single(integral), slice(0, m)).rounded()
        if 2 * m < n:
            grown = _inverse_step(tilted_y, np.concatenate([tilted_h, step]))
            y = np.concatenate([y, _tilted(single(grown), -theta, start=m).high])
        h = np.concatenate([h, _tilted(single(step), -theta, start=m).high])
        m *= 2
    return _finished(h[:n], f"f^{p:g}")


# Newton's level [0, m) → [0, 2m) ------------------------------------------------------------


def _middle(u: Words, v: Words, m: int) -> Words:
    """(u * v)[m:2m), where one factor is always from [m/2, 2m), without the low halves' product."""
    c = m // 2
    low_high = product(u[:c], v[c : 2 * m], slice(c, c + m))
    high_all = product(u[c:], v[: 2 * m - c], slice(c, c + m))
    return low_high.plus(high_all)


def _square(h: Words, m: int) -> Words:
    """(h * h)[m:2m) for h of length m: high half times (2 · low half + high half)."""
    c = m // 2
    twice = np.ones(m)
    twice[:c] = 2.0
    return product(h[c:], Words(h.high * twice, h.low * twice), slice(c, c + m))


def _solved(residual: Words, slope: Words, inverse_slope: Column) -> Words:
    """The d with slope * d = residual, up to the length of the residual, refined in two words."""
    rows = slice(0, len(residual.high))
    step = plain_product(inverse_slope, residual.rounded(), rows)
    left = residual.plus(-product(single(step), slope, rows))
    correction = plain_product(inverse_slope, left.rounded(), rows)
    return Words(step, correction).renewed()


def _inverse_step(y: Column, h: Column) -> Column:
    """(1/h)[m:2m) from y = (1/h)[:m) in one word, which is accurate enough for the next level."""
    m = len(y)
    c = m // 2
    rows = slice(c, c + m)
    residual = plain_product(y[:c], h[c:], rows) + plain_product(y[c:], h[: 3 * c], rows)
    return -plain_product(y, residual, slice(0, m))


# The first coefficients, and checks ---------------------------------------------------------


def _base(f: Column, p: float) -> Words:
    """The first coefficients of f^p, by their recurrence (see `power`) in 50-digit decimals."""
    with localcontext() as context:
        context.prec = 50
        exponent, column = Decimal(p), [Decimal(float(c)) for c in fitted(f[:_BASE], _BASE)]
        exact = [column[0] ** exponent]
        for n in range(1, _BASE):
            terms = ((exponent * k - (n - k)) * column[k] * exact[n - k] for k in range(1, n + 1))
            exact.append(sum(terms, Decimal(0)) / (n * column[0]))
        high = [float(c) for c in exact]
        low = [
            float(c - Decimal(h)) if math.isfinite(h) else 0.0
            for c, h in zip(exact, high, strict=True)
        ]
    return Words(np.array(high), np.array(low))


def _width(n: int) -> int:
    """The power of two at which the doubling stops."""
    return max(_BASE, 1 << (n - 1).bit_length())


def _finished(column: Column, what: str) -> Column:
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InvalidValue(f"{what} must fit into float64, but overflows at coefficient {bad[0]}")
    column[np.abs(column) < _TINY] = 0.0
    return column


# FFT products, in one float64 word or in two ---------------------------------------------------
#
# Every entry of an FFT product has an error of about 2^-53 of the *largest* terms.  Two remedies
# make even the smallest coefficients accurate: the factors above are blocks whose entries have
# similar magnitudes, and `product` splits each factor into heads on a grid and a remainder.
# Products of heads are columns of integers, which rounding recovers exactly.  The rest is tiny, and
# so is its error.  The result is an unevaluated sum high + low.


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


# Tilting: columns scaled by 2^(θk), so that the blocks of a geometric decay have similar magnitudes


def _slope(*columns: Column) -> float:
    """The θ by which to tilt: the θ of the slowest column, which dominates all products.

    The θ of a column comes from the envelope |c_k| ≈ C k^-p 2^(-θk) of its last octaves.  It is
    capped so that tilting lets no column grow by more than a few bits per octave.
    """
    measured = [_octave_bits(column) for column in columns]
    slopes = [own for bits, m in measured if (own := _envelope_slope(bits, m)) is not None]
    theta = min(slopes, default=0.0)
    for bits, m in measured:
        for (later, earlier), octave in zip(pairwise(bits), (m, m / 2, m / 4), strict=True):
            if math.isfinite(drop := earlier - later):
                theta = min(theta, max(0.0, (drop + 8.0) / _apart(drop, octave)))
    return round(theta * 2**24) / 2**24  # so that θk is exact for k < 2^28


def _held(theta: float, *columns: Column) -> float:
    """θ, halved until tilting lifts no column's new half more than 8 bits above its old half."""
    for column in columns:
        m = len(column) // 2
        with np.errstate(divide="ignore"):
            bits = np.log2(np.abs(column[m // 2 :]))
        index = np.arange(m // 2, 2 * m)
        while theta > 0.0:
            lifted = bits + theta * index
            old, new = float(np.max(lifted[: m - m // 2])), float(np.max(lifted[m - m // 2 :]))
            if not (math.isfinite(old) and new > old + 8.0):
                break
            theta = math.floor(theta * 2**23) / 2**24
    return theta


def _octave_bits(column: Column) -> tuple[list[float], int]:
    """log2 of the largest entry in each of the last four octaves, last first; -inf for zeros."""
    m = len(column)
    largest = [float(np.max(np.abs(column[m >> j : m >> (j - 1)]))) for j in (1, 2, 3, 4)]
    return [math.log2(value) if value > 0.0 else -math.inf for value in largest], m


def _envelope_slope(bits: list[float], m: int) -> float | None:
    """θ, estimated twice; None if the octaves do not follow an envelope of this form.

    A θ that changes the column by less than four bits counts as 0.
    """
    if not math.isfinite(sum(bits)):
        return None
    drop, previous, first = (earlier - later for later, earlier in pairwise(bits))
    apart = _apart(drop, m)
    late, early = (drop - previous) / (apart / 2), (previous - first) / (apart / 4)
    if max(abs(early), abs(late)) * m <= 4.0:
        return 0.0
    agree = drop * late > 0.0 and 0.5 <= early / late <= 2.0
    return math.copysign(min(abs(late), abs(drop) / apart), late) if agree else None


def _apart(drop: float, m: float) -> float:
    """The distance between the largest entries of two octaves up to m.

    The largest entry is at the start of a falling octave, and at the end of a rising one.
    """
    return m / 4 if drop > 0.0 else m / 2


def _tilted(column: Words, theta: float, start: int = 0) -> Words:
    """column_k · 2^(θ(start + k)), computed so that the factor does not overflow."""
    if theta == 0.0:
        return column
    exponent = theta * np.arange(start, start + len(column.high))
    whole = np.floor(exponent)
    factor = np.exp2(exponent - whole)
    shift = whole.astype(np.int32)
    return Words(np.ldexp(column.high * factor, shift), np.ldexp(column.low * factor, shift))
