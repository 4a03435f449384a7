"""Errata: the comparison with the Gaussian mechanism."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, PowerLaw
from hushfade.theory.accuracy import least_bolot_sensitivity
from hushfade.theory.bounds import half_weights, output_noise, root
from hushfade.theory.families import (
    exponential_sum,
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
        decay = Exponential(alpha=alpha)
        assert exponential_sum(decay, T).value < output_noise(decay, T).value


def test_the_comparison_is_an_equality_at_one_step():
    for decay in [PowerLaw(power=1), Exponential(alpha=2)]:
        assert half_weights(decay, 1).value == output_noise(decay, 1).value == 1


def test_the_comparison_needs_a_harmonic_sum_below_nine():
    # after Theorem 3: 'for all values of c'; true for whole c, false for c = 1/4 at T = 100
    slow = PowerLaw(power=0.25)
    assert half_weights(slow, 100).value > output_noise(slow, 100).value
    assert root(slow, 100).value < output_noise(slow, 100).value


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
    decay = Exponential(alpha=2)
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


def test_the_prior_bound_for_powers_has_twice_the_power_and_is_weak_as_printed():
    # Section 4.1: γ2 ≤ √(H_{T,c})
    T, c = 100, 1
    printed = math.sqrt(np.sum(powers(float(c), T)))
    assert_allclose(output_noise(PowerLaw(power=c), T).value, np.linalg.norm(powers(1.0, T)))
    assert printed > 1.7 * output_noise(PowerLaw(power=c), T).value


def test_the_prior_bound_for_exponentials_has_a_root_and_is_weak_as_printed():
    # Section 4.1: γ2 ≤ Σ_{n=0}^{T-1} α^-2n
    decay = Exponential(alpha=1.01)
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
