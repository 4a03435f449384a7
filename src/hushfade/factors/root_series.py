"""Closed forms: the coefficients of right factors, and the sums that define power laws.

    counting       √(1/(1-x)):          a_n = C(2n, n) / 4^n
    exponential    √(1/(1 - x/α)):      α^-n a_n
    window         √((1-x^w)/(1-x)):    Σ_k c_k a_{n-kw}, c = √(1-y)
    power ≤ 0.9    √(Li_c(x)/x)         from lag 1024 on as an integral over exponentials
    unbounded counting, (1-x)^-½ ℓ^-β   the same
    left of a blend, for counting       the same

The integral: h(x) = Σ h_n x^n is analytic outside the cut [1, ∞), so Cauchy's formula around the
cut gives h_n = (1/π) ∫_0^∞ Im h(e^s + i0) e^(-ns) ds.  The trapezoidal rule in ln s turns it into a
sum of about 300 exponentials, with a relative error of 1e-13 for all n ≥ 1024.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check
from hushfade.check import Column, ComplexColumn
from hushfade.errors import InvalidValue
from hushfade.factors import power_series
from hushfade.factors.columns import parts

if TYPE_CHECKING:
    from hushfade.decays import Decay

NEAR = 1024  # smaller lags come from the series
_STEP = 0.25  # the step of the trapezoidal rule in ln s, whose error is e^(-π²/step)
_PERIODS = 4096  # up to this many periods of a window, the closed form is about as fast
STEEPEST = 0.9  # the largest power; from 1 on, the expansion of Li_c has logarithms
_OCTAVE = 32  # parts of an octave
_LN2 = 0.6931471805599453
_SERIES = (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0)  # series of (e^t - 1) / t, last term first


@lru_cache(maxsize=4)
def weights_of(decay: Decay, n: int) -> Column:
    """The decay's weights f_0, ..., f_{n-1}, kept for the next caller."""
    weights = decay.weights(n)
    weights.flags.writeable = False
    return weights


def window_is_quick(w: int, n: int) -> bool:
    """Whether `window` takes less time than a square root by FFT products."""
    return n <= _PERIODS * w or w <= 2


