"""Explicit bounds of γ2 and γ_F in O(n log n), for any column of weights, safe under rounding.

Lower.  ‖D_u M D_v‖_* ≥ |⟨D_u M D_v, C⟩| for every contraction C.  Taken as the n × n corner of an
N × N circulant (or skew-circulant) unitary with the best phases, C gives

    ‖D_u M D_v‖_* ≥ (1/N) Σ_j |Σ_k w_k f_k e^{2πik(j+s)/N}|,   w_k = Σ_i u_{i+k} v_i,   s = 0 or ½

and γ2(M) is at least that over ‖u‖ ‖v‖, γ_F(M) with u = 1 at least that over ‖v‖.  The weights come
from a family of two parameters, v_i² = ((1-x_i)/x_i)^β sin(πx_i)^2e, x_i = (i+½)/n, u = v reversed;
(0, 1) is good for fast decays, and Nelder and Mead's search (1965) finds better ones.

Upper.  M is a corner of an N × N circulant matrix, N ≥ 2n-1, and γ2 of a circulant matrix is the
mean size of its eigenvalues: γ2(M) ≤ (1/N) Σ_j |Σ_k f_k e^{2πijk/N}|.

Repeated participation.  If a person has up to k records, b steps apart, R must also hide
R (e_s + e_{s+b} + ...), a column of R C with C the Toeplitz matrix of the comb 1 + x^b + ... +
x^{(k-1)b}.  M C = L (R C), so γ2(M C) is a lower bound, and M C is again a column of weights.

Guarantee: a returned bound is a bound.  Each is the computed value minus (plus) an error term that
charges, in the ℓ2 norm, (4q + 8) 2^-53 for each factor q of an FFT's length, all lengths being
2^a 3^b 5^c (Higham 2002, theorem 24.2, charges about half of it for q = 2), and for the rounding of
the weights what `rounding` says of a decay.  Both sums are 1-Lipschitz in c = w·f, √2-Lipschitz in
the spectrum.  The errors add up to about 1e-12 at n = 1000 and 1e-10 at n = 2^20.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay import Decay, Mixture
from hushfade.theory import optimum
from hushfade.theory.bound_values import Bound, Bracket, Bracketed
from hushfade.theory.optimum import UNIT, length, scaled

_SEARCHED, _REFINED = 1 << 12, 1 << 17  # steps on which the search runs at length, and shortly
_DENSE = 256  # up to that many steps the optimum itself takes a fraction of a second


def lower(f: Column, *, weight_error: float = 0.0) -> Bound:
    """The best explicit lower bound of γ2 found, for the weights f_0, ..., f_{n-1}.

    Where all weights are equal, M's singular values are known (½ csc((2j-1)π/(4n+2))) and
    γ2 ≥ ‖M‖_* / n is better.  No bound is below the largest weight.  `weight_error` is how far each
    f_k may be from the weight that is meant.  Cost: about 100 evaluations on up to 2^12 steps, 16
    on up to 2^17 and 3 on all; each takes four real FFTs of length 2n.

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

    best = value(_climb(value, np.array([0.1, 0.1]), 0.1, 24))
    return Bound(best, "lower", "gamma_f", "circulant test", "as Theorem 21")


