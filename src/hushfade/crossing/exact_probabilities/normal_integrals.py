"""Integrals of e^(-p t²/2), where p is the precision 1/σ².

For an interval with centre m and width w, with x = m √p and half = w √p / 2,

    ∫ e^(-p t²/2) dt = w e^(-x²/2) Σ_i He_2i(x) half^2i / (2i + 1)!

He are Hermite polynomials.  The sum needs only x · half and half², which are rational.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from hushfade.crossing.exact_probabilities.fixed_point import (
    BITS,
    ONE,
    decimal,
    fixed,
    precise,
    scaled,
)


def from_zero(precision: Fraction, end: Fraction) -> Decimal:
    """∫_0^end e^(-p t²/2) dt, by the series e^(-p end²/2) Σ_n p^n end^(2n+1) / (2n+1)!!.

    All terms are positive, so nothing cancels.
    """
    square = decimal(precision * end * end)
    term = total = decimal(end)
    n = 1
    while term > total * Decimal(10) ** -88:
        n += 2
        term = term * square / n
        total += term
    return total * (-square / 2).exp()


def over(precision: Fraction, middle: Fraction, width: Fraction) -> Decimal:
    """∫ e^(-p t²/2) dt over the interval with this centre and width."""
    product = decimal(precision * middle * width / 2)
    half_square = decimal(precision * width * width / 4)
    total, before, now, factorial, n = Decimal(1), Decimal(0), Decimal(1), 1, 1
    while abs(now) + abs(before) > factorial * Decimal(10) ** -90:  # one alone may be near a zero
        before, now = now, product * now - (n - 1) * half_square * before
        factorial *= n + 1
        if n % 2 == 0:
            total += now / factorial
        n += 1
    return decimal(width) * (-decimal(precision * middle * middle) / 2).exp() * total


def cumulative(precision: Fraction, factor: Decimal, k: int) -> Iterator[tuple[int, int]]:
    """factor ∫ e^(-p t²/2) dt over |t| < (A + 1) 2^k - ½, for A = 0, 1, ...; in fixed point.

    Each value comes with an estimate of the next cell's integral.  Two running products give the
    factor at the centres of the cells.  10^4 rounding errors of 2^-200 add up to less than 2^-180.
    """
    cell = Fraction(1 << k)
    start = cell - Fraction(1, 2)
    middle = start + cell / 2
    with precise():
        at_middle = (-decimal(precision * middle * middle) / 2).exp()
        weight = fixed(2 * factor * decimal(cell) * at_middle)
        ratio = fixed((-decimal(precision * (middle * cell + cell * cell / 2))).exp())
        fade = fixed((-decimal(precision * cell * cell)).exp())
        total = fixed(2 * factor * from_zero(precision, start))
    half_square = scaled(precision * cell * cell / 4)
    product, product_step = scaled(precision * middle * cell / 2), 2 * half_square
    while True:
        yield total, weight
        total += weight * _hermite_sum(product, half_square) >> BITS
        weight = weight * ratio >> BITS
        ratio = ratio * fade >> BITS
        product += product_step


def _hermite_sum(product: int, half_square: int) -> int:
    """Σ_i He_2i(x) half^2i / (2i + 1)! from x · half and half², in fixed point."""
    total, before, now, factorial = ONE, 0, ONE, 1
    n = 1
    while True:
        before, now = now, (product * now - (n - 1) * half_square * before) >> BITS
        factorial *= n + 1
        if n % 2 == 0:
            total += now // factorial
            if abs(now) + abs(before) < factorial << 20:  # both: one alone may be near a zero
                return total
        n += 1
