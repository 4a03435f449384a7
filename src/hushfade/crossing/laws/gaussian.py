"""The Gaussian seen through the integer grid: z = round(N(0, σ²)), from a table of integers.

    P[z = k] = Φ((k + ½)/σ) - Φ((k - ½)/σ)

round(v + N) is post-processing of the exact Gaussian mechanism, so its tight accounting applies,
and nothing but integers is ever added to private data.

A draw is a function of random 64-bit words.  The magnitude's cell A of 2^k integers comes from a
cumulative table of 127-bit probabilities; for k = 0 the cell is the magnitude.  For large σ the
place r inside the cell is uniform and kept with probability P[z = A 2^k + r] / P[z = A 2^k], which
is near 1 (½ for z = 0, which has one sign), else drawn again.  Floating point decides only what is
certain: words too near a boundary are decided by exact arithmetic with further words.

The same words give the same draw on every machine.  Tables are computed with integers and decimal
numbers.  A float accepts or rejects a place only if it is farther than 2^-30 from the boundary,
and it errs by far less, however a machine rounds or computes exp.  So each verdict is that of exact
arithmetic, whichever way it was reached.

Guarantee: the law of a draw is within (table length) · 2^-126 + 2^-160 of the exact one in total
variation, whatever σ: below 2^-113 (docs/noise.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Signed
from hushfade.errors import InvalidValue

Unsigned = NDArray[np.uint64]

SMALLEST, LARGEST = 1.0, 2.0**34
_DIRECT = 512.0  # up to here every magnitude has its own table entry
_BITS = 200  # of the fixed point in which tables are computed
_ONE = 1 << _BITS
_GUIDE = 13  # bits of the first word that index the guide
_CHUNK = 1 << 13  # draws at a time, so that their words stay in the cache
_SPAN = 16 * _CHUNK  # draws whose rejections are drawn again together
_MARGIN = 2.0**-30  # of a uniform to its share, below which floats do not decide
_UNIFORM_SLOT, _CELL_SLOT = 1 << 15, 3 << 14


@dataclass(frozen=True, eq=False)
class Table:
    """The cumulative table of one σ: above[A] = ⌊2^127 P[|z| < (A + 1) 2^k]⌋."""

    sigma: float
    k: int
    above: list[int]
    high: Unsigned  # the upper 63 bits of `above`
    low: Unsigned  # the lower 64
    guide: NDArray[np.uint16]  # the first A that a word with these leading bits can mean
    sure: Unsigned  # a second word below this keeps its place, whichever it is

    def __repr__(self) -> str:
        return f"Table(sigma={self.sigma!r})"


@lru_cache(maxsize=64)
def table(sigma: float) -> Table:
    """The table of round(N(0, sigma²)), sigma in grid units from 1 to 2^34.

    Cost: at most 7,400 entries of 200-bit arithmetic, about 0.1 s; kept for the process.

    >>> t = table(3.0)
    >>> round(t.above[0] / 2**127, 12)  # P[z = 0] = erf(1 / (6 √2))
    0.132367665222
    """
    sigma = check.positive(sigma=sigma)
    if not SMALLEST <= sigma <= LARGEST:
        raise InvalidValue(f"sigma must be from {SMALLEST:g} to {LARGEST:g} units", got=repr(sigma))
    k = 0 if sigma <= _DIRECT else math.frexp(sigma)[1] - 8
    above = _cumulative(Fraction(sigma), k)
    high = np.array([value >> 64 for value in above], dtype=np.uint64)
    low = np.array([value & (2**64 - 1) for value in above], dtype=np.uint64)
    firsts = np.arange(1 << _GUIDE, dtype=np.uint64) << np.uint64(63 - _GUIDE)
    guide = np.searchsorted(high, firsts).astype(np.uint16)
    g = (np.arange(len(above)) + 0.5) * (2.0**k / sigma) ** 2  # (z² - start²)/2σ² or more
    least = np.maximum(1.0 - g - _MARGIN, 0.0)  # of the shares in a cell, since e^-g ≥ 1 - g
    least[0] = 0.0  # zero has a share of its own
    return Table(sigma, k, above, high, low, guide, np.ldexp(least, 64).astype(np.uint64))


def probability(sigma: float, z: int) -> float:
    """P[round(N(0, sigma²)) = z], to float64 accuracy."""
    from scipy.special import erfc

    size, scale = abs(z), sigma * math.sqrt(2.0)
    if size == 0:
        return math.erf(0.5 / scale)
    return 0.5 * float(erfc((size - 0.5) / scale) - erfc((size + 0.5) / scale))


class Words(Protocol):
    """Two random words for each draw and slot, a row for each draw, draws counted from 0.

    They are valid until more are asked for; rows behind those asked for mean nothing.
    """

    def first(self, start: int, count: int) -> Unsigned:
        """Slot 0 of `count` draws from `start` on."""

    def listed(self, places: Signed, slot: int) -> Unsigned:
        """One slot of the draws at `places`."""


@cache
def loops() -> ModuleType:
    """The module `sampling`, loaded on first use."""
    from hushfade.crossing import sampling

    return sampling


def draws(law: Table, words: Words, out: Signed) -> None:
    """Fill `out` with independent draws, each a function of its own words.

    Slot 0 serves the first attempt, slot j the j-th; slot 2^15 + j extends attempt j's uniform, and
    slot 3 · 2^14 the cell's 63 bits.
    Cost: one pair of words and 2 to 3 nanoseconds a draw.
    """
    if law.k > 0:
        left = np.empty((2, min(len(out), _SPAN)), dtype=np.int64)
        for start in range(0, len(out), _SPAN):
            _draw_cells(law, words, out, start, left)
        return
    decode = loops().decode
    for start in range(0, len(out), _CHUNK):
        part = out[start : start + _CHUNK]
        decode(words.first(start, len(part)), law.high, law.low, law.guide, 64 - _GUIDE, part)


def _draw_cells(law: Table, words: Words, out: Signed, begin: int, left: Signed) -> None:
    """Fill the span of `out` from `begin` on; `left` has room for its rejected and doubtful."""
    kernels = loops()
    shape = (law.k, law.sigma, _MARGIN)
    tables = (law.high, law.sure, law.guide, 64 - _GUIDE)
    rejected = doubtful = 0
    for start in range(begin, min(begin + _SPAN, len(out)), _CHUNK):
        part = out[start : start + _CHUNK]
        first = words.first(start, len(part))
        rejected, doubtful = kernels.decode_cells(
            first, start, *tables, *shape, part, left, rejected, doubtful
        )
    attempt = 1
    while rejected:
        again = words.listed(left[0, :rejected], attempt)
        rejected, doubtful = kernels.place(again, *shape, out, left, rejected, doubtful)
        attempt += 1
    for place in left[1, :doubtful].tolist():  # about one draw in 2^29
        out[place] = _exactly(law, place, words)


def _exactly(law: Table, place: int, words: Words) -> int:
    """One draw by exact arithmetic, attempt after attempt."""
    where = np.array([place], dtype=np.int64)

    def pair(slot: int) -> tuple[int, int]:
        found = words.listed(where, slot)
        return int(found[0, 0]), int(found[0, 1])

    first, second = pair(0)
    further, _ = pair(_CELL_SLOT)
    cell = bisect_right(law.above, (first >> 1 << 64) | further)
    attempt = 0
    while True:
        inside = second & ((1 << law.k) - 1)
        middle, lower = pair(_UNIFORM_SLOT + attempt)
        uniform = (second >> law.k << 128) | middle << 64 | lower
        if _accepted(law, cell, inside, uniform, 192 - law.k):
            magnitude = (cell << law.k) + inside
            return -magnitude if first & 1 else magnitude
        attempt += 1
        _, second = pair(attempt)


def _accepted(law: Table, cell: int, place: int, uniform: int, bits: int) -> bool:
    """Is uniform / 2^bits below the share of this place?  In floats where certain, else exactly."""
    start = cell << law.k
    z = start + place
    if z == 0:  # -0 and +0 are one value, the other magnitudes have two signs
        return uniform < 1 << (bits - 1)
    square = law.sigma * law.sigma
    share = math.exp(-(start * place + place * place / 2) / square)
    share *= 1.0 + (z * z - start * start) / (24.0 * square * square)
    drawn = uniform / (1 << bits)
    if abs(drawn - share) > _MARGIN:
        return drawn < share
    with localcontext() as context:
        context.prec = 80
        sigma = Fraction(law.sigma)
        exact = _density(sigma, z) / _density(sigma, start)
        return Decimal(uniform) / (1 << bits) < exact


def _density(sigma: Fraction, z: int) -> Decimal:
    """P[z] · σ √(2π), by the midpoint expansion of its integral over one unit."""
    x, half = _decimal(Fraction(z) / sigma), _decimal(1 / (2 * sigma))
    total, before, now, factorial = Decimal(1), Decimal(0), Decimal(1), 1
    for n in range(1, 60):
        before, now = now, half * x * now - (n - 1) * half * half * before
        factorial *= n + 1
        if n % 2 == 0:
            total += now / factorial
    return (-x * x / 2).exp() * total


def _cumulative(sigma: Fraction, k: int) -> list[int]:
    """⌊2^127 P[|z| < (A + 1) 2^k]⌋ for all A up to where it reaches 2^127 - 1.

    P[|z| < m] = ∫ φ over [-(m - ½)/σ, (m - ½)/σ].  Each step of h = 2^k/σ adds twice
    h φ(x) Σ_i He_2i(x) (h/2)^2i / (2i + 1)! at its midpoint x; φ(x) by two running products.
    All in fixed point of 200 bits: the sum of 7,400 rounding errors stays below 2^-180.
    """
    cell = Fraction(1 << k)
    start = (cell - Fraction(1, 2)) / sigma
    step = cell / sigma
    with localcontext() as context:
        context.prec = 90
        middle = start + step / 2
        root = (2 * _pi()).sqrt()
        weight = _fixed((-_decimal(middle * middle) / 2).exp() * _decimal(step) * 2 / root)
        ratio = _fixed((-_decimal(middle * step + step * step / 2)).exp())
        fade = _fixed((-_decimal(step * step)).exp())
        total = _fixed(_central(_decimal(start)) / root)
    half = _scaled(step / 2)
    half_square = half * half >> _BITS
    x, h = _scaled(middle), _scaled(step)
    above: list[int] = []
    ceiling = (1 << 127) - 1
    while True:
        above.append(min(total >> (_BITS - 127), ceiling))
        if weight < 1 << (_BITS - 160):  # what is left beyond is below 2^-140
            above.append(1 << 127)
            return above
        total += weight * _hermite_sum(x, half, half_square) >> _BITS
        weight = weight * ratio >> _BITS
        ratio = ratio * fade >> _BITS
        x += h


def _hermite_sum(x: int, half: int, half_square: int) -> int:
    """Σ_i He_2i(x) half^2i / (2i + 1)! in fixed point."""
    product = x * half >> _BITS
    total, before, now, factorial = _ONE, 0, _ONE, 1
    n = 1
    while True:
        before, now = now, (product * now - (n - 1) * half_square * before) >> _BITS
        factorial *= n + 1
        if n % 2 == 0:
            term = now // factorial
            total += term
            if abs(now) + abs(before) < factorial << 20:  # both: one alone may be near a zero
                return total
        n += 1


def _central(t: Decimal) -> Decimal:
    """∫_{-t}^{t} e^(-s²/2) ds, by its all-positive series 2 e^(-t²/2) Σ t^(2n+1) / (2n+1)!!."""
    term = total = t
    n = 1
    while term > total * Decimal(10) ** -80:
        n += 2
        term = term * t * t / n
        total += term
    return 2 * total * (-t * t / 2).exp()


def _pi() -> Decimal:
    """π by Machin's formula 16 arctan(1/5) - 4 arctan(1/239), at the context's precision."""
    total = Decimal(0)
    for weight, n in ((16, 5), (-4, 239)):
        power, k = Decimal(weight) / n, 1
        while abs(power) > Decimal(10) ** -95:
            total += power / k
            power /= -n * n
            k += 2
    return total


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _fixed(value: Decimal) -> int:
    return int(value * _ONE)


def _scaled(value: Fraction) -> int:
    return (value.numerator << _BITS) // value.denominator
