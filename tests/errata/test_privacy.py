"""Errata: privacy."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from hushfade.guarantee import delta_of, mu_of
from tests.theory import brute


def test_the_sensitivity_of_replacement_is_twice_delta():
    # proofs of Theorems 6 and 7: x in [-Δ, Δ], sensitivity Δ √(Σ r²)
    R = brute.matrix(brute.root(np.ones(8)))
    size = 1.5
    change = np.zeros(8)
    change[0] = size - (-size)
    printed = size * math.sqrt(np.sum(R[:, 0] ** 2))
    assert_allclose(np.linalg.norm(R @ change), 2 * printed)


def test_the_appendix_formula_breaks_privacy_at_swing_two_delta():
    # Definition 17: σ = (2/ε)√(ln(1.25/δ)), times Δ √(Σ r²)
    epsilon, delta = 0.5, 1e-6
    appendix = 2 / epsilon * math.sqrt(math.log(1.25 / delta))
    main = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert f"{delta_of(2 / appendix, epsilon):.1e}" == "3.6e-06"
    assert delta_of(2 / main, epsilon) < delta
    # taken alone, with Δf the true sensitivity, Definition 17 is private and √2 too noisy
    assert delta_of(1 / appendix, epsilon) < delta


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_the_formula_of_the_introduction_is_private_below_epsilon_one(epsilon, delta):
    main = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert delta_of(2 / main, epsilon) <= delta


def test_the_classical_formula_fails_for_large_epsilon():
    # Theorem 5 and its σ ask nothing of ε
    epsilon, delta = 10.0, 1e-6
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert delta_of(1 / sigma, epsilon) > 1.9 * delta
    assert delta_of(mu_of(epsilon, delta), epsilon) <= delta


def test_the_variance_takes_the_square_of_the_multiplier():
    # proof of Theorem 6: σ² = σ_{ε,δ} Δ² Σ r²
    epsilon, delta = 0.5, 1e-6
    multiplier = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert delta_of(2 / math.sqrt(multiplier), epsilon) > 0.03
    assert delta_of(2 / multiplier, epsilon) < delta


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_the_normal_density_divides_by_sigma(sigma):
    # Appendix A: p(x) = e^(-x²/2σ²) / √(2πσ)
    def bell(x):
        return math.exp(-(x**2) / (2 * sigma**2))

    total = quad(bell, -np.inf, np.inf)[0]
    assert_allclose(total / math.sqrt(2 * math.pi * sigma), math.sqrt(sigma), rtol=1e-9)
    assert_allclose(total / (sigma * math.sqrt(2 * math.pi)), 1, rtol=1e-9)
