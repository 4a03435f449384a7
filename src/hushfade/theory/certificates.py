"""Explicit bounds of γ2 and γ_F in O(n log n), for any column of weights, that include rounding.

Lower.  ‖D_u M D_v‖_* ≥ |⟨D_u M D_v, C⟩| for every contraction C.  If C is the n × n corner of an
N × N circulant (or skew-circulant) unitary matrix with the best phases, this gives

    ‖D_u M D_v‖_* ≥ (1/N) Σ_j |Σ_k w_k f_k e^{2πik(j+s)/N}|,   w_k = Σ_i u_{i+k} v_i,   s = 0 or ½

Then γ2(M) is at least this divided by ‖u‖ ‖v‖, and γ_F(M) is at least this with u = 1 divided by
‖v‖.  The weights come from a family with two parameters, v_i² = ((1-x_i)/x_i)^β sin(πx_i)^2e,
x_i = (i+½)/n, and u is v reversed.  (0, 1) is good for fast decays, and the search of Nelder and
Mead (1965) finds better ones.

Upper.  M is a corner of an N × N circulant matrix, N ≥ 2n-1, and γ2 of a circulant matrix is the
mean absolute value of its eigenvalues: γ2(M) ≤ (1/N) Σ_j |Σ_k f_k e^{2πijk/N}|.

Guarantee: a returned bound is valid despite rounding.  It is the computed value minus (plus) an
error term.  In the ℓ2 norm this term has (4q + 8) 2^-53 per factor q of an FFT's length, where all
lengths are 2^a 3^b 5^c (Higham 2002, Theorem 24.2, has about half of it for q = 2), and the value
of `rounding` for the rounding of the weights.  Both sums are 1-Lipschitz in c = w·f and
√2-Lipschitz in the spectrum.  The errors add up to about 1e-12 at n = 1000 and 1e-10 at n = 2^20.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.theory.bound_values import Bound
from hushfade.theory.optimum import UNIT, length, scaled
from hushfade.theory.simplex_search import highest

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # of the initial simplex of a search
_SEARCHED, _REFINED = 1 << 12, 1 << 17  # steps for the long and for the short search


def lower(f: Column, *, weight_error: float = 0.0) -> Bound:
    """The best explicit lower bound of γ2 that the search finds, for f_0, ..., f_{n-1}.

    If all weights are equal, the singular values of M are known (½ csc((2j-1)π/(4n+2))), and
    γ2 ≥ ‖M‖_* / n is better.  The result is never below the largest weight.  `weight_error` bounds
    the difference between each f_k and the exact weight.  Cost: about 100 evaluations on up to 2^12
    steps, 16 on up to 2^17 and 3 on all; each takes four real FFTs of length 2n.

    >>> round(lower(np.ones(1024)).value, 4)
    2.9096
    """
    f = scaled(f)
    n = len(f)

    def value(point: Column, steps: int = n) -> float:
        v = profile(steps, *point)
        return _share(trace_norm(f[:steps], v[::-1], v, weight_error=weight_error), length(v) ** 2)

    largest = (float(np.max(np.abs(f))) - weight_error) * (1.0 - 4.0 * UNIT)
    trivial = Bound(largest, "lower", "gamma2", "largest weight", "Appendix C")
    if np.all(f == f[0]):
        found = _counting(f, weight_error)
    else:
        best = _searched(value, n)
        found = Bound(best, "lower", "gamma2", "circulant test", "Theorem 21")
    return max(found, trivial, key=lambda bound: bound.value)


def lower_frobenius(f: Column, *, weight_error: float = 0.0) -> Bound:
    """An explicit lower bound of γ_F: ‖M D_v‖_* / ‖v‖, v² from the same family.

    >>> bound = lower_frobenius(np.ones(64)).value  # γ_F = 16.799
    >>> 16 < bound < 16.8
    True
    """
    f = scaled(f)
    ones = np.ones(len(f))

    def value(point: Column) -> float:
        v = profile(len(f), *point)
        return _share(trace_norm(f, ones, v, weight_error=weight_error), length(v))

    best = value(highest(value, 0.1 + 0.1 * _CORNERS, evaluations=24))
    return Bound(best, "lower", "gamma_f", "circulant test", "as Theorem 21")


def upper(f: Column, *, weight_error: float = 0.0) -> Bound:
    """The mean absolute eigenvalue of a circulant matrix that contains M, which is ≥ γ2.

    The free entries of the circulant matrix are either zeros or copies of the last weight; the
    better choice is used.  Cost: two real FFTs of length 2n.

    >>> round(upper(np.array([1.0, 1.0])).value, 4)  # γ2 = 1.1547
    1.2071
    """
    from scipy import fft

    f = scaled(f)
    N = fft.next_fast_len(len(f), real=True)
    # γ2 of a change of the weights is at most the ℓ2 norm of the change
    change = weight_error * math.sqrt(N)
    values = []
    for fill in (0.0, float(f[-1])):
        column = np.concatenate([f, np.full(N - len(f), fill)])
        size = np.abs(fft.rfft(column, 2 * N))
        total = 2.0 * float(np.sum(size)) - float(size[0]) - float(size[-1])
        rounding = 1.01 * _transform_error(2 * N) * (length(column) + change)
        values.append(total / (2 * N) * (1.0 + 64.0 * UNIT) + rounding + change)
    return Bound(min(values), "upper", "gamma2", "circulant", "as Mathias 1993")


def trace_norm(f: Column, u: Column, v: Column, *, weight_error: float = 0.0) -> float:
    """A proven lower bound of ‖D_u M D_v‖_* for u, v ≥ 0.  Cost: four real FFTs of length 2n.

    >>> round(trace_norm(np.array([1.0, 0.0]), np.ones(2), np.ones(2)), 9)
    2.0
    """
    from scipy import fft

    n = len(f)
    N = fft.next_fast_len(n, real=True)
    w = fft.irfft(fft.rfft(u, 2 * N) * np.conj(fft.rfft(v, 2 * N)), 2 * N)[:n]
    c = w * f
    # of the 2N bins the even ones have s = 0 and the odd ones s = ½; conjugates count twice
    size = np.abs(fft.rfft(c, 2 * N))
    size[1:-1] *= 2.0
    value = max(float(np.sum(size[0::2])), float(np.sum(size[1::2]))) / N
    largest, eta = float(np.max(np.abs(f))) + weight_error, _transform_error(2 * N)
    # ‖w - ŵ‖ ≤ η (‖u‖₁‖v‖ + ‖v‖₁‖u‖) from the two transforms, η ‖w‖ from the inverse transform
    spread = float(np.sum(u)) * length(v), float(np.sum(v)) * length(u)
    wrong = (eta + 4.0 * UNIT) * (sum(spread) + min(spread))
    # the error of the last transform may lie entirely in the N summed bins: √2 η ‖c‖
    spectral = (math.sqrt(2.0) * eta + 4.0 * UNIT) * length(c)
    error = largest * wrong + spectral + weight_error * length(w)
    return value * (1.0 - 64.0 * UNIT) - 1.01 * error


def rounding(decay: Decay, f: Column) -> float:
    """A bound on the absolute rounding error of each weight of the decay.

    It is 2^-50 of the largest weight.  For a mixture it is the weighted sum of the errors of the
    parts, because the parts may cancel.

    >>> from hushfade.decays import NoDecay, SlidingWindow
    >>> rounding(1000 * NoDecay() - 999 * SlidingWindow(length=9), np.ones(2)) * 2**50
    1999.0
    """
    if len(decay.terms) > 1:
        parts = ((abs(weight), part.weights(len(f)), part) for weight, part in decay.terms)
        return sum(weight * rounding(part, g) for weight, g, part in parts)
    return 2.0**-50 * float(np.max(np.abs(f)))


def profile(n: int, beta: float, edge: float) -> Column:
    """v with v_i² = ((1-x)/x)^β sin(πx)^2|e|, x = (i+½)/n, scaled to a largest entry of 1."""
    x = (np.arange(n) + 0.5) / n
    log_v = 0.5 * beta * (np.log1p(-x) - np.log(x)) + abs(edge) * np.log(np.sin(np.pi * x))
    return np.asarray(np.exp(log_v - np.max(log_v)))


def _searched(value: Callable[[Column, int], float], n: int) -> float:
    """The best value of a long search on few steps, a short one on more, and a final one on n."""
    few, more = min(n, _SEARCHED), min(n, _REFINED)
    starts = [np.array([0.3, 0.5]), np.array([0.0, 1.0])]
    points = [
        highest(lambda point: value(point, few), start + 0.2 * _CORNERS, evaluations=60)
        for start in starts
    ]
    points.append(starts[1])
    if few < more:
        best = max(points, key=lambda point: value(point, more))
        found = highest(lambda point: value(point, more), best + 0.1 * _CORNERS, evaluations=16)
        points = [found, starts[1]]
    return max(value(point, n) for point in points)


def _share(bound: float, norms: float) -> float:
    """bound / norms, rounded down; the norms are accurate to 128 units."""
    return bound / norms * (1.0 - 128.0 * UNIT)


def _counting(f: Column, weight_error: float) -> Bound:
    n = len(f)
    j = np.arange(1, n + 1)
    weight = abs(float(f[0])) - weight_error * math.sqrt(n)
    value = weight * float(np.mean(0.5 / np.sin((2 * j - 1) * np.pi / (4 * n + 2))))
    safe = value * (1.0 - 1e-13)
    return Bound(safe, "lower", "gamma2", "mean singular value", "Theorem 21")


def _transform_error(length: int) -> float:
    """η with ‖computed - true‖ ≤ η ‖true‖ in ℓ2 for an FFT of this 5-smooth length."""
    charge, rest = 0, length
    for q in (2, 3, 5):
        while rest % q == 0:
            charge += 4 * q + 8
            rest //= q
    assert rest == 1, length
    return charge * UNIT
