"""δ(ε) of Gaussian noise in decimals, with as many digits as its cancellation needs."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext, localcontext

from hushfade.errors import InvalidValue

_DIGITS, _MOST_DIGITS = 60, 1000  # digits after cancellation, and the most digits in total


def delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), computed in decimals.

    Cancellation in 1/2 + ... loses digits of Φ(-μ/2 - ε/μ), so the computation has that many more.

    >>> f"{delta(0.236704, 1.0):.3e}"
    '1.000e-06'
    """
    far = abs(mu) / 2 + epsilon / mu
    digits = _DIGITS + math.ceil(far * far / 2 / math.log(10.0))
    if digits > _MOST_DIGITS:
        raise InvalidValue(
            f"epsilon is too large for this mu: delta needs {digits} digits, and the audit "
            f"computes at most {_MOST_DIGITS}"
        )
    with localcontext() as context:
        context.prec = digits
        m, e = Decimal(mu), Decimal(epsilon)
        return float(_normal(m / 2 - e / m) - e.exp() * _normal(-m / 2 - e / m))


def _normal(x: Decimal) -> Decimal:
    """Φ(x) by Σ x^(2n+1)/(2n+1)!!, whose terms all have the same sign."""
    term = total = x
    n, least = 1, Decimal(10) ** -(getcontext().prec + 10)
    while abs(term) > least:
        n += 2
        term = term * x * x / n
        total += term
    return Decimal(1) / 2 + total * (-x * x / 2).exp() / (2 * _pi()).sqrt()


def _pi() -> Decimal:
    """π by the Gauss-Legendre iteration, which doubles the digits in each round."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal(1) / 4, Decimal(1)
    for _ in range(getcontext().prec.bit_length() + 1):
        after = (a + b) / 2
        b, t, p, a = (a * b).sqrt(), t - p * (a - after) ** 2, 2 * p, after
    return (a + b) ** 2 / (4 * t)
