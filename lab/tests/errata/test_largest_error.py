"""Errata: the largest error, and the mean square."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import erf

from hushfade import Exponential, NoDecay, PowerLaw
from hushfade.factors import factorization
from hushfade.theory import gamma_f
from lab.paper.theory.accuracy import (
    exact_mean_squared_error,
    expected_maximum,
    mean_squared_error,
)
from lab.paper.theory.bounds import half_weights, root
from lab.paper.theory.families import exponential_sum, power_sum
from tests.loops import for_each


@pytest.mark.parametrize("T", [1, 2, 16, 1024])
def test_the_expected_maximum_exceeds_root_log_t(T):
    # Theorem 5: E‖error‖∞ ≤ σ Δ γ2 √(log T); here for f = (1, 0, ...), γ2 = 1, L = R = I
    edge = math.sqrt(2 * math.log(2 * T))
    exact = quad(lambda x: 1 - erf(x / math.sqrt(2)) ** T, 0, edge + 9, points=[edge])[0]
    assert exact > math.sqrt(math.log2(T)) >= math.sqrt(math.log(T))  # whatever 'log' is
    assert exact < expected_maximum(1.0, T, noise_multiplier=1, change=1).value
    if T == 1024:
        assert (f"{exact:.3f}", f"{math.sqrt(math.log(T)):.3f}") == ("3.442", "2.633")


@for_each("decay", [PowerLaw(power=1), Exponential.from_alpha(2)])
@for_each("T", [2, 16, 256])
def test_algorithm_1_itself_exceeds_root_log_t(decay, T):
    # the same for weights > 0, by 20000 simulated streams; the sum one term too far, as printed
    a = factorization.square_root(decay).right(T + 1)
    L = factorization.square_root(decay).matrices(T)[0]
    z = np.random.default_rng(5).normal(size=(T, 20000)) * np.linalg.norm(a[:T])
    largest = np.max(np.abs(L @ z), axis=0)
    printed = float(a @ a) * math.sqrt(math.log(T))
    mean, spread = np.mean(largest), np.std(largest) / math.sqrt(20000)
    assert mean - 5 * spread > 1.15 * printed
    right = expected_maximum(float(a[:T] @ a[:T]), T, noise_multiplier=1, change=1).value
    assert mean + 5 * spread < right


@pytest.mark.parametrize("T", [2, 16, 1024])
def test_with_probability_two_thirds_the_maximum_needs_a_factor_too(T):
    # Theorem 15: |error| ≤ σ ‖L‖ ‖R‖ √(log T) at all steps, with probability ≥ 2/3
    printed, right = math.sqrt(math.log(T)), math.sqrt(2 * math.log(3 * T))
    assert erf(printed / math.sqrt(2)) ** T < 0.36 < 2 / 3
    assert erf(right / math.sqrt(2)) ** T > 2 / 3
    if T == 2:  # even the last step of a count alone misses it
        assert erf(printed / math.sqrt(2)) < 0.6


def test_the_errors_are_those_of_the_optimal_pair_and_not_of_any_pair():
    # Section 3.4: 'for any factorization', mean square ≤ σ² Δ² γ_F²/T; and so for the square root
    T = 2
    printed = gamma_f(NoDecay(), T).upper ** 2 / T
    pair = factorization.square_root(NoDecay())
    exact = exact_mean_squared_error(pair, T, noise_multiplier=1, change=1)
    assert_allclose([exact, printed], [45 / 32, (3 + math.sqrt(5)) / 4], rtol=1e-4)
    assert exact > 1.07 * printed
    assert exact <= root(NoDecay(), T).value ** 2  # what is needed, and true


@for_each("T", [1, 2, 10])
@for_each("decay", [PowerLaw(power=1), Exponential.from_alpha(1.1)])
def test_the_sums_of_theorems_5_and_6_run_one_term_too_far_and_are_weak(decay, T):
    # Theorem 5: 1 + Σ_{n=1}^{T} a_n²; Theorem 6: 1 + Σ_{n=1}^{T} f(n + 1)²/4
    pair = factorization.square_root(decay)
    exact = exact_mean_squared_error(pair, T, noise_multiplier=1, change=1)
    for bound in (root, half_weights):
        printed = bound(decay, T + 1).value
        right = bound(decay, T).value
        assert math.sqrt(exact) <= right + 1e-12 < printed


@pytest.mark.parametrize("T", [2, 3])
def test_the_mean_square_of_theorem_6_fails_for_few_steps(T):
    # Theorem 6: σ² Δ² (1 + (H - 1)/4)² with H = Σ_{n=1}^{T-1} n^-2c
    decay = PowerLaw(power=1)
    printed = power_sum(decay, T - 1).value ** 2
    pair = factorization.square_root(decay)
    exact = exact_mean_squared_error(pair, T, noise_multiplier=1, change=1)
    bound = mean_squared_error(power_sum(decay, T).value, noise_multiplier=1, change=1)
    assert printed < exact <= bound.value
    if T == 2:  # and no other pair can save it
        assert gamma_f(decay, T).lower ** 2 / T > 1 == printed
    faster = Exponential.from_alpha(2)  # the second part of the theorem holds
    exact = exact_mean_squared_error(
        factorization.square_root(faster), T, noise_multiplier=1, change=1
    )
    assert exact <= exponential_sum(faster, T).value ** 2


@pytest.mark.parametrize("copies", [4, 100])
def test_the_norms_of_theorem_15_are_exchanged(copies):
    # Theorem 15 and the proof of Theorem 6: ‖L‖_{1→2} ‖R‖_{2→∞}, for any M = L R
    M = np.tril(np.ones((2, 2)))
    L = np.hstack([M] * copies) / math.sqrt(copies)
    R = np.vstack([np.eye(2)] * copies) / math.sqrt(copies)
    assert_allclose(L @ R, M, rtol=1e-14)

    def largest(A, axis):  # column norm for axis 0, row norm for axis 1
        return np.max(np.linalg.norm(A, axis=axis))

    assert_allclose(largest(L, 0) * largest(R, 1), math.sqrt(2) / copies)  # as small as one likes
    deviation = math.sqrt((L @ L.T)[1, 1]) * largest(R, 0)  # of the second answer
    assert_allclose([deviation, largest(L, 1) * largest(R, 0)], math.sqrt(2))


def test_no_bound_holds_in_every_execution():
    # Section 3.5: 'in every execution', without Theorem 15's probability.  This is arithmetic with
    # the normal law and no code of ours: a bound at all steps fails with a probability above 0
    for T in (2, 1000):
        printed, right = math.sqrt(math.log(T)), math.sqrt(2 * math.log(3 * T))
        assert erf(printed / math.sqrt(2)) ** T < 0.36
        assert 2 / 3 < erf(right / math.sqrt(2)) ** T < 1
