"""The calibration of Gaussian noise: conservative mu and epsilon, the same on every machine.

    δ(ε; μ) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)      Balle & Wang 2018, Theorem 8

`mu_of` and `epsilon_of` return numbers of 51 bits that satisfy δ(ε; μ) ≤ delta, and the next number
of 51 bits does not.  So the first guess has no influence on the result.  The code uses the standard
library's decimal numbers, because the last bits of exp and erfc depend on the processor.

With a = ε/μ - μ/2, b = ε/μ + μ/2 and the Mills ratio M(x) = Φ(-x)/φ(x), δ = φ(a) (M(a) - M(b)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

from hushfade import check
from hushfade.errors import InvalidValue

_LEAST = 1e-5  # the smallest mu
_LEAST_DELTA = 1e-300  # below this, float64 loses digits, and delta_of loses all of them
_BITS = 51  # bits of a result
_DIGITS, _LEFT_OUT = 42, Decimal("1e-30")  # digits, and relative truncation error of a Mills ratio
_ROUGH_DIGITS, _ROUGHLY = 30, Decimal("1e-9")  # the same for a first guess
# The error of truncation, plus the rounding of fewer than 1000 operations with 42 digits, of which
# cancellation costs 5: less than 1e-33.
_ERROR = Decimal("2e-30")
_ROUNDED = Decimal("1e-40")  # relative rounding error of δ in the last operation
_SERIES = Decimal("3.5")  # up to this argument the series is faster than the continued fraction
_ROOT = Decimal("2.50662827463100050241576528481104525300698674060993831662992357634229")  # √(2π)


def checked_delta(delta: float) -> float:
    """The delta of a guarantee, checked to be in [1e-300, 1).

    >>> checked_delta(1e-301)
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: delta must be at least 1e-300, got 1e-301
    """
    number = check.probability(delta=delta)
    if not number >= _LEAST_DELTA:
        raise InvalidValue(f"must be at least {_LEAST_DELTA:g}", argument="delta", got=repr(number))
    return number


@lru_cache(maxsize=1024)
def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu of 51 bits with δ(epsilon; mu) ≤ delta: the tight calibration of the noise.

    Raises InvalidValue if this mu is below 1e-5.  Cost: about a millisecond.

    >>> round(mu_of(1.0, 1e-6), 9)
    0.236704381
    """
    epsilon, delta = check.positive(epsilon=epsilon), checked_delta(delta)
    e, budget = Decimal(epsilon), Decimal(delta)
    with localcontext() as context:
        context.prec = _ROUGH_DIGITS + _whole_digits(epsilon)
        log = budget.ln()

        def stepped(mu: Decimal, left_out: Decimal) -> tuple[Decimal, Decimal]:
            """Newton's method on ln δ, which is concave in ln μ."""
            loss = _loss(e, mu, left_out)
            step = (loss.delta.ln() - log) * loss.delta / (mu * loss.density)
            return mu * (-step).exp(), step

        mu = (2 * (e - log)).sqrt() - (-2 * log).sqrt()  # from zCDP (Bun & Steinke 2016), too small
        guess = _settled(mu, stepped)
        context.prec = _DIGITS + _whole_digits(epsilon)
        guess, _ = stepped(guess, _LEFT_OUT)
        found = _edge(float(guess), lambda m: _above(e, Decimal(m)) <= budget, outward=1)
    if not found >= _LEAST:
        raise InvalidValue(
            f"epsilon and delta must allow a mu >= {_LEAST:g}",
            got=f"{found:.3g}",
            remedy="give a larger epsilon or delta",
        )
    return found


@lru_cache(maxsize=1024)
def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon ≥ 0 of 51 bits with δ(epsilon; mu) ≤ delta.

    Cost: about a millisecond.

    >>> round(epsilon_of(0.236704381, 1e-6), 6)
    1.0
    """
    mu, delta = check.positive(mu=mu), checked_delta(delta)
    m, budget = Decimal(mu), Decimal(delta)
    with localcontext() as context:
        context.prec = _DIGITS + _whole_digits(mu * mu)
        if _above(Decimal(0), m) <= budget:
            return 0.0
        log = budget.ln()

        def stepped(epsilon: Decimal, left_out: Decimal) -> tuple[Decimal, Decimal]:
            """Newton's method on ln δ, which is concave in ε; never below half of ε."""
            loss = _loss(epsilon, m, left_out)
            step = (loss.delta.ln() - log) * loss.delta / loss.slope
            new = max(epsilon - step, epsilon / 2)
            return new, (new - epsilon) / epsilon

        context.prec = _ROUGH_DIGITS + _whole_digits(mu * mu)
        guess = _settled(m * m / 2 + m * (-2 * log).sqrt(), stepped)  # the first guess is too large
        context.prec = _DIGITS + _whole_digits(mu * mu)
        guess, _ = stepped(guess, _LEFT_OUT)
        return _edge(float(guess), lambda e: _above(Decimal(e), m) <= budget, outward=-1)


