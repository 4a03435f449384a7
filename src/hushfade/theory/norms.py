"""Brackets of the factorization norms of a decay's matrix at n steps, and the limit of γ2."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from hushfade import check
from hushfade.decays import Decay, checked_decay
from hushfade.errors import InvalidValue
from hushfade.factors import factorization, limit_norms
from hushfade.factors.limit_norms import Energy
from hushfade.theory import certificates, optimum
from hushfade.theory.bound_values import Bracket

DENSE = 1024  # up to this number of steps the bracket comes from the optimum


def gamma2(decay: Decay, n: int, *, gap: float = 1e-4) -> Bracket:
    """A bracket of γ2(M) = min ‖L‖₂→∞ ‖R‖₁→₂ over all M = L R at n steps: the smallest factor.

    Up to 1024 steps the relative width of the bracket is at most `gap` (seconds at 1024); for
    weights that increase or change sign it may stay wider.  Beyond, the bracket consists of
    explicit bounds in O(n log n): the lower certificate, and the best of circulant, square root and
    normalized square root.

    >>> from hushfade.decays import NoDecay
    >>> found = gamma2(NoDecay(), 2, gap=1e-6)  # 2/√3
    >>> round(found.lower, 5), round(found.upper, 5)
    (1.1547, 1.1547)
    """
    f = checked_decay(decay).weights(check.count(n=n))
    error = certificates.rounding(decay, f)
    slack = math.sqrt(n) * error  # γ2 of the rounding of the weights
    if n <= DENSE:
        found = optimum.solve(f, gap=gap)
        return Bracket(found.lower - slack, found.upper + slack)
    above = [certificates.upper(f, weight_error=error).value]
    with suppress(InvalidValue):  # √g of an unstable decay overflows float64
        # the taps of the pairs have a relative error of at most 1e-12
        pairs = factorization.square_root(decay), factorization.normalized(decay, n)
        above += [pair.error_factor(n) * (1.0 + 1e-11) + slack for pair in pairs]
    return Bracket(certificates.lower(f, weight_error=error).value, min(above))


def gamma_f(decay: Decay, n: int, *, gap: float = 1e-4) -> Bracket:
    """A bracket of γ_F(M) = min ‖L‖_F ‖R‖₁→₂ at n steps.

    γ_F is √n times the smallest root mean squared error factor, and γ_F ≤ √n γ2.  Up to 1024 steps
    the relative width of the bracket is at most `gap`; beyond, it consists of explicit bounds.

    >>> from hushfade.decays import NoDecay
    >>> found = gamma_f(NoDecay(), 2, gap=1e-6)  # the golden ratio
    >>> round(found.lower, 5), round(found.upper, 5)
    (1.61803, 1.61803)
    """
    f = checked_decay(decay).weights(check.count(n=n))
    error = certificates.rounding(decay, f)
    slack = n * error  # γ_F of the rounding of the weights
    if n <= DENSE:
        found = optimum.solve_frobenius(f, gap=gap)
        return Bracket(found.lower - slack, found.upper + slack)
    above = [math.sqrt(n) * certificates.upper(f, weight_error=error).value * (1.0 + 1e-15)]
    with suppress(InvalidValue):
        pair = factorization.square_root(decay)
        mean = float(np.linalg.norm(pair.errors(n))) * pair.sensitivity(n).value
        above.append(mean * (1.0 + 1e-11) + slack)
    return Bracket(certificates.lower_frobenius(f, weight_error=error).value, min(above))


def gamma2_limit(decay: Decay) -> Energy:
    """The limit of γ2 as n → ∞, (1/2π) ∫ |g(e^iθ)| dθ (Bennett 1977), and its estimated error.

    If √g is analytic in the unit disk, the limit equals Σ a_n².  Exponentials have a closed form,
    (2/π) K with modulus 1/α.  Raises Diverges if the limit is infinite, as for counting.

    >>> from hushfade.decays import Exponential, PowerLaw
    >>> [round(gamma2_limit(decay).value, 5) for decay in (PowerLaw(1), Exponential.from_alpha(2))]
    [1.1081, 1.07318]
    """
    checked_decay(decay).weights(1)
    if decay.rate:
        # Σ a_k² with a_k = α^-k C(2k,k)/4^k is the series of (2/π) K at the modulus 1/α
        from scipy.special import ellipkm1

        modulus_gap = -math.expm1(-2.0 * decay.rate)
        value = 2.0 / math.pi * float(ellipkm1(modulus_gap))
        return Energy(value, 1e-15 * value)
    return limit_norms.mean_size(decay)