def upper(f: Column, *, weight_error: float = 0.0) -> Bound:
    """γ2 ≤ the mean size of the eigenvalues of a circulant matrix that contains M.

    The circulant's free entries are zeros, or go on with the last weight; the better is taken.
    Cost: two real FFTs of length 2n.

    >>> round(upper(np.array([1.0, 1.0])).value, 4)  # γ2 = 1.1547
    1.2071
    """
    from scipy import fft

    f = scaled(f)
    N = fft.next_fast_len(len(f), real=True)
    # γ2 of a change of the weights is at most the change's ℓ2 norm
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
    """A number surely ≤ ‖D_u M D_v‖_*, u, v ≥ 0.  Cost: four real FFTs of length 2n.

    >>> round(trace_norm(np.array([1.0, 0.0]), np.ones(2), np.ones(2)), 9)
    2.0
    """
    from scipy import fft

    n = len(f)
    N = fft.next_fast_len(n, real=True)
    w = fft.irfft(fft.rfft(u, 2 * N) * np.conj(fft.rfft(v, 2 * N)), 2 * N)[:n]
    c = w * f
    # bins of length 2N: the even ones are s = 0, the odd ones s = ½; conjugates count twice
    size = np.abs(fft.rfft(c, 2 * N))
    size[1:-1] *= 2.0
    value = max(float(np.sum(size[0::2])), float(np.sum(size[1::2]))) / N
    largest, eta = float(np.max(np.abs(f))) + weight_error, _transform_error(2 * N)
    # ‖w - ŵ‖ ≤ η (‖u‖₁‖v‖ + ‖v‖₁‖u‖) from the two transforms, η ‖w‖ from the one back
    spread = float(np.sum(u)) * length(v), float(np.sum(v)) * length(u)
    wrong = (eta + 4.0 * UNIT) * (sum(spread) + min(spread))
    # the last transform's error may lie in the N bins that are summed: √2 η ‖c‖
    spectral = (math.sqrt(2.0) * eta + 4.0 * UNIT) * length(c)
    error = largest * wrong + spectral + weight_error * length(w)
    return value * (1.0 - 64.0 * UNIT) - 1.01 * error


def rounding(decay: Decay, f: Column) -> float:
    """How far each weight of the decay may be from the law, in absolute terms.

    2^-50 of the largest weight; of a mixture the parts' errors, weighted, because they may cancel.

    >>> from hushfade.decay import NoDecay, SlidingWindow
    >>> rounding(1000 * NoDecay() - 999 * SlidingWindow(length=9), np.ones(2)) * 2**50
    1999.0
    """
    if isinstance(decay, Mixture):
        parts = ((abs(weight), part.weights(len(f)), part) for weight, part in decay.parts)
        return sum(weight * rounding(part, g) for weight, g, part in parts)
    return 2.0**-50 * float(np.max(np.abs(f)))


def profile(n: int, beta: float, edge: float) -> Column:
    """v with v_i² = ((1-x)/x)^β sin(πx)^2|e|, x = (i+½)/n, its largest entry 1."""
    x = (np.arange(n) + 0.5) / n
    log_v = 0.5 * beta * (np.log1p(-x) - np.log(x)) + abs(edge) * np.log(np.sin(np.pi * x))
    return np.asarray(np.exp(log_v - np.max(log_v)))


@dataclass(frozen=True)
class Certificate(Bracketed):
    """How near the optimum a mechanism is over its first `steps` steps.

    `bracket` holds the least error factor of any factorization for these steps; `error_factor` is
    what the mechanism has: its worst standard deviation there, for unit noise multiplier and unit
    change of a record.
    """

    steps: int
    bracket: Bracket
    error_factor: float

    @property
    def ratio(self) -> float:
        """The mechanism's error over the least possible: at most this."""
        return self.error_factor / self.lower

    def sentence(self) -> str:
        """The claim in words, rounded to the safe side."""
        share = f"{math.floor(1e4 * self.lower / self.error_factor) / 100:.2f} %"
        over = "At step 1" if self.steps == 1 else f"Over the first {self.steps} steps"
        return (
            f"{over} no Gaussian factorization mechanism can have less than {share} of this error."
        )


