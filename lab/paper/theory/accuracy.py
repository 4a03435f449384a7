"""Bounds on the errors of a published series from its error factor, and Bolot et al.'s formula.

The error is L z with z_t ~ N(0, s²), s = noise_multiplier · change · ‖R‖₁→₂.  So the standard
deviation of a step is at most noise_multiplier · change · factor, factor = ‖L‖₂→∞ ‖R‖₁→₂.

`change` is the largest change of one step's total.  In the paper records lie in [-Δ, Δ] and may be
replaced, so change = 2Δ, and its σ = (2/ε)√(2 ln(1.25/δ)) is 2 `classical_noise_multiplier`.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.bolot_power import bolot_sensitivity
from hushfade.factors.factorization import Factorization
from hushfade.privacy.guarantee import classical_noise_multiplier, mu_of
from hushfade.theory.bound_values import Bound


def accuracy(
    factor: float, n: int, *, epsilon: float, delta: float, change: float
) -> dict[str, list[Bound]]:
    """The error bounds of this module for (epsilon, delta)-privacy, for two calibrations.

    The keys are "tight" and "classical".  The classical noise is proven only for epsilon < 1 and
    is omitted otherwise.

    >>> found = accuracy(1.0, 1, epsilon=0.5, delta=1e-6, change=1.0)
    >>> {name: round(listed[-1].value, 3) for name, listed in found.items()}
    {'tight': 64.925, 'classical': 112.309}
    """
    multipliers = {"tight": 1.0 / mu_of(epsilon, delta)}
    if epsilon < 1:
        multipliers["classical"] = classical_noise_multiplier(epsilon, delta)
    return {
        name: [
            expected_maximum(factor, n, noise_multiplier=sigma, change=change),
            sharper_expected_maximum(factor, n, noise_multiplier=sigma, change=change),
            mean_squared_error(factor, noise_multiplier=sigma, change=change),
        ]
        for name, sigma in multipliers.items()
    }


def expected_maximum(factor: float, n: int, *, noise_multiplier: float, change: float) -> Bound:
    """E max_t |error_t| ≤ noise_multiplier · change · factor · √(2 ln 2T).

    e^(λ E max) ≤ Σ_t E(e^(λ N_t) + e^(-λ N_t)) ≤ 2T e^(λ²/2) for unit variances; λ = √(2 ln 2T).

    >>> round(expected_maximum(1.0, 1024, noise_multiplier=1.0, change=1.0).value, 6)
    3.905027
    """
    largest = math.sqrt(2.0 * math.log(2 * check.count(n=n)))
    return Bound(
        _stddev(factor, noise_multiplier, change) * largest,
        "upper",
        "expected maximum",
        "√(2 ln 2T)",
        "Theorem 5",
        "√(log T), which the maximum of independent errors exceeds at every T",
    )


def sharper_expected_maximum(
    factor: float, n: int, *, noise_multiplier: float, change: float
) -> Bound:
    """E max_t |error_t| ≤ noise_multiplier · change · factor · E max of T independent |N(0, 1)|.

    Independent normals are the worst case (Šidák 1967: P(all |X_t| ≤ x) ≥ Π P(|X_t| ≤ x)), so this
    is exact for L = I.  E max = ∫_0^∞ 1 - (1 - erfc(x/√2))^T dx, by quadrature.

    >>> round(sharper_expected_maximum(1.0, 1, noise_multiplier=1.0, change=1.0).value, 6)  # √(2/π)
    0.797885
    """
    from scipy.integrate import quad

    t = float(check.count(n=n, most=2**60))

    def exceeds(x: float) -> float:
        return -math.expm1(t * math.log1p(-math.erfc(x / math.sqrt(2.0))))

    middle = math.sqrt(2.0 * math.log(2.0 * t))  # the integral beyond middle + 12 is below e^-72
    parts = quad(exceeds, 0.0, middle), quad(exceeds, middle, middle + 12.0)
    largest = float(sum(value + error for value, error in parts))
    return Bound(
        _stddev(factor, noise_multiplier, change) * largest,
        "upper",
        "expected maximum",
        "independent normals",
        "Šidák 1967",
    )


def mean_squared_error(factor: float, *, noise_multiplier: float, change: float) -> Bound:
    """T⁻¹ E Σ_t error_t² ≤ (noise_multiplier · change · factor)².

    >>> mean_squared_error(3.0, noise_multiplier=1.0, change=2.0).value
    36.0
    """
    value = _stddev(factor, noise_multiplier, change) ** 2
    return Bound(value, "upper", "mean squared error", "squared factor", "Theorem 5")


def exact_mean_squared_error(
    pair: Factorization, n: int, *, noise_multiplier: float, change: float
) -> float:
    """T⁻¹ E Σ_t error_t² = (noise_multiplier · change)² ‖L‖_F² ‖R‖²₁→₂ / T of the first n steps.

    >>> from hushfade.decays import NoDecay
    >>> from hushfade.factors.factorization import square_root
    >>> # L = R = [[1, 0], [1/2, 1]]: ‖L‖_F² = 9/4, ‖R‖² = 5/4
    >>> pair = square_root(NoDecay())
    >>> round(exact_mean_squared_error(pair, 2, noise_multiplier=1, change=1), 12)
    1.40625
    """
    noise = _stddev(pair.sensitivity(n).value, noise_multiplier, change)
    return noise**2 * float(np.mean(pair.errors(n) ** 2))


def least_bolot_sensitivity(power: float) -> Bound:
    """`bolot_sensitivity` with the best β in (0, 1); it exceeds 1 + 1/c.

    It exceeds 1 + 1/c because 1/β > 1 and ln(1/(1-β)) > β > β².  Both terms are convex, so the
    search finds the minimum.

    >>> round(least_bolot_sensitivity(1.0).value, 4)
    3.7647
    """
    from scipy.optimize import minimize_scalar

    def value(odds: float) -> float:  # β = 1/(1 + e^-odds) maps (0, 1) to the whole line
        return bolot_sensitivity(power, 1.0 / (1.0 + math.exp(-odds)))

    found = minimize_scalar(value, bounds=(-30.0, 30.0), method="bounded")
    return Bound(float(found.fun), "upper", "sensitivity", "dyadic, best beta", "Bolot et al. 2013")


def _stddev(factor: float, noise_multiplier: float, change: float) -> float:
    return (
        check.positive(factor=factor)
        * check.positive(noise_multiplier=noise_multiplier)
        * check.positive(change=change)
    )