def window(w: int, n: int) -> Column:
    """√((1-x^w)/(1-x)): row k of the result is Σ_j c_j times row k-j of the central column."""
    a = central(n)
    if w == 1:
        return np.eye(1, n).ravel()
    if w == 2:  # √(1+x)
        index = np.arange(n)
        return np.asarray((1.0 - 2.0 * (index % 2)) * a / (1.0 - 2.0 * index))
    if n <= w:
        return a
    rows = -(-n // w)
    padded = np.zeros(rows * w)
    padded[:n] = a
    table = padded.reshape(rows, w)
    c = np.cumprod(np.append(1.0, 1.0 - 1.5 / np.arange(1, rows)))
    out = table.copy()
    for k in range(1, rows):
        out[k:] += c[k] * table[:-k]
    return out.ravel()[:n]


def counting(c: float, beta: float, n: int) -> Column:
    """r_0, ..., r_{n-1} of (1-x)^-½ ℓ^-β with ℓ = 1 + c ln(1/(1-x)), 0 < c ≤ 1, for any real β.

    On the cut 1 - x = -(e^s - 1), so ln(1/(1-x)) = iπ - ln(e^s - 1).  ℓ has a zero at
    x = 1 - e^(1/c) ≤ -1.7.  It changes coefficient n by about 1.7^-n, which is negligible from lag
    1024 on.

    >>> counting(0.5, 2.0, 3)  # r_1 = ½ - βc
    array([ 1.   , -0.5  ,  0.125])
    """
    near = min(n, NEAR)
    log = np.append(1.0, c / np.arange(1.0, near))
    first = power_series.multiply(central(near), power_series.power(log, -beta))
    if n <= NEAR:
        return first

    def cut(s: Column) -> ComplexColumn:
        step = np.expm1(s)
        return np.asarray(1j * step**-0.5 * (1.0 + c * (1j * np.pi - np.log(step))) ** -beta)

    return with_far(first, cut, 0.5, n)


def blended_left(c: float, n: int) -> Column:
    """l_0, ..., l_{n-1} of g/r for counting, g = 1/(1-x), with r = 1 + c (√g - 1), 0 < c ≤ 1.

    l = 1/((1-c)(1-x) + c √(1-x)), whose denominator has no zero but 1: √(1-x) is not negative.

    >>> blended_left(0.5, 3)
    array([1.   , 0.75 , 0.625])
    """
    near = min(n, NEAR)
    first = power_series.multiply(np.ones(near), power_series.inverse(blended_right(c, near)))
    return first if n <= NEAR else with_far(first, partial(blend_on_cut, c), 0.5, n)


def blended_right(c: float, n: int) -> Column:
    """r_0, ..., r_{n-1} of r = 1 + c (√g - 1) for counting."""
    right = c * central(n)
    right[0] = 1.0
    return right


def blend_on_cut(c: float, s: Column) -> ComplexColumn:
    """The left factor g/r of `blended_left` at x = e^s + i0."""
    step = np.expm1(s)
    return np.asarray(-1.0 / ((1.0 - c) * step + 1j * c * np.sqrt(step)))


def central(n: int) -> Column:
    """C(2k, k) / 4^k for k < n: first by products, then by the expansion
    (πz)^-½ (1 - 1/64z² + 21/8192z⁴ - 671/524288z⁶ + ...) with z = k + ¼."""
    column = np.empty(n)
    column[:128] = np.cumprod(np.append(1.0, 1.0 - 0.5 / np.arange(1.0, min(n, 128))))
    for here in parts(n - 128):
        z = np.arange(128.0 + here.start, 128.0 + here.stop) + 0.25
        y = 1.0 / (z * z)
        rest = 1.0 + y * (-1.0 / 64 + y * (21.0 / 8192 - y * (671.0 / 524288)))
        column[128 + here.start : 128 + here.stop] = rest / np.sqrt(np.pi * z)
    return column


def power_law_on_cut(c: float, s: Column) -> ComplexColumn:
    """√(Li_c(x)/x) at x = e^s + i0 for small s: Li_c = Γ(1-c) (-s)^(c-1) + Σ_k ζ(c-k) s^k / k!."""
    from scipy.special import zetac

    k = np.arange(12)
    terms = (1.0 + zetac(c - k)) / np.cumprod(np.maximum(k, 1))
    singular = math.gamma(1.0 - c) * s ** (c - 1.0) * np.exp(1j * np.pi * (1.0 - c))
    smooth = np.polynomial.polynomial.polyval(s, terms)
    return np.asarray(np.sqrt((singular + smooth) * np.exp(-s)))


def nodes(exponent: float, n: int) -> Column:
    """The rates s of the exponentials e^(-ks) that represent h_k for 1024 ≤ k < n.

    Im h · s falls like s^exponent towards 0.  The nodes cover the range outside of which e^-1024s,
    or the rest below, is at most e^-40 of all.
    """
    top, bottom = math.log(45.0 / NEAR), -math.log(n) - 40.0 / exponent
    return np.asarray(np.exp(np.arange(top, bottom, -_STEP)))


def weighted(s: Column, cut: ComplexColumn) -> Column:
    """The weights of the exponentials, from the values of h on the cut."""
    return np.asarray(_STEP / np.pi * s * cut.imag)


def with_far(
    near: Column, cut: Callable[[Column], ComplexColumn], exponent: float, n: int
) -> Column:
    """h_0, ..., h_{n-1} from h_0, ..., h_1023, and h on the cut.

    Im h · s falls like s^exponent towards 0.
    """
    s = nodes(exponent, n)
    weights = weighted(s, cut(s))
    width = math.isqrt(n - NEAR) + 1
    coarse = weights * np.exp(-np.outer(NEAR + width * np.arange(width), s))
    column = np.empty(NEAR + width * width)
    column[:NEAR] = near
    far = column[NEAR:].reshape(width, width)
    np.matmul(coarse, np.exp(-np.outer(s, np.arange(width))), out=far)
    return column[:n]


def power_sum(power: float, steps: int, tolerance: float = 1e-9) -> tuple[Column, Column]:
    """Weights w and rates s with Σ_j w_j e^(-(k+1) s_j) = (k+1)^-power for all k < steps.

    The trapezoidal rule in u = ln s is applied to (k+1)^-c = Γ(c)⁻¹ ∫ s^c e^-(k+1)s du.  The step h
    has a relative error of 2 |Γ(c + 2πi/h)| / Γ(c), and the upper end one of Γ(c, s)/Γ(c).  The
    geometric rest below becomes one term with the same sum and mean rate.  Each error uses a fourth
    of the tolerance.

    >>> weights, rates = power_sum(1, 1000)
    >>> len(rates), round(float(weights @ np.exp(-4 * rates)), 8)
    (45, 0.25)
    """
    from scipy.special import gammainccinv, loggamma

    c, steps = check.positive(power=power), check.count(steps=steps)
    tolerance = check.positive(tolerance=tolerance)
    if not c <= 500:
        raise InvalidValue("must be <= 500", argument="power", got=repr(c))
    if not 1e-13 <= tolerance <= 1e-2:
        raise InvalidValue("tolerance must be in [1e-13, 0.01]", got=repr(tolerance))
    part, scale, h = math.log(tolerance / 4), math.lgamma(c), 1.0
    while math.log(2.0) + loggamma(c + 2j * math.pi / h).real - scale > part:
        h *= 0.98
    top = math.log(gammainccinv(c, tolerance / 4))
    # below, e^-x is replaced by 1 - x, with an error of at most x²/2, summed at the last lag
    bottom = (part + scale + math.log(-2.0 * math.expm1(-(c + 2.0) * h) / h)) / (c + 2.0)
    u = np.arange(top, min(bottom - math.log(steps), top) - h, -h)
    weights, rates = h * np.exp(c * u - scale), np.exp(u)
    weights[-1] /= -math.expm1(-h * c)
    rates[-1] *= math.expm1(-h * c) / math.expm1(-h * (c + 1.0))
    return weights, rates


def polylogarithm_over_x(c: float, theta: Column) -> ComplexColumn:
    """Li_c(x)/x = Σ (k+1)^-c x^k at x = e^iθ, for c > 0 and angles in (0, π].

    The trapezoidal rule in u = log s gives Li_c(x)/x = Γ(c)⁻¹ ∫ s^{c-1} e^-s / (1 - x e^-s) ds.
    The nearest poles are at Im u = ±π/2, so a step h has an error of about |Γ(c + 2πi/h)| / Γ(c),
    which is below 1e-16 for the steps used here.  For c ≥ 8 the series is summed term by term.
    Below s_0 = 1e-20 θ the integrand is an exponential of u, and has a closed sum.

    >>> at_minus_one = polylogarithm_over_x(1.0, np.array([np.pi]))  # 1 - 1/2 + 1/3 - ... = ln 2
    >>> print(f"{at_minus_one[0].real:.12f}")
    0.693147180560
    """
    if c >= 8.0:
        terms = np.arange(1.0, 2.0 + 10.0 ** (18.0 / c))
        return np.asarray(np.exp(1j * theta[:, None] * (terms - 1.0)) @ terms**-c)
    step = 0.2 if c <= 4.0 else 0.15
    low, high = math.log(float(np.min(theta))) - 46.0, math.log(50.0 + 8.0 * c)
    u = np.arange(high, low, -step)
    out = np.zeros(len(theta), dtype=np.complex128)
    for part in np.array_split(u, 1 + len(u) // 256):
        density = np.exp(c * part - np.exp(part) - math.lgamma(c))
        out += density @ (-1.0 / np.expm1(1j * theta[None, :] - np.exp(part)[:, None]))
    rest = math.exp(c * float(u[-1]) - math.lgamma(c)) / math.expm1(c * step)
    return np.asarray(step * (out - rest / np.expm1(1j * theta)))


def exp2(x: Column) -> Column:
    """2^x for -1 ≤ x ≤ 0, with an error below 0.6 units in the last place.

    It has the same bits on every machine.  numpy has variants of exp2 for different processors, and
    their last bits differ.  This function uses only additions and multiplications of whole columns,
    whose results IEEE 754 defines.

    2^x = 2^(i/32) e^t with the nearest i and |t| ≤ ln 2 / 64; six terms of the series give e^t.

    >>> exp2(np.array([-1.0, -0.5])).tolist()
    [0.5, 0.7071067811865476]
    """
    high, low = _powers()
    t = -_OCTAVE * x
    nearest = np.rint(t)
    t -= nearest
    t *= -_LN2 / _OCTAVE
    series = np.full(len(x), _SERIES[0])
    for coefficient in _SERIES[1:]:
        series *= t
        series += coefficient
    series *= t
    place = nearest.astype(np.intp)
    base = high[place]
    series *= base
    series += low[place]
    series += base
    return series


@cache
def _powers() -> tuple[Column, Column]:
    """2^(-i/32) for i ≤ 32, each as the sum of two float64."""
    with localcontext() as context:
        context.prec = 40
        exact = [Decimal(2) ** (Decimal(-i) / _OCTAVE) for i in range(_OCTAVE + 1)]
        high = [float(value) for value in exact]
        low = [float(value - Decimal(h)) for value, h in zip(exact, high, strict=True)]
    return np.array(high), np.array(low)