def certificate(
    decay: Decay, n: int, error_factor: float, *, participations: int = 1, separation: int = 1
) -> Certificate:
    """The certificate of a mechanism with that error factor over its first n steps.

    Up to 256 steps the lower bound is the optimum's own, to 1e-4; beyond, the explicit one, up to
    2 % lower for counting.  Cost: about a second at 2^17 steps, seconds at 2^20.

    >>> from hushfade.decay import SlidingWindow
    >>> found = certificate(SlidingWindow(7), 100, 1.80)
    >>> round(found.lower, 3), found.sentence()
    (1.775, 'Over the first 100 steps no Gaussian factorization mechanism can have less than
    98.62 % of this error.')
    """
    f = decay.weights(check.count(n=n))
    k, b = check.count(participations=participations), check.count(separation=separation)
    k = min(k, 1 + (n - 1) // b)
    least, summing = _repeated(f, k, b)
    error = rounding(decay, f)
    # some factorization has the mechanism's own factor; for k = 1 γ2 is attained as well
    most = [error_factor]
    if n <= _DENSE:
        found, slack = optimum.solve(least), math.sqrt(n) * (k * error + summing)
        bottom = found.lower - slack
        most += [found.upper + slack] if k == 1 else []
    else:
        bottom = lower(least, weight_error=k * error + summing).value
        most += [upper(f, weight_error=error).value] if k == 1 else []
    return Certificate(n, Bracket(bottom, min(most)), error_factor)


def _repeated(f: Column, k: int, b: int) -> tuple[Column, float]:
    """Σ_{i<k} f shifted by i b, and a bound on its rounding error."""
    n = len(f)
    largest = float(np.max(np.abs(f)))
    if k <= 64:
        total = f.copy()
        for i in range(1, k):
            total[i * b :] += f[: n - i * b]
        return total, k * (k - 1) * UNIT * largest
    # a running sum and itself, k shifts ago, with 64 bits of mantissa
    rows = -(-n // b)
    padded = np.zeros(rows * b, dtype=np.longdouble)
    padded[:n] = f
    sums = np.cumsum(padded.reshape(rows, b), axis=0).ravel()
    window = sums.copy()
    if k < rows:
        window[k * b :] -= sums[: (rows - k) * b]
    error = 2.0 * rows * rows * float(np.finfo(np.longdouble).eps) * largest
    return window[:n].astype(np.float64), error + 2.0 * UNIT * k * largest


def _searched(value: Callable[[Column, int], float], n: int) -> float:
    """The best value found: at length on few steps, shortly on more, then on all n."""
    few, more = min(n, _SEARCHED), min(n, _REFINED)
    starts = [np.array([0.3, 0.5]), np.array([0.0, 1.0])]
    points = [_climb(lambda point: value(point, few), start, 0.2, 60) for start in starts]
    points.append(starts[1])
    if few < more:
        best = max(points, key=lambda point: value(point, more))
        points = [_climb(lambda point: value(point, more), best, 0.1, 16), starts[1]]
    return max(value(point, n) for point in points)


def _share(bound: float, norms: float) -> float:
    """bound / norms, rounded down; the norms are right to 128 units."""
    return bound / norms * (1.0 - 128.0 * UNIT)


def _counting(f: Column, weight_error: float) -> Bound:
    n = len(f)
    j = np.arange(1, n + 1)
    weight = abs(float(f[0])) - weight_error * math.sqrt(n)
    value = weight * float(np.mean(0.5 / np.sin((2 * j - 1) * np.pi / (4 * n + 2))))
    safe = value * (1.0 - 1e-13)
    return Bound(safe, "lower", "gamma2", "mean singular value", "Theorem 21")


def _climb(
    value: Callable[[Column], float], start: Column, width: float, evaluations: int
) -> Column:
    """Where Nelder and Mead's search from a simplex of that width ends."""
    from scipy.optimize import fmin

    simplex = start + width * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    def loss(point: Column) -> float:
        return -value(point)

    found = fmin(
        loss,
        start,
        maxfun=evaluations,
        initial_simplex=simplex,
        xtol=1e-3,
        ftol=1e-7,
        disp=False,
    )
    return np.asarray(found)


def _transform_error(length: int) -> float:
    """η with ‖computed - true‖ ≤ η ‖true‖ in ℓ2 for an FFT of that 5-smooth length."""
    charge, rest = 0, length
    for q in (2, 3, 5):
        while rest % q == 0:
            charge += 4 * q + 8
            rest //= q
    assert rest == 1, length
    return charge * UNIT
