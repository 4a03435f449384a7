"""Errata: the comparison with the Gaussian mechanism."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import erf

from hushfade import Exponential, NoDecay, PowerLaw
from hushfade.baselines.independent_noise import input_noise
from hushfade.factors import factorization
from lab.paper.theory.accuracy import least_bolot_sensitivity
from lab.paper.theory.bounds import half_weights, output_noise, root
from lab.paper.theory.families import (
    exponential_sum,
    power_sum,
    power_zeta,
)
from tests.theory import brute
from tests.theory.brute import harmonic, powers


@pytest.mark.parametrize("T", [2, 3, 10, 100, 10000])
def test_the_comparison_is_true_from_two_steps_on(T):
    # Lemma 16
    for c in [1, 2, 3, 5]:
        decay = PowerLaw(power=c)
        assert half_weights(decay, T).value < output_noise(decay, T).value
    for alpha in [1.0001, 1.01, 1.1, 2, 10]:
        decay = Exponential.from_alpha(alpha)
        assert exponential_sum(decay, T).value < output_noise(decay, T).value


def test_the_comparison_is_an_equality_at_one_step_and_is_weak():
    # Lemma 16 does not repeat the T ≥ 2 of Section 1.1
    for decay in [PowerLaw(power=1), Exponential.from_alpha(2)]:
        assert half_weights(decay, 1).value == output_noise(decay, 1).value == 1


def test_the_comparison_needs_a_harmonic_sum_below_nine_and_is_weak():
    # after Theorem 3, whose c is whole: 'for all values of c'; read for real c it fails at c = 1/4
    slow = PowerLaw(power=0.25)
    assert half_weights(slow, 100).value > output_noise(slow, 100).value
    assert root(slow, 100).value < output_noise(slow, 100).value


def test_the_comparison_for_all_of_class_f_fails_for_the_count_and_is_weak():
    # Section 1.2 (A): less than the Gaussian mechanism 'for the functions in Theorem 6', all of F;
    # so it is for the count, but Theorem 6's bound does not show it
    assert half_weights(NoDecay(), 9).value == output_noise(NoDecay(), 9).value == 3
    assert half_weights(NoDecay(), 10).value > output_noise(NoDecay(), 10).value
    assert root(NoDecay(), 10).value < output_noise(NoDecay(), 10).value


def test_the_printed_harmonic_sum_makes_it_an_equality_at_two_steps():
    # proof of Lemma 16: H_{T,2c} > 1 for T > 1, with H = Σ_{n=1}^{T-1} n^-2c
    printed = sum(n**-2.0 for n in range(1, 2))
    assert printed == 1
    assert (1 + (printed - 1) / 4) ** 2 - printed == 0  # p(H) < 0 is claimed


@pytest.mark.parametrize(
    ("decay", "first"),
    [(PowerLaw(power=1), 3), (PowerLaw(power=3), 3), (Exponential.from_alpha(1.01), 4)],
    ids=repr,
)
def test_noise_on_the_inputs_beats_the_bound_on_gamma_f_at_two_steps_and_the_comparison_is_weak(
    decay, first
):
    # Lemma 16 compares γ_F ≤ √T γ2 with noise on the output; L = M, R = I has γ_F ≤ ‖M‖_F
    bound = power_sum if isinstance(decay, PowerLaw) else exponential_sum
    for T in range(2, 50):
        inputs = np.linalg.norm(brute.matrix(decay.weights(T)))
        assert inputs < math.sqrt(T) * output_noise(decay, T).value
        assert (math.sqrt(T) * bound(decay, T).value < inputs) == (first <= T)
        # the square root itself is better from T = 2 on
        H = brute.matrix(brute.root(decay.weights(T)))
        assert np.linalg.norm(H) * np.linalg.norm(H[:, 0]) < inputs


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_coefficient_of_the_squared_sum_is_two_over_pi_n(n):
    # proof of Lemma 16: the coefficient of q^n in (1 + Σ q^n/(πn))² is 1/π + Σ_k 1/(π² k (n-k))
    s = np.concatenate([[1.0], 1 / (np.pi * np.arange(1, 12))])
    exact = np.convolve(s, s)[n]
    rest = sum(1 / (math.pi**2 * k * (n - k)) for k in range(1, n))
    assert_allclose(exact, 2 / (math.pi * n) + rest, rtol=1e-14)
    if n == 2:
        assert_allclose(exact, 1 / math.pi + rest, rtol=1e-14)  # the only n where it is right
    else:
        assert abs(exact - (1 / math.pi + rest)) > 0.1


def test_the_first_inequality_of_the_comparison_fails_for_fast_decay():
    # proof of Lemma 16: (1 + S/π)² ≤ 1 + Σ_{n=1}^{2T-2} (1/π + 2 ln n/(π² n)) q^n
    T, q = 2, 0.01
    left = (1 + q / math.pi) ** 2
    right = 1 + sum((1 / math.pi + 2 * math.log(n) / (math.pi**2 * n)) * q**n for n in (1, 2))
    assert left > right
    assert left < sum(q**n for n in range(T))


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_the_harmonic_sum_is_above_the_logarithm(n):
    # proof of Lemma 16: Σ_{k=1}^{n-1} 1/k ≤ ln n
    assert harmonic(n - 1) > math.log(n)
    assert harmonic(n - 1) <= 1 + math.log(n - 1)


def test_the_upper_half_of_the_sum_is_not_below_the_lower_half():
    # proof of Lemma 16, third line: Σ_{n=T}^{2T-2} t_n q^n ≤ Σ_{n=1}^{T-1} t_n q^n
    T, q = 2, 0.99

    def term(n):
        return (1 / math.pi + 2 * math.log(n) / (math.pi**2 * n)) * q**n

    assert sum(term(n) for n in range(T, 2 * T - 1)) > sum(term(n) for n in range(1, T))


def test_the_last_inequality_of_the_comparison_is_reversed():
    # proof of Lemma 16: 0 < (1 + S/π)² - Σ α^-2n
    decay = Exponential.from_alpha(2)
    difference = exponential_sum(decay, 5).value ** 2 - output_noise(decay, 5).value ** 2
    assert difference < 0


@pytest.mark.parametrize("T", [2, 3, 10, 100])
def test_the_comparison_follows_from_its_case_without_decay(T):
    # A proof that holds.  Let D(q) = Σ_{n<T} q^n - (1 + Σ_{n<T} q^n/(πn))².  Its coefficients are
    # > 0 for 0 < n < T and ≤ 0 from T on, so D(q)/q^(T-1) falls on (0, 1]: D(1) > 0 is enough.
    s = np.concatenate([[1.0], 1 / (np.pi * np.arange(1, T))])
    d = -np.convolve(s, s)
    d[:T] += 1
    assert d[0] == 0
    assert np.all(d[1:T] > 0)
    assert np.all(d[T:] <= 0)
    assert np.sum(d) > 0
    assert_allclose(np.sum(d), T - (1 + harmonic(T - 1) / math.pi) ** 2, rtol=1e-10)


@pytest.mark.parametrize("c", [1, 2])
def test_the_prior_bound_for_powers_has_twice_the_power_and_runs_to_t(c):
    # Section 4.1: γ2 ≤ √(H_{T,c}), with Theorem 3's H_{T,c} = Σ_{n=1}^{T-1} n^-c
    def printed(T):
        return math.sqrt(np.sum(powers(float(c), T - 1)))

    decay = PowerLaw(power=c)
    assert printed(2) == 1 < brute.gamma2(powers(float(c), 2))[0]  # no bound at T = 2
    assert printed(100) > 1.2 * output_noise(decay, 100).value  # and later a loose one
    for T in (2, 10):
        assert_allclose(output_noise(decay, T).value, np.linalg.norm(powers(float(c), T)))
        assert brute.gamma2(powers(float(c), T))[1] < output_noise(decay, T).value


def test_the_prior_bound_for_exponentials_has_a_root_and_is_weak_as_printed():
    # Section 4.1: γ2 ≤ Σ_{n=0}^{T-1} α^-2n
    decay = Exponential.from_alpha(1.01)
    printed = np.sum(1.01 ** (-2.0 * np.arange(1000)))
    assert_allclose(output_noise(decay, 1000).value, math.sqrt(printed), rtol=1e-12)
    assert printed > 7 * output_noise(decay, 1000).value


def test_our_sensitivity_is_the_root_of_the_factor():
    # Section 4.3: 'the sensitivity of our algorithm is γ2(M_f)'
    a = brute.root(powers(1.0, 200))
    sensitivity = np.linalg.norm(a)
    assert_allclose(sensitivity**2, root(PowerLaw(power=1), 200).value)
    assert sensitivity < brute.gamma2(powers(1.0, 10))[0]
    assert power_zeta(PowerLaw(power=1)).value < least_bolot_sensitivity(1.0).value


def test_sensitivity_alone_does_not_order_mechanisms():
    # Section 4.3: 'the additive error of all the algorithms scales with sensitivity', so only it
    # is compared; noise on the inputs has the least sensitivity there is, and more error than ours
    decay, T = PowerLaw(power=1), 200
    plain = input_noise(decay, T)
    ours = factorization.square_root(decay)
    assert plain.sensitivity == 1 < ours.sensitivity(T).value
    assert plain.error_factor > 1.15 * ours.error_factor(T)


@pytest.mark.parametrize("T", [2, 16, 1024])
def test_the_gaussian_mechanism_exceeds_root_log_t_too(T):
    # Section 4.2: its largest error 'is' σ Δ L √(log T); its errors are independent, so exactly
    edge = math.sqrt(2 * math.log(2 * T))
    exact = quad(lambda x: 1 - erf(x / math.sqrt(2)) ** T, 0, edge + 9, points=[edge])[0]
    assert math.sqrt(math.log(T)) < exact < edge


def test_the_additive_error_of_equation_9_vanishes_with_a_large_power_and_is_weak():
    # Section 1.2 (B.1), equation (9): |error| ≤ βF + O(σ c^(-3/2) β^-3 ln(1/(1-β)) √(log T)), here
    # with probability 2/3 and the constant 1.  The streams 0 and a single 1 have F = 0 and F = 1 at
    # its step: with η the additive part the answers lie in [-η, η] and beyond 1-β-η, disjoint for
    # η < (1-β)/2, so privacy asks 2/3 ≤ e^ε/3 + δ.  Weak: the constant may depend on c, and the
    # text that is quoted was not at hand
    beta, epsilon, delta, T = 0.25, 0.5, 1e-6, 2
    sigma = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))

    def additive(c):
        return sigma * c**-1.5 / beta**3 * math.log(1 / (1 - beta)) * math.sqrt(math.log(T))

    assert additive(1) > 1 > (1 - beta) / 2 > additive(1000) > additive(10000)
    assert f"{additive(1000):.3f}" == "0.010"
    assert math.exp(epsilon) / 3 + delta < 2 / 3  # so no such mechanism is (ε, δ)-private