def delta_of(mu: float, epsilon: float) -> float:
    """δ(ε) of mu-Gaussian differential privacy.

    The relative error is below 1e-9 for mu ≥ 1e-5 and δ ≥ 1e-30.  With a = ε/μ - μ/2 and
    b = ε/μ + μ/2, e^ε φ(b) = φ(a), so both terms share the factor φ(a):
    δ = ½ e^(-a²/2) [erfcx(a/√2) - erfcx(b/√2)].  This form does not cancel in the tails.
    """
    from scipy.special import erfcx, ndtr

    mu = check.positive(mu=mu)
    epsilon = check.real(epsilon=epsilon)
    if not epsilon >= 0:
        raise InvalidValue("must be >= 0", argument="epsilon", got=repr(epsilon))
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -5.0:  # here erfcx(a) is large, Φ(-a) is near 1, and nothing cancels
        tail = math.exp(-a * a / 2) * float(erfcx(b / math.sqrt(2.0))) / 2
        return float(ndtr(-a)) - tail
    scaled = float(erfcx(a / math.sqrt(2.0))) - float(erfcx(b / math.sqrt(2.0)))
    return 0.5 * math.exp(-a * a / 2) * scaled


def delta_above(epsilon: float, mu: float) -> Decimal:
    """A proven upper bound on δ(epsilon; mu), within 1e-20 of it for mu ≥ 1e-5."""
    with localcontext() as context:
        context.prec = _DIGITS + _whole_digits(max(epsilon, mu * mu))
        return _above(Decimal(epsilon), Decimal(mu))


class _Loss(NamedTuple):
    """δ, a bound on its numerical error, and its derivatives."""

    delta: Decimal
    error: Decimal
    density: Decimal  # φ(a) = ∂δ/∂μ
    slope: Decimal  # -e^ε Φ(-b) = ∂δ/∂ε


def _above(epsilon: Decimal, mu: Decimal) -> Decimal:
    loss = _loss(epsilon, mu, _LEFT_OUT)
    return loss.delta + loss.error


def _loss(epsilon: Decimal, mu: Decimal, left_out: Decimal) -> _Loss:
    """δ and its derivatives, at the precision of the decimal context."""
    ratio, half = epsilon / mu, mu / 2
    a = ratio - half
    near, far = _mills(abs(a), left_out), _mills(ratio + half, left_out)
    density = (-a * a / 2).exp() / _ROOT
    delta = density * (near - far) if a >= 0 else 1 - density * (near + far)
    error = density * (near + far) * _ERROR + delta * _ROUNDED
    return _Loss(delta, error, density, -density * far)


def _mills(x: Decimal, left_out: Decimal) -> Decimal:
    """M(x) = Φ(-x)/φ(x) for x ≥ 0, with a relative error of `left_out`.

    The code uses √(π/2) e^(x²/2) - Σ_n x^(2n+1) / (2n+1)!!, whose terms are positive.  For large x
    it uses the continued fraction 1/(x + 1/(x + 2/(x + 3/(x + ...)))).  With its denominators B_n
    the fraction equals Σ_n (-1)^n n! / (B_n B_{n+1}), whose partial sums alternate around M(x).
    """
    if x <= _SERIES:
        square, total = x * x, x
        term, n = x, 1
        while 64 * term > left_out:  # here each term is less than half of the previous one
            n += 2
            term = term * square / n
            total += term
        return _ROOT / 2 * (square / 2).exp() - total
    before, last = x, x * x + 1
    term, n = -1 / (before * last), 1
    total = 1 / x + term
    while abs(term) > left_out * total:
        n += 1
        new = x * last + n * before
        term = -n * term * before / new
        total += term
        before, last = last, new
    return total


def _whole_digits(epsilon: float) -> int:
    """The digits before the decimal point of ε, and so of ε/μ and μ/2, whose difference is a."""
    return max(0, math.frexp(epsilon)[1] // 3)


def _settled(
    guess: Decimal, stepped: Callable[[Decimal, Decimal], tuple[Decimal, Decimal]]
) -> Decimal:
    """The guess, improved until a step changes it by a relative 1e-8 or less."""
    for _ in range(100):
        guess, step = stepped(guess, _ROUGHLY)
        if abs(step) < 10 * _ROUGHLY:
            break
    return guess


def _edge(guess: float, accepts: Callable[[float], bool], *, outward: int) -> float:
    """The last accepted number of 51 bits in the direction `outward` (1 is up, -1 is down).

    All numbers before it are accepted, and all numbers beyond it are not.  The guess is arbitrary.
    """
    while True:
        exponent = math.frexp(guess)[1] - _BITS
        inside = outside = round(math.ldexp(guess, -exponent))
        step = outward
        if accepts(math.ldexp(inside, exponent)):
            while accepts(math.ldexp(outside := inside + step, exponent)):
                inside, step = outside, 2 * step
        else:
            while not accepts(math.ldexp(inside := outside - step, exponent)):
                outside, step = inside, 2 * step
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            if accepts(math.ldexp(middle, exponent)):
                inside = middle
            else:
                outside = middle
        guess = math.ldexp(inside, exponent)
        if math.frexp(guess)[1] - _BITS == exponent:  # otherwise its neighbours are on another grid
            return guess
