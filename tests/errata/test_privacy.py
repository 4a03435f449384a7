"""Errata: privacy."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw
from hushfade.guarantee import classical_noise_multiplier, delta_of, mu_of
from hushfade.rivals.bolot_exponential import bolot_exponential
from hushfade.rivals.plain import input_noise, output_noise
from hushfade.theory import gamma2
from hushfade.theory.bounds import for_ever, root
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


def test_neighbours_must_differ_by_a_bounded_amount():
    # after Definition 10: streams in R^T are neighbours if they differ in one entry, by anything
    sigma = 1000 * classical_noise_multiplier(0.5, 1e-6)
    found = [delta_of(change / sigma, 0.5) for change in (1e3, 1e5, 1e6)]
    assert found[0] < 1e-6 < found[1] < found[2]
    assert found[2] > 1 - 1e-9  # no noise hides them; x in [-Δ, Δ] is needed


def test_bits_change_by_one_and_noise_for_two_is_weak():
    # Algorithm 1: 'a stream of bits' with Δ = 1 takes the noise of [-1, 1], whose swing is 2
    epsilon, delta = 0.5, 1e-6
    multiplier = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert delta_of(1 / multiplier, epsilon) < 1e-20
    assert delta_of(1 / (multiplier / 2), epsilon) < delta
    assert Guarantee(epsilon, delta, neighbours="replace").change(0, 1) == 1


def test_fading_weights_need_no_length_of_the_stream_and_asking_for_it_is_weak():
    # Algorithm 1 asks for T, for σ² = σ_{ε,δ}² Δ² Σ_{i≤T} r(i)²
    for decay in [PowerLaw(power=1), Exponential(alpha=1.1)]:
        assert root(decay, 1000).value <= for_ever(decay).value < 1.0001 * root(decay, 1000).value
    assert root(NoDecay(), 1 << 20).value > 2 * root(NoDecay(), 64).value  # the count does


def test_gamma2_bounds_no_private_algorithm_from_above():
    # abstract: 'an upper bound on the additive error of any differentially private ... algorithm'
    guarantee = Guarantee(epsilon=0.5, delta=1e-6)
    worse = np.max(output_noise(NoDecay(), 100).stddevs(guarantee))
    assert worse > 3 * guarantee.noise_multiplier * root(NoDecay(), 100).value


@pytest.mark.parametrize("alpha", [1.1, 1.4])
def test_gamma2_bounds_gaussian_factorizations_from_below_and_nothing_else(alpha):
    # abstract: a bound for 'any' algorithm, and 'improves on all prior works'
    decay, guarantee = Exponential(alpha=alpha), Guarantee(epsilon=0.99, delta=1e-6)
    least = guarantee.noise_multiplier * gamma2(decay, 100).lower
    paper = classical_noise_multiplier(0.99, 1e-6) * root(decay, 100).value
    for make in (input_noise, bolot_exponential):
        prior = np.max(make(decay, 100, noise="laplace").stddevs(guarantee))  # and no delta
        assert prior < 0.56 * least < 0.56 * paper
        assert np.max(make(decay, 100).stddevs(guarantee)) >= least  # with Gaussian noise


def test_noise_on_the_output_has_no_multiplicative_error_either():
    # abstract: 'the first ... that does not have a multiplicative error' for n^-c; see 4.2
    decay, T = PowerLaw(power=1), 200
    L, R = output_noise(decay, T).matrices()
    assert_allclose((L @ R).toarray(), brute.matrix(decay.weights(T)), rtol=1e-12)
    assert output_noise(decay, T).error_factor < math.pi / math.sqrt(6)  # for every T
