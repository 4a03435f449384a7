"""The Gaussian seen through the integer grid: z = round(N(0, σ²)), from a table of integers.

    P[z = k] = Φ((k + ½)/σ) - Φ((k - ½)/σ)

round(v + N) is post-processing of the exact Gaussian mechanism, so its tight accounting applies,
and nothing but integers is ever added to private data.

A draw is a function of random 64-bit words.  The magnitude's cell A of 2^k integers comes from a
cumulative table of 127-bit probabilities; for k = 0 the cell is the magnitude.  For large σ the
place r inside the cell is uniform and kept with probability P[z = A 2^k + r] / P[z = A 2^k], which
is near 1 (½ for z = 0, which has one sign), else drawn again.  Floating point decides only what is
certain: words too near a boundary are decided by exact arithmetic with further words.

Guarantee: the law of a draw is within (table length) · 2^-126 + 2^-160 of the exact one in total
variation, whatever σ: below 2^-113 (docs/noise.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

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
_GUIDE = 11  # bits of the first word that index the guide
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
    guide: Signed  # the first A that a word with these leading bits can mean

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
        raise InvalidValue(f"sigma must be from {SMALLEST:g} to {LARGEST:g} units, got {sigma!r}")
    k = 0 if sigma <= _DIRECT else math.frexp(sigma)[1] - 8
    above = _cumulative(Fraction(sigma), k)
    high = np.array([value >> 64 for value in above], dtype=np.uint64)
    low = np.array([value & (2**64 - 1) for value in above], dtype=np.uint64)
    firsts = [g << (127 - _GUIDE) for g in range(1 << _GUIDE)]
    guide = np.array([bisect_right(above, first) for first in firsts], dtype=np.int64)
    return Table(sigma, k, above, high, low, guide)


def probability(sigma: float, z: int) -> float:
    """P[round(N(0, sigma²)) = z], to float64 accuracy."""
    from scipy.special import erfc

    size, scale = abs(z), sigma * math.sqrt(2.0)
    if size == 0:
        return math.erf(0.5 / scale)
    return 0.5 * float(erfc((size - 0.5) / scale) - erfc((size + 0.5) / scale))


def draws(law: Table, words: Callable[[Signed, int], Unsigned], out: Signed) -> None:
    """Fill `out` with independent draws; words(lanes, slot) gives each lane two random words.

    Slot 0 serves the first attempt, slot j the j-th; slot 2^15 + j extends attempt j's uniform, and
    slot 3 · 2^14 the cell's 63 bits.
    Cost: one pair of words and some nanoseconds a draw.
    """
    from hushfade import kernels

    lanes = np.arange(len(out), dtype=np.int64)
    first = words(lanes, 0)
    if law.k == 0:
        kernels.decode(first, law.high, law.low, law.guide, out)
        return
    state = np.empty(len(out), dtype=np.uint8)
    kernels.decode_cells(first, law.high, law.guide, law.k, law.sigma, _MARGIN, out, state)
    attempt = 1
    while (
        rejected := np.flatnonzero(
            (state == kernels.REJECTED) | (state == kernels.REJECTED_NEGATIVE)
        )
    ).size:
        again = words(rejected, attempt)
        kernels.place(again, rejected, law.k, law.sigma, _MARGIN, out, state)
        attempt += 1
    for lane in np.flatnonzero(state == kernels.DOUBTFUL):  # about one in 2^29
        out[lane] = _exactly(law, int(lane), words)


def _exactly(law: Table, lane: int, words: Callable[[Signed, int], Unsigned]) -> int:
    """The draw of one lane by exact arithmetic, attempt after attempt."""
    where = np.array([lane], dtype=np.int64)

    def pair(slot: int) -> tuple[int, int]:
        found = words(where, slot)
        return int(found[0, 0]), int(found[0, 1])

    first, second = pair(0)
    further, _ = pair(_CELL_SLOT)
    cell = bisect_right(law.above, (first >> 1 << 64) | further)
    attempt = 0
    while True:
        place = second & ((1 << law.k) - 1)
        middle, lower = pair(_UNIFORM_SLOT + attempt)
        uniform = (second >> law.k << 128) | middle << 64 | lower
        if _accepted(law, cell, place, uniform, 192 - law.k):
            magnitude = (cell << law.k) + place
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
    """π by Machin's formula, at the context's precision."""

    def arctan_inverse(n: int) -> Decimal:
        power = total = Decimal(1) / n
        k = 1
        while abs(power) > Decimal(10) ** -95:
            power /= -n * n
            k += 2
            total += power / k
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _fixed(value: Decimal) -> int:
    return int(value * _ONE)


def _scaled(value: Fraction) -> int:
    return (value.numerator << _BITS) // value.denominator
