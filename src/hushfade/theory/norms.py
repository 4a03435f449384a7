"""The factorization norms of a decay's matrix at n steps, bracketed, and their limit."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from hushfade import check
from hushfade.decay import Decay, Exponential, checked_weights
from hushfade.errors import InvalidValue
from hushfade.factors import factorization, limit_norms
from hushfade.factors.limit_norms import Energy
from hushfade.theory import certificates, families, optimum
from hushfade.theory.bound_values import Bracket

DENSE = 1024  # up to that many steps the bracket is the optimum's own


def gamma2(decay: Decay, n: int, *, gap: float = 1e-4) -> Bracket:
    """γ2(M) = min ‖L‖₂→∞ ‖R‖₁→₂ over all M = L R, for n steps: the least error factor there is.

    Up to 1024 steps the bracket is as narrow as `gap` (seconds at 1024); for weights that rise or
    change sign it may stay wider.  Beyond, it is made of explicit bounds in O(n log n): the lower
    certificate, and the best of circulant, square root and normalized square root.

    >>> from hushfade.decay import NoDecay
    >>> found = gamma2(NoDecay(), 2, gap=1e-6)  # 2/√3
    >>> round(found.lower, 5), round(found.upper, 5)
    (1.1547, 1.1547)
    """
    f = checked_weights(decay, check.count(n=n))
    error = certificates.rounding(decay, f)
    slack = math.sqrt(n) * error  # γ2 of the weights' own rounding
    if n <= DENSE:
        found = optimum.solve(f, gap=gap)
        return Bracket(found.lower - slack, found.upper + slack)
    above = [certificates.upper(f, weight_error=error).value]
    with suppress(InvalidValue):  # √g of an unstable decay grows beyond float64
        # the pairs' taps are good to 1e-12, relatively
        pairs = factorization.square_root(decay), factorization.normalized(decay, n)
        above += [pair.error_factor(n) * (1.0 + 1e-11) + slack for pair in pairs]
    return Bracket(certificates.lower(f, weight_error=error).value, min(above))


def gamma_f(decay: Decay, n: int, *, gap: float = 1e-4) -> Bracket:
    """γ_F(M) = min ‖L‖_F ‖R‖₁→₂, for n steps: √n times the least root mean square error factor.

    Up to 1024 steps as narrow as `gap`, beyond by explicit bounds; γ_F ≤ √n γ2 always.

    >>> from hushfade.decay import NoDecay
    >>> found = gamma_f(NoDecay(), 2, gap=1e-6)  # the golden ratio
    >>> round(found.lower, 5), round(found.upper, 5)
    (1.61803, 1.61803)
    """
    f = checked_weights(decay, check.count(n=n))
    error = certificates.rounding(decay, f)
    slack = n * error  # γ_F of the weights' own rounding
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
    """The limit of γ2 as the steps go on, (1/2π) ∫ |g(e^iθ)| dθ, and its estimated error.

    Bennett 1977; where √g is analytic in the disk it is also Σ a_n².  Exponentials have a closed
    form, (2/π) K with modulus 1/α.  Raises Diverges where it is infinite: for counting.

    >>> from hushfade.decay import PowerLaw
    >>> [round(gamma2_limit(decay).value, 5) for decay in (PowerLaw(1), Exponential(alpha=2))]
    [1.1081, 1.07318]
    """
    checked_weights(decay, 1)
    if isinstance(decay, Exponential):
        value = families.exponential_elliptic(decay).value
        return Energy(value, 1e-15 * value)
    return limit_norms.mean_size(decay)
