"""Fixed-point numbers with 200 binary places, and decimal numbers of 90 digits."""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import Context, Decimal, localcontext
from fractions import Fraction

BITS = 200
ONE = 1 << BITS
ENTRY_BITS = 127  # bits of a cumulative probability in a table
WHOLE = 1 << ENTRY_BITS  # the table entry for probability 1


def precise() -> AbstractContextManager[Context]:
    """The context in which decimal numbers have 90 digits."""
    return localcontext(Context(prec=90))


def decimal(value: Fraction) -> Decimal:
    """The nearest decimal number."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def fixed(value: Decimal) -> int:
    """⌊2^200 value⌋ for value ≥ 0."""
    return int(value * ONE)


def scaled(value: Fraction) -> int:
    """⌊2^200 value⌋, without rounding before the floor."""
    return (value.numerator << BITS) // value.denominator


def entry(value: int) -> int:
    """The table entry of a probability in fixed point: ⌊2^127 p⌋, at most 2^127 - 1."""
    return min(value >> (BITS - ENTRY_BITS), WHOLE - 1)


def pi() -> Decimal:
    """π by Machin's formula 16 arctan(1/5) - 4 arctan(1/239), at the context's precision."""
    total = Decimal(0)
    for weight, n in ((16, 5), (-4, 239)):
        power, k = Decimal(weight) / n, 1
        while abs(power) > Decimal(10) ** -95:
            total += power / k
            power /= -n * n
            k += 2
    return total
