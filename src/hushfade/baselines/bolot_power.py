"""Bolot et al.'s power law sums: a step function in place of the weights, one window per step.

    f'_k = (1-β)^i,  the weight f_k = (k+1)^-c rounded down to a power of 1 - β
         = Σ_i d_i [k < b_i],  b_0 < b_1 < ... the ages at which f' drops, by d_i

So the sum is within a factor 1 - β of the truth for x ≥ 0.  It is Σ_i d_i (sum of the last b_i
steps): one `bolot_window` mechanism per drop, all in parallel.  Mechanism i receives ρ_i x, and its
answers are multiplied by d_i / ρ_i.

The text of Bolot et al. was not available.  Windows of (1-β)^-(i+1)/c steps, ρ_i = (1-β)^i and
1 + ln b_i nodes per record follow from their eq. (8), which is Σ_i ρ_i (1 + ln b_i).  With this ρ
the error grows with the horizon, and in their theorem it does not.  So this module uses the best ρ.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.bolot_window import (
    SOURCE,
    kept,
    node_counts,
    operations,
    record_nodes,
    window_matrices,
)
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise, norm_order, of_kind
from hushfade.check import Column
from hushfade.decays import Decay, PowerLaw
from hushfade.errors import InvalidValue
from hushfade.privacy.guarantee import Guarantee


def bolot_power(decay: Decay, horizon: int, *, beta: float, noise: Noise = "gaussian") -> Mechanism:
    """The power law sums to a factor 1 - beta, by a window sum for each step of the weights.

    With N_i nodes per record, and V_i(t) nodes in the answer of window i at step t:

        ‖L_t‖² = Σ_i (d_i/ρ_i)² V_i(t),  ‖R‖₁→p = (Σ_i ρ_i^p N_i)^(1/p),  p = 2, Laplace: p = 1

    and ρ_i = (d_i² max_t V_i(t) / N_i)^(1/(p+2)), the best choice if every V_i is at its largest.
    With Gaussian noise the error factor is at most Σ_i d_i √(N_i max V_i), which hardly depends on
    beta: a small beta needs more windows, and so memory and work, but no more noise.  With Laplace
    noise it also needs more noise.  The newest weight is 1, so the error factor is at least 1.

    It applies to any power > 0 and beta in (0, 1).  L R is the matrix of f', not of f.  Cost: O(T)
    per window; there are at most 2 + c ln(T) / ln(1/(1-beta)) windows, and at most T.

    >>> steps = bolot_power(PowerLaw(power=1), 4, beta=0.5)  # windows of 1, 2 and 4 steps
    >>> L, R = steps.matrices()
    >>> (L @ R).toarray()[3].round(12)  # 1/4 and 1/3, rounded down; 1/2; 1
    array([0.25, 0.25, 0.5 , 1.  ])
    >>> round(steps.error_factor, 4)  # at step 3, nodes 1, 2 and 2: 1/2 + 2/4 + √(3·2)/4
    1.6124
    """
    n, p = check.count(horizon=horizon), norm_order(noise)
    f = rounded_weights(decay, n, beta)
    drops = f - np.append(f[1:], 0.0)
    windows = [int(last) + 1 for last in np.flatnonzero(drops)]
    d = drops[drops > 0.0]
    worst = np.array([np.max(node_counts(b, n)) for b in windows])
    nodes = np.array([record_nodes(b, n) for b in windows], dtype=np.float64)
    rho = (d * np.sqrt(worst / nodes)) ** (2.0 / (p + 2))
    variances = np.zeros(n)
    for b, gain in zip(windows, d / rho, strict=True):
        variances += gain * gain * node_counts(b, n)

    def matrices() -> Matrices:
        from scipy.sparse import csr_array, hstack, vstack

        pairs = [window_matrices(b, n) for b in windows]
        L = hstack([g * left for g, (left, _) in zip(d / rho, pairs, strict=True)])
        R = vstack([r * right for r, (_, right) in zip(rho, pairs, strict=True)])
        return csr_array(L), csr_array(R)

    return Mechanism(
        "Bolot et al. power law",
        SOURCE,
        decay,
        np.sqrt(variances),
        float(np.sum(rho**p * nodes)) ** (1.0 / p),
        sum(kept(b, n) for b in windows),
        sum(operations(b) + 2.0 for b in windows),
        matrices,
        noise,
        bias=float(beta),
    )


def rounded_weights(decay: Decay, n: int, beta: float) -> Column:
    """f'_0, ..., f'_{n-1}: the weights rounded down to powers of 1 - beta.

    >>> rounded_weights(PowerLaw(power=1), 5, 0.5).round(12)  # of 1, 1/2, 1/3, 1/4, 1/5
    array([1.   , 0.5  , 0.25 , 0.25 , 0.125])
    """
    c, rate = of_kind(decay, PowerLaw).power, -math.log1p(-_fraction(beta))
    exponent = c * np.log(np.arange(1.0, check.count(n=n) + 1)) / rate
    # a weight that is a power of 1 - beta stays: the exponent has a relative error of 1e-15
    return np.asarray(np.exp(-rate * np.ceil(exponent * (1.0 - 1e-14))))


def worst_errors(
    decay: Decay,
    horizon: int,
    guarantee: Guarantee,
    *,
    beta: float,
    largest: float,
    change: float = 1.0,
    noise: Noise = "gaussian",
) -> Column:
    """The largest root mean square error at each step, with bias, for totals in [0, largest].

        √(σ_t² + (largest Σ_{k≤t} (f_k - f'_k))²),  σ_t the noise's deviation at step t

    The worst stream has `largest` at every step, because no weight is too high.
    """
    mechanism = bolot_power(decay, horizon, beta=beta, noise=noise)
    n, size = mechanism.horizon, check.positive(largest=largest)
    missing = np.cumsum(decay.weights(n) - rounded_weights(decay, n, beta))
    return np.hypot(mechanism.stddevs(guarantee, change), size * missing)


def best_beta_for(
    decay: Decay,
    horizon: int,
    guarantee: Guarantee,
    *,
    largest: float,
    change: float = 1.0,
    noise: Noise = "gaussian",
) -> float:
    """The beta that minimizes the largest of `worst_errors`, of 73 values from 1/65 to 1 - 2^-30.

    The odds beta/(1 - beta) are the powers of √2 from 1/64 to 2^30.  As beta approaches 1, the
    mechanism publishes only the newest step: the past has no noise and is missing completely.  If
    noise exceeds the stream, this is the best choice, so the range must include it.  Cost: 73
    mechanisms, the finest with up to 64 c ln(T) windows; a minute or two at T = 2^20.
    """

    def largest_error(beta: float) -> float:
        errors = worst_errors(
            decay, horizon, guarantee, beta=beta, largest=largest, change=change, noise=noise
        )
        return float(np.max(errors))

    odds = np.exp2(np.arange(-6.0, 30.5, 0.5))
    return min((float(b) for b in odds / (1.0 + odds)), key=largest_error)


def best_beta(decay: Decay) -> float:
    """The beta that minimizes `bolot_sensitivity`, for a fair comparison.

    No beta minimizes the exact additive error: it decreases to 1 as beta approaches 1, where the
    mechanism forgets all but the newest step.  `best_beta_for` balances noise and bias.

    >>> round(best_beta(PowerLaw(power=1)), 2)
    0.8
    """
    from scipy.optimize import minimize_scalar

    power = of_kind(decay, PowerLaw).power
    found = minimize_scalar(
        lambda beta: bolot_sensitivity(power, float(beta)),
        bounds=(0.0, 1.0),
        method="bounded",
    )
    return float(found.x)


def bolot_sensitivity(power: float, beta: float) -> float:
    """The bound 1/β + ln(1/(1-β))/(cβ²) on the sensitivity of Bolot et al.'s power law.

    β is the relative error of their mechanism, and c is the power.

    >>> round(bolot_sensitivity(1.0, 0.5), 6)  # 2 + 4 ln 2
    4.772589
    """
    c, beta = check.positive(power=power), _fraction(beta)
    return 1.0 / beta - math.log1p(-beta) / beta / c / beta


def _fraction(beta: float) -> float:
    number = check.real(beta=beta)
    if not 0.0 < number < 1.0:
        raise InvalidValue("beta must be in (0, 1)", got=repr(beta))
    return number
