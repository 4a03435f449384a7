"""Conservative rounding of the numbers of a guarantee, as text, and of square roots.

A printed guarantee must be true: epsilon, delta, mu and errors are rounded up, and the rest of a
budget is rounded down.  Nothing here rounds to nearest.

A float is treated as the shortest decimal that reads back as the same float, as Python prints it.
So 0.1 is shown as 0.1, although its binary value is larger by 6e-18.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from hushfade.privacy.calibration import delta_above, epsilon_of

_DIGITS = 60  # digits of a fraction or of an exponential before the final rounding
_LARGEST_EXPONENT = 1e6
_PLAIN = range(-6, 16)  # powers of ten that are written without an exponent

Number = float | int | Fraction | Decimal


def rounded_up(value: Number, digits: int = 4) -> str:
    """The value as text with at most `digits` significant digits, never below the value.

    Reading the text back as a float gives at least the value.

    >>> rounded_up(0.23670438), rounded_up(1e-6, 3), rounded_up(0.1), rounded_up(12345.6)
    ('0.2368', '0.000001', '0.1', '12350')
    """
    return _text(value, digits, ROUND_CEILING)


def rounded_down(value: Number, digits: int = 4) -> str:
    """The value as text with at most `digits` significant digits, never above the value.

    >>> rounded_down(0.23670438), rounded_down(99.996)
    ('0.2367', '99.99')
    """
    return _text(value, digits, ROUND_FLOOR)


def epsilon_up(mu: float, delta: float, digits: int = 4) -> str:
    """The epsilon of mu-Gaussian differential privacy at delta, rounded up, as text.

    >>> epsilon_up(0.2367, 1e-6), epsilon_up(0.5, 1e-6)
    ('1', '2.255')
    """
    exact = epsilon_of(mu, delta)  # it has few bits: a shorter decimal may suffice
    below = rounded_down(exact, digits)
    if delta_above(float(below), mu) <= Decimal(delta):
        return below
    return rounded_up(exact, digits)


def exponential_up(exponent: float, digits: int = 3) -> str:
    """e^exponent as text, rounded up; as a power of e above e^1000000.

    >>> exponential_up(1.0), exponential_up(0.001), exponential_up(1e9)
    ('2.72', '1.01', 'e^1000000000')
    """
    if exponent > _LARGEST_EXPONENT:  # e^exponent has too many digits for a decimal
        return f"e^{rounded_up(exponent, digits)}"
    return rounded_up(Context(prec=_DIGITS, rounding=ROUND_CEILING).exp(Decimal(exponent)), digits)


def root_up(square: Fraction) -> float:
    """The smallest float64 whose square is at least `square`.

    >>> root_up(Fraction(9)), root_up(Fraction(2)) ** 2 > 2
    (3.0, True)
    """
    root = root_down(square)
    return root if Fraction(root) ** 2 == square else math.nextafter(root, math.inf)


def root_down(square: Fraction) -> float:
    """The largest float64 whose square is at most `square`."""
    if not square > 0:
        return 0.0
    # scaled by a power of 4 to about 128 bits, so that the root has 64
    shift = (square.numerator.bit_length() - square.denominator.bit_length() - 128) // 2
    root = math.ldexp(math.isqrt(math.floor(square / Fraction(4) ** shift)), shift)
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    while Fraction(above := math.nextafter(root, math.inf)) ** 2 <= square:
        root = above
    return root


def _text(value: Number, digits: int, rounding: str) -> str:
    exact = _decimal(value, rounding)
    if not exact or not exact.is_finite():
        return f"{exact:f}".lower().removesuffix("inity") if exact else "0"
    last = Decimal((0, (1,), exact.adjusted() - digits + 1))
    rounded = exact.quantize(last, rounding, Context(prec=_DIGITS + digits))
    if rounded.adjusted() in _PLAIN:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{rounded.normalize():e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _decimal(value: Number, rounding: str) -> Decimal:
    if isinstance(value, Fraction):
        context = Context(prec=_DIGITS, rounding=rounding)
        return context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))
