"""Errata: privacy."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.factors import power_series
from hushfade.privacy.guarantee import classical_noise_multiplier, delta_of, mu_of
from hushfade.theory import gamma2
from lab.paper.theory.bounds import for_ever, root
from tests.loops import for_each
from tests.theory import brute


def test_the_sensitivity_of_replacement_is_twice_delta():
    # proofs of Theorems 6 and 7: x in [-Δ, Δ], sensitivity Δ √(Σ r²)
    R = brute.matrix(brute.root(np.ones(8)))
    size = 1.5
    change = np.zeros(8)
    change[0] = size - (-size)
    printed = size * math.sqrt(np.sum(R[:, 0] ** 2))
    assert_allclose(np.linalg.norm(R @ change), 2 * printed)


def appendix(epsilon, delta):
    """σ_{ε,δ} of Definition 17."""
    return 2 / epsilon * math.sqrt(math.log(1.25 / delta))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.9, 0.999])
def test_sigma_has_two_values_and_the_appendix_is_private_with_its_own_sensitivity(epsilon):
    # Section 1.2: (2/ε)√(2 ln(1.25/δ)), for a change of 2Δ; Definition 17 without the inner 2, for
    # the sensitivity (15); weak, as the same letters are used, and √2 more noise than is needed
    delta = 1e-6
    main = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert_allclose(main, math.sqrt(2) * appendix(epsilon, delta))
    assert delta_of(1 / appendix(epsilon, delta), epsilon) < delta
    assert delta_of(math.sqrt(2) / appendix(epsilon, delta), epsilon) <= delta


def test_the_appendix_noise_breaks_privacy_with_half_the_sensitivity():
    # Section 3.5: privacy by Definition 17, with Δ √(Σ r²); replacement in [-Δ, Δ] has 2Δ √(Σ r²)
    delta = 1e-6
    assert f"{delta_of(2 / appendix(0.5, delta), 0.5):.1e}" == "3.6e-06"
    assert f"{delta_of(2 / appendix(0.1, delta), 0.1):.1e}" == "6.0e-07"  # not at every ε
    main = 2 / 0.5 * math.sqrt(2 * math.log(1.25 / delta))
    assert delta_of(2 / main, 0.5) < delta  # Algorithm 1 has Section 1.2's, which pays for it


@for_each("epsilon", [0.01, 0.1, 0.5, 0.9, 0.999])
@for_each("delta", [1e-12, 1e-6, 1e-2])
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


@pytest.mark.parametrize("sigma", [1.0, 1e3, 1e9])
def test_neighbours_must_differ_by_a_bounded_amount_and_is_weak(sigma):
    # after Definition 10: streams in R^T are neighbours if they differ in one entry, by anything;
    # x in [-Δ, Δ] is said in Section 1.2.  δ depends on change/σ alone, so no σ is enough
    small, large = delta_of(0.1 * sigma / sigma, 0.5), delta_of(100 * sigma / sigma, 0.5)
    assert small < 1e-6 < 1 - 1e-9 < large
    bounded = classical_noise_multiplier(0.5, 1e-6) * sigma  # noise for a change of σ at most
    assert delta_of(sigma / bounded, 0.5) < 1e-6


def test_bits_change_by_one_and_noise_for_two_is_weak():
    # Algorithm 1: 'a stream of bits' with Δ = 1 takes the noise of [-1, 1], whose swing is 2
    epsilon, delta = 0.5, 1e-6
    multiplier = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    assert delta_of(1 / multiplier, epsilon) < 1e-20
    assert delta_of(1 / (multiplier / 2), epsilon) < delta
    assert Guarantee(epsilon, delta, neighbours="replace").change(0, 1) == 1


def test_fading_weights_need_no_length_of_the_stream_and_asking_for_it_is_weak():
    # Algorithm 1 asks for T, for σ² = σ_{ε,δ}² Δ² Σ_{i≤T} r(i)²
    for decay in [PowerLaw(power=1), Exponential.from_alpha(1.1), SlidingWindow(length=16)]:
        assert root(decay, 1000).value <= for_ever(decay).value < 1.0001 * root(decay, 1000).value
    # where Σ a_n² is infinite T is needed: for the count, and for weights that level off
    assert root(NoDecay(), 1 << 20).value > 2 * root(NoDecay(), 64).value
    level = [
        power_series.square_root((1 + 0.5 ** np.arange(T)) / 2) for T in (1 << 10, 1 << 14, 1 << 18)
    ]
    assert [f"{a @ a:.2f}" for a in level] == ["2.07", "2.51", "2.96"]
    # and for a memory longer than the stream it saves noise: 15.4 % for a window of 4096
    long = SlidingWindow(length=4096)
    assert f"{math.sqrt(for_ever(long).value / root(long, 1024).value):.3f}" == "1.154"


def test_gamma2_bounds_no_private_algorithm_from_above():
    # abstract: 'an upper bound on the additive error of any differentially private ... algorithm'
    guarantee = Guarantee(epsilon=0.5, delta=1e-6)
    worse = np.max(output_noise(NoDecay(), 100).stddevs(guarantee))
    assert worse > 3 * guarantee.noise_multiplier * root(NoDecay(), 100).value


@pytest.mark.parametrize("alpha", [1.1, 1.4])
def test_gamma2_bounds_gaussian_factorizations_from_below_and_nothing_else(alpha):
    # abstract: a bound for 'any' algorithm; read as a lower bound, Laplace noise is below it
    decay, guarantee = Exponential.from_alpha(alpha), Guarantee(epsilon=0.99, delta=1e-6)
    least = guarantee.noise_multiplier * gamma2(decay, 100).lower
    laplace = np.max(input_noise(decay, 100, noise="laplace").stddevs(guarantee))  # and no delta
    assert laplace < 0.56 * least
    assert np.max(input_noise(decay, 100).stddevs(guarantee)) >= least  # with Gaussian noise


def test_noise_on_the_output_has_no_multiplicative_error_either():
    # abstract: 'the first ... that does not have a multiplicative error' for n^-c; see 4.2
    decay, T = PowerLaw(power=1), 200
    L, R = output_noise(decay, T).matrices()
    assert_allclose((L @ R).toarray(), brute.matrix(decay.weights(T)), rtol=1e-12)
    assert output_noise(decay, T).error_factor < math.pi / math.sqrt(6)  # for every T
