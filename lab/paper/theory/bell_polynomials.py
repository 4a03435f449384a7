"""Bell polynomials, and the theorems that the paper derives from them.

    partial(s)             B_{n,k}(s_1, s_2, ...), Definition 1
    ordinary(c)            the same with ordinary coefficients, in float64
    root_coefficients(f)   a_n of √g by the formula of Theorem 2
    cancellation(f)        the size of the terms that cancel in that formula
    composition(F, G)      derivatives of F(G(x)), Theorem 8 (Faà di Bruno)
    inverse(F)             derivatives of the compositional inverse, Theorem 9
    rooted(s), squared(y)  the pair of Theorem 13

Sequences of derivatives and of s, y start at order 1.  Results are exact for integers and
Fractions, and rounded for floats.  `hushfade.factors.power_series` computes the same a_n in
O(n log n) with full accuracy.  This module implements the paper's formulas in order to check them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors import power_series

Number: TypeAlias = Fraction | float
"""An int or a Fraction, exact; or a float."""

Numbers: TypeAlias = Sequence[Number] | Column


def partial(s: Numbers) -> list[list[Number]]:
    """The triangle of B_{n,k}(s_1, s_2, ...), as rows [n][k] for 0 ≤ k ≤ n ≤ len(s).

    B_{n,k} = Σ_i C(n-1, i-1) s_i B_{n-i,k-1} with B_{0,0} = 1, where i is the size of the block
    that contains the last of the n elements.  Cost: n³/6 products.

    >>> partial([1, 1, 1, 1])[4]  # partitions of four elements into 0, 1, 2, 3, 4 blocks
    [0, 1, 7, 6, 1]
    """
    s = _numbers(s=s)
    triangle: list[list[Number]] = [[1]]
    for n in range(1, len(s) + 1):
        weighted = [math.comb(n - 1, i - 1) * s[i - 1] for i in range(1, n + 1)]
        row: list[Number] = [0]
        for k in range(1, n + 1):
            blocks = range(1, n - k + 2)
            row.append(_total(weighted[i - 1] * triangle[n - i][k - 1] for i in blocks))
        triangle.append(row)
    return triangle


def ordinary(c: Column) -> NDArray[np.float64]:
    """The array of B̂_{n,k}(c_1, c_2, ...) = (k!/n!) B_{n,k}(1! c_1, 2! c_2, ...), by [n, k].

    It is the coefficient of x^n in (c_1 x + c_2 x² + ...)^k, so it needs no factorials.  If all
    c_i ≤ 1, it fits float64 up to n = 1000.  Cost: n products of series, O(n³).

    >>> ordinary([1.0, 0.5, 0.25])[3]
    array([0.  , 0.25, 1.  , 1.  ])
    """
    c = np.concatenate([[0.0], check.coefficients(c=c)])
    out = np.zeros((len(c), len(c)))
    out[0, 0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, len(c)):
            out[k:, k] = np.convolve(out[:, k - 1], c)[k : len(c)]
    if not np.all(np.isfinite(out)):
        n, k = np.argwhere(~np.isfinite(out))[0]
        raise InvalidValue(
            "c must keep every polynomial in float64", got=f"overflow at n, k = {n}, {k}"
        )
    return out


@overload
def root_coefficients(f: Column) -> Column: ...
@overload
def root_coefficients(f: Sequence[int | Fraction]) -> list[Fraction]: ...
@overload
def root_coefficients(f: Sequence[float]) -> Column: ...
def root_coefficients(f: Any) -> Any:
    """a_0, ..., a_{n-1} with (Σ a_n x^n)² = Σ f_n x^n, by the formula of Theorem 2.

        s_n = n! f_n / f_0,    a_n = (√f_0 / n!) Σ_{k=1}^n B_{n,k}(s) Π_{m<k} (½ - m)

    Integers and Fractions give exact Fractions; f_0 must then be the square of a rational (it is 1
    in the paper).  Cost: n³/6 products of growing fractions, one second at n = 100.

    Floats give a float64 column, by a_n = √f_0 Σ_k C(½, k) B̂_{n,k}(f/f_0).  The terms alternate in
    sign and cancel; `cancellation` measures this.  No correct digit is left at n = 60 for counting
    and exponentials, and at n = 160 for power 1.  For powers ≥ 1.73 no digits are lost.

    >>> [str(a) for a in root_coefficients([1, 1, 1, 1])]  # C(2n, n) / 4^n
    ['1', '1/2', '3/8', '5/16']
    >>> root_coefficients([1.0, 1.0, 0.0])
    array([ 1.   ,  0.5  , -0.125])
    """
    numbers = _numbers(f=f)
    if not numbers:
        raise InvalidValue("f must not be empty", got="no coefficients")
    if not numbers[0] > 0:
        raise InvalidValue("f must start with a coefficient > 0", got=numbers[0])
    if any(isinstance(number, float) for number in numbers):
        return _float_root(np.array([check.real(f=number) for number in numbers]))
    first = Fraction(numbers[0])
    root = Fraction(math.isqrt(first.numerator), math.isqrt(first.denominator))
    if root**2 != first:
        raise InvalidValue("f must start with the square of a rational to be exact", got=first)
    s = [math.factorial(n) * Fraction(numbers[n]) / first for n in range(1, len(numbers))]
    return [root] + [root * y / math.factorial(n) for n, y in enumerate(rooted(s), start=1)]


def cancellation(f: Column) -> Column:
    """The sums t_n = √f_0 Σ_k |C(½, k)| B̂_{n,k}(|f|/f_0) of the sizes of the terms of a_n.

    The error of float64 `root_coefficients` is at most 10 · 2^-53 t_n (measured for every decay of
    `hushfade.decays` and n ≤ 300), so log10(t_n / |a_n|) digits are lost.  In closed form
    Σ_{n≥1} t_n x^n = √f_0 (1 - √(1 - u(x))) with u(x) = Σ_{n≥1} |f_n| x^n / f_0, so t_n grows like
    ρ^-n where u(ρ) = 1.  The ratio t_n / a_n grows like 2^n for counting and exponentials, and like
    1.255^n for power 1.  If u(1) < 1, as for power laws with ζ(c) < 2, c > 1.7286, it is bounded.
    Cost: one square root of a series, O(n log n).

    >>> cancellation([1.0, 1.0, 1.0, 1.0])  # a_3 = 5/16 = 1/2 - 1/4 + 1/16
    array([1.    , 0.5   , 0.625 , 0.8125])
    """
    f = check.positive_start(f=f)
    sizes = -power_series.square_root(np.concatenate([f[:1], -np.abs(f[1:])]))
    sizes[0] *= -1
    return np.asarray(sizes + 0.0)  # no -0.0


def composition(outer: Numbers, inner: Numbers) -> list[Number]:
    """The derivatives of F(G(x)) at x, orders 1, ..., n (Theorem 8).

    (F∘G)^(n) = Σ_{k=1}^n F^(k) B_{n,k}(G', G'', ...) with `outer` = F'(G(x)), F''(G(x)), ... and
    `inner` = G'(x), G''(x), ...  The y_n of Theorem 9 is the same sum: composition(F, s).

    >>> composition([1, 1, 1, 1], [1, 1, 1, 1])  # e^(e^x - 1) at 0: the Bell numbers
    [1, 2, 5, 15]
    """
    outer, inner = _numbers(outer=outer), _numbers(inner=inner)
    if len(outer) != len(inner):
        raise InvalidValue(
            "outer and inner must have the same length", got=f"{len(outer)} and {len(inner)}"
        )
    return _composed(outer, partial(inner))


def inverse(outer: Numbers) -> list[Number]:
    """The derivatives at F(a) of G, the compositional inverse of F: G(F(x)) = x near a.

    The code solves Σ_k G^(k) B_{n,k}(F', F'', ...) = [n = 1] for the term k = n.  Then Theorem 9
    holds for every sequence: y = composition(F, s) if and only if s = composition(G, y).

    Requires F'(a) ≠ 0.  The paper requires F(a) ≠ 0 instead, which is neither necessary (log at 1)
    nor sufficient (cos at 0).  It also writes G^(k) at f(a) instead of F(a), and defines G by
    F(G(x)) = G(F(x)), without = x.

    >>> [int(d) for d in inverse([1, 1, 1, 1])]  # of e^x at 0: ln at 1
    [1, -1, 2, -6]
    """
    outer = _numbers(outer=outer)
    triangle = partial(outer)
    if not triangle[-1][-1] != 0:  # F'(a)^n; in floats it is also 0 if it underflows
        raise InvalidValue("outer must start with a derivative != 0", got=outer[0])
    one: Number = 1.0 if any(isinstance(number, float) for number in outer) else Fraction(1)
    found: list[Number] = []
    for n in range(1, len(outer) + 1):
        known = _total(g * b for g, b in zip(found, triangle[n][1:], strict=False))
        found.append(one * ((n == 1) - known) / triangle[n][n])
    return found


def rooted(s: Numbers) -> list[Number]:
    """y_n = Σ_k F^(k)(1) B_{n,k}(s) for F = √: 1 + Σ y_n x^n/n! is the root of 1 + Σ s_n x^n/n!.

    F^(k)(1) = Π_{m<k} (½ - m) (Theorem 13).

    >>> [str(y) for y in rooted([1, 0, 0])]
    ['1/2', '-1/4', '3/8']
    """
    s = _numbers(s=s)
    outer: list[Number] = []
    for m in range(len(s)):
        outer.append((Fraction(1, 2) - m) * (outer[-1] if outer else 1))
    return _composed(outer, partial(s))


def squared(y: Numbers) -> list[Number]:
    """s_n = 2 y_n + Σ_{0<l<n} C(n, l) y_l y_{n-l}, the inverse of `rooted` (Theorem 13).

    >>> squared([1, 1, 1])  # (e^x)² = e^2x
    [2, 4, 8]
    """
    y = [1, *_numbers(y=y)]  # with y_0 = 1 the sum includes 2 y_n
    return [
        _total(math.comb(n, i) * y[i] * y[n - i] for i in range(n + 1)) for n in range(1, len(y))
    ]


def _float_root(f: Column) -> Column:
    if len(f) == 1:
        return np.sqrt(f)
    k = np.arange(len(f) - 1)
    binomials = np.concatenate([[1.0], np.cumprod((0.5 - k) / (k + 1))])  # C(½, k)
    return np.asarray(math.sqrt(f[0]) * (ordinary(f[1:] / f[0]) @ binomials))


def _composed(outer: Sequence[Number], triangle: list[list[Number]]) -> list[Number]:
    """Σ_k F^(k) B_{n,k} for n = 1, 2, ..."""
    return [_total(f * b for f, b in zip(outer, row[1:], strict=False)) for row in triangle[1:]]


def _total(terms: Iterable[Number]) -> Number:
    """The sum of the terms; raises an error if floats overflow."""
    try:
        total = sum(terms, start=0)
    except OverflowError:
        total = math.inf
    if isinstance(total, float) and not math.isfinite(total):
        raise InvalidValue("the result must fit float64, but overflows: use Fractions")
    return total


def _numbers(**argument: Any) -> list[Number]:
    """The value of the single keyword argument as a list of ints, Fractions and finite floats."""
    ((name, value),) = argument.items()
    try:
        items = list(value.tolist() if isinstance(value, np.ndarray) else value)
    except TypeError as error:
        raise InvalidType(
            "must be a sequence of real numbers", argument=name, got=repr(value)
        ) from error
    return [_number(name, item) for item in items]


def _number(name: str, item: Any) -> Number:
    if isinstance(item, bool) or not isinstance(item, Real):
        raise InvalidType(
            "must be a sequence of real numbers", argument=name, got=f"{item!r} in it"
        )
    if isinstance(item, Integral):
        return int(item)
    if isinstance(item, Rational):
        return Fraction(int(item.numerator), int(item.denominator))
    return check.real(**{name: item})
