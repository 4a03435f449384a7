"""Power series as float64 columns: multiply, inverse, power, square_root in O(n log n).

Every coefficient is accurate, including small ones.  Newton's iteration doubles the known part
[0, m) to [0, 2m) at each level.  Three techniques keep the errors relative to each coefficient:

* *Blocks of similar magnitude.*  (h·h)[m:2m) never needs the product of the low halves, so each
  product has one factor from [m/2, 2m) only, and its FFT error is relative to this block.
* *Two words.*  Residuals are computed in two float64 words (`fft_products`) and the step is refined
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
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import wraps
from typing import ParamSpec

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidValue
from hushfade.factors.fft_products import Words, plain_product, product, single
from hushfade.factors.geometric_scaling import held, slope, tilted

__all__ = ["inverse", "multiply", "power", "square_root"]

P = ParamSpec("P")

_BASE = 64  # the number of coefficients computed directly, in 50-digit decimals
_STEEPER = 24.0  # bits by which a level may tilt its column more than the previous level
_TINY = float(np.finfo(np.float64).tiny)


def _quietly(work: Callable[P, Column]) -> Callable[P, Column]:
    """The function, without numpy's overflow warnings; `_finished` raises an error instead."""

    @wraps(work)
    def quiet(*arguments: P.args, **options: P.kwargs) -> Column:
        with np.errstate(over="ignore", invalid="ignore"):
            return work(*arguments, **options)

    return quiet


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
    u, v = _padded(a, width), _padded(b, width)
    out = np.convolve(a[:_BASE], b[:_BASE])[:_BASE]
    m = _BASE
    while m < n:
        theta = held(slope(u[:m], v[:m]), u[: 2 * m], v[: 2 * m])
        block = _middle(tilted(single(u[: 2 * m]), theta), tilted(single(v[: 2 * m]), theta), m)
        out = np.concatenate([out, tilted(block, -theta, start=m).rounded()])
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
    g = single(_padded(f, width))
    y = _base(f, _decimal_inverse)
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(slope(y.high, g.high[:m]), theta + _STEEPER / m)
        theta = held(theta, g.high[: 2 * m])
        tilted_y, tilted_g = tilted(y, theta), tilted(g[: 2 * m], theta)
        residual = -_middle(tilted_y, tilted_g, m)
        step = _solved(residual, tilted_g[:m], tilted_y.high)
        y = y.joined(tilted(step, -theta, start=m))
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
    g = _padded(f, _width(n))
    h = _base(f, _decimal_square_root)
    if n <= _BASE:
        return _finished(h.rounded()[:n], "√f")
    y = _base(_finished(h.rounded(), "√f"), _decimal_inverse).rounded()
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(slope(h.high), theta + _STEEPER / m)
        tilted_h = tilted(h, theta)
        tilted_y = tilted(single(y), theta).high
        residual = tilted(single(g[m : 2 * m]), theta, start=m).plus(-_square(tilted_h, m))
        double = Words(2 * tilted_h.high, 2 * tilted_h.low)
        step = _solved(residual, double, 0.5 * tilted_y)
        if 2 * m < n:
            grown = _inverse_step(tilted_y, tilted_h.joined(step).high)
            y = np.concatenate([y, tilted(single(grown), -theta, start=m).high])
        h = h.joined(tilted(step, -theta, start=m))
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
    q = _padded(p * multiply(_finished(derivative, "x f'"), inverse(f)), width)
    h = _base(f, lambda c: _decimal_power(c, p)).rounded()
    if n <= _BASE:
        return _finished(h[:n], f"f^{p:g}")
    y = _base(_finished(h, f"f^{p:g}"), _decimal_inverse).rounded()
    m, theta = _BASE, math.inf
    while m < n:
        theta = min(slope(h, q[:m]), theta + _STEEPER / m)
        theta = held(theta, q[: 2 * m])
        tilted_h, tilted_y = tilted(single(h), theta).high, tilted(single(y), theta).high
        block = _middle(single(tilted_h), tilted(single(q[: 2 * m]), theta), m).rounded()
        integral = plain_product(tilted_y, block, slice(0, m)) / index[m : 2 * m]
        step = product(single(tilted_h), single(integral), slice(0, m)).rounded()
        if 2 * m < n:
            grown = _inverse_step(tilted_y, np.concatenate([tilted_h, step]))
            y = np.concatenate([y, tilted(single(grown), -theta, start=m).high])
        h = np.concatenate([h, tilted(single(step), -theta, start=m).high])
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


# The first coefficients, and helpers ---------------------------------------------------------


def _base(f: Column, law: Callable[[list[Decimal]], list[Decimal]]) -> Words:
    """The first coefficients, by their recurrence in 50-digit decimals."""
    with localcontext() as context:
        context.prec = 50
        exact = law([Decimal(float(c)) for c in _padded(f[:_BASE], _BASE)])
        high = [float(c) for c in exact]
        low = [
            float(c - Decimal(h)) if math.isfinite(h) else 0.0
            for c, h in zip(exact, high, strict=True)
        ]
    return Words(np.array(high), np.array(low))


def _decimal_inverse(f: list[Decimal]) -> list[Decimal]:
    y = [1 / f[0]]
    for n in range(1, len(f)):
        y.append(-sum((f[k] * y[n - k] for k in range(1, n + 1)), Decimal(0)) / f[0])
    return y


def _decimal_square_root(f: list[Decimal]) -> list[Decimal]:
    a = [f[0].sqrt()]
    for n in range(1, len(f)):
        known = sum((a[k] * a[n - k] for k in range(1, n)), Decimal(0))
        a.append((f[n] - known) / (2 * a[0]))
    return a


def _decimal_power(f: list[Decimal], p: float) -> list[Decimal]:
    exponent = Decimal(p)
    h = [f[0] ** exponent]
    for n in range(1, len(f)):
        known = sum(
            ((exponent * k - (n - k)) * f[k] * h[n - k] for k in range(1, n + 1)), Decimal(0)
        )
        h.append(known / (n * f[0]))
    return h


def _width(n: int) -> int:
    """The power of two at which the doubling stops."""
    return max(_BASE, 1 << (n - 1).bit_length())


def _padded(column: Column, width: int) -> Column:
    out = np.zeros(width)
    out[: len(column)] = column
    return out


def _finished(column: Column, what: str) -> Column:
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InvalidValue(f"{what} must fit into float64, but overflows at coefficient {bad[0]}")
    column[np.abs(column) < _TINY] = 0.0
    return column
