"""Bounds on the factorization norm γ2 of a decay's matrix M at T = n steps, as `Bound`s.

    lower   largest_weight   γ2 ≥ max |f_k|                     the trivial bound
            two_steps        γ2 ≥ 2/√(4 - f_1²)                 Theorem 2
    upper   root             γ2 ≤ Σ_{k<n} a_k²                  Theorem 2
            for_ever         γ2 ≤ Σ_k a_k², the limit           Bennett 1977
            half_weights     γ2 ≤ 1 + Σ_{1≤k<n} f_k²/4          Theorem 3, class F
            output_noise     γ2 ≤ √(Σ_{k<n} f_k²)               before the paper
    both    `certificates`   explicit, for any decay            beyond the paper

The formulas above are for f_0 = 1.  The functions accept any f_0 > 0, since γ2(f_0 M) = f_0 γ2(M).
`families` has the bounds of named decays, `bounds` lists all bounds that apply, and `frobenius`
turns an upper bound on γ2 into one on γ_F.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow, checked_decay
from hushfade.errors import Diverges, InvalidValue
from hushfade.factors import factorization, limit_norms
from hushfade.theory import certificates
from hushfade.theory.bound_values import Bound
from hushfade.theory.optimum import scaled
from lab.paper.theory import families
from lab.paper.theory.class_f import membership

_DECIDED = 2048  # coefficients whose signs are decided rigorously; 0.02 s


def bounds(decay: Decay, n: int) -> list[Bound]:
    """All bounds on γ2 that apply to the decay at n steps: lower bounds first, then by value.

    >>> for bound in bounds(NoDecay(), 2):
    ...     print(bound)
    gamma2 ≥ 1 (largest weight; Appendix C)
    gamma2 ≥ 1.06066 (mean cosecant; Mathias 1993)
    gamma2 ≥ 1.11803 (mean singular value; Theorem 21)
    gamma2 ≥ 1.1547 (two steps; Theorem 2)
    gamma2 ≤ 1.20711 (mean cosecant; Mathias 1993)
    gamma2 ≤ 1.20711 (circulant; as Mathias 1993)
    gamma2 ≤ 1.25 (square root; Theorem 2)
    gamma2 ≤ 1.25 (half weights; Theorem 3)
    gamma2 ≤ 1.31831 (harmonic sum; Theorem 4, α = 1)
    gamma2 ≤ 1.41421 (noise on the output; Section 4.1)
    """
    found = [*_general(decay, n), *_of_family(decay, n)]
    return sorted(found, key=lambda bound: (bound.side, bound.value))


def largest_weight(decay: Decay, n: int) -> Bound:
    """γ2 ≥ max_{k<n} |f_k|, because an entry of M is ⟨row of L, column of R⟩ ≤ ‖L‖ ‖R‖.

    >>> print(largest_weight(NoDecay(), 10))
    gamma2 ≥ 1 (largest weight; Appendix C)
    """
    value = float(np.max(np.abs(_weights(decay, n))))
    return Bound(value, "lower", "gamma2", "largest weight", "Appendix C")


def two_steps(decay: Decay, n: int) -> Bound:
    """γ2 ≥ 2/√(4 - f_1²), the exact γ2 of two steps; requires n ≥ 2.

    γ2 does not decrease as n grows (Claim 23).  Let u = |f_1|/f_0.  The bound is f_0 · 2/√(4 - u²)
    for u ≤ √2, and f_0 · u for weights that increase more steeply, by unit vectors in three
    dimensions.

    >>> round(two_steps(PowerLaw(power=1), 100).value, 6)  # 2/√(4 - 1/4)
    1.032796
    """
    f = _weights(decay, check.count(n=n, least=2))[:2]
    u = float(abs(f[1]) / f[0])
    value = float(f[0]) * (2.0 / math.sqrt(4.0 - u * u) if u * u <= 2.0 else u)
    return Bound(
        value, "lower", "gamma2", "two steps", "Theorem 2", "also claimed for T = 1, where γ2 = 1"
    )


def root(decay: Decay, n: int) -> Bound:
    """γ2 ≤ Σ_{k<n} a_k², the error factor of L = R = the Toeplitz matrix of √g.

    >>> root(PowerLaw(power=1), 2).value  # 1 + (1/4)²
    1.0625
    """
    a = factorization.square_root(decay).right(n)
    return Bound(float(a @ a), "upper", "gamma2", "square root", "Theorem 2")


def for_ever(decay: Decay) -> Bound:
    """γ2 ≤ Σ a_k² over all k, for every n: the limit of γ2; raises Diverges if it is infinite.

    >>> round(for_ever(SlidingWindow(length=2)).value, 6)  # 4/π
    1.27324
    """
    found = limit_norms.energy(decay)
    value = found.value + found.error
    return Bound(value, "upper", "gamma2", "square root, every T", "Bennett 1977")


def half_weights(decay: Decay, n: int) -> Bound:
    """γ2 ≤ 1 + Σ_{1≤k<n} f_k²/4, because 0 ≤ a_k ≤ f_k/2; requires a_0, ..., a_{n-1} ≥ 0.

    For f_0 ≠ 1 the terms are f_k²/(4 f_0).

    >>> half_weights(PowerLaw(power=1), 2).value  # 1 + (1/2)²/4
    1.0625
    """
    f = _weights(decay, n)
    if reason := _negative(decay, n):
        raise InvalidValue(
            "decay must have a square root without negative coefficients", got=reason
        )
    value = float(f[0] + (f[1:] @ f[1:]) / (4.0 * f[0]))
    return Bound(value, "upper", "gamma2", "half weights", "Theorem 3")


def output_noise(decay: Decay, n: int) -> Bound:
    """γ2 ≤ √(Σ_{k<n} f_k²): noise on the output (L = I, R = M) or on the inputs (L = M, R = I).

    >>> output_noise(NoDecay(), 1024).value
    32.0
    """
    return Bound(
        float(np.linalg.norm(_weights(decay, n))),
        "upper",
        "gamma2",
        "noise on the output",
        "Section 4.1",
        "√(Σ k^-c) instead of √(Σ k^-2c), and Σ α^-2k without its square root",
    )


def frobenius(bound: Bound, n: int) -> Bound:
    """γ_F ≤ √T γ2 from an upper bound on γ2, because ‖L‖_F ≤ √T ‖L‖₂→∞.

    >>> print(frobenius(output_noise(NoDecay(), 4), 4))
    gamma_f ≤ 4 (√T times noise on the output; Section 4.1)
    """
    if not (bound.quantity == "gamma2" and bound.side == "upper"):
        raise InvalidValue("bound must be an upper bound on gamma2", got=bound)
    value = math.sqrt(check.count(n=n)) * bound.value
    name = f"√T times {bound.name}"
    return Bound(value, "upper", "gamma_f", name, bound.where, bound.correction)


def _general(decay: Decay, n: int) -> Iterator[Bound]:
    yield largest_weight(decay, n)
    if n > 1:
        yield two_steps(decay, n)
    with suppress(InvalidValue):  # a square root that overflows float64
        yield root(decay, n)
    with suppress(Diverges):
        yield for_ever(decay)
    with suppress(InvalidValue):  # not in class F
        yield half_weights(decay, n)
    yield output_noise(decay, n)
    f = decay.weights(n)
    error = certificates.rounding(decay, f)
    found = certificates.lower(f, weight_error=error)
    if found.name != "largest weight":
        yield found
    yield certificates.upper(f, weight_error=error)


def _of_family(decay: Decay, n: int) -> Iterator[Bound]:
    match decay:
        case PowerLaw():
            yield families.power_sum(decay, n)
            yield families.power_closed(decay, n)
            if decay.power > 0.5:
                yield families.power_zeta(decay)
        case Exponential():
            yield families.exponential_sum(decay, n)
            yield families.exponential_closed(decay, n)
            yield families.exponential_logarithm(decay)
            yield families.exponential_elliptic(decay)
        case NoDecay():
            yield families.counting_sum(n)
            yield families.mathias_lower(n)
            yield families.mathias_upper(n)
        case SlidingWindow():
            # the window's first steps equal counting, and γ2 of the longer matrix is at least that
            yield families.mathias_lower(min(n, decay.window))
            yield families.window_blocks(decay, n)
            if n <= decay.window:
                yield families.counting_sum(n)
                yield families.mathias_upper(n)
        case _:
            return


def _weights(decay: Decay, n: int) -> Column:
    return scaled(checked_decay(decay).weights(n))


def _negative(decay: Decay, n: int) -> str | None:
    """A description of a negative coefficient of √g below n; None if there is none.

    `membership` decides the first signs, in O(n²).  The others come from the fast square root; a
    negative coefficient within its rounding error would not affect the bound.
    """
    found = membership(decay, min(n, _DECIDED))
    if found.verdict != "up to n":
        return found.reason if found.verdict == "refuted" else None
    a = factorization.square_root(decay).right(n)
    later = np.flatnonzero(a < -1e-12 * np.max(np.abs(a)))
    return f"a_{later[0]} = {a[later[0]]:.6g} < 0" if later.size else None
