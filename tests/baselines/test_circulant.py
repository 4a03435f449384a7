import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    CustomDecay,
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    theory,
)
from hushfade.baselines.circulant import causal_circulant, circulant
from hushfade.theory import certificates
from tests.baselines import laws
from tests.decays import ALL_DECAYS
from tests.loops import for_each

BOTH = [circulant, causal_circulant]
SIGNED = [CustomDecay([1, -3, 1]), CustomDecay([1, -1]), CustomDecay([0.5, 2, -4])]


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", [*ALL_DECAYS, *SIGNED])
@for_each("make", BOTH)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, decay):
    for n in [*range(1, 10), 64, 127, 128]:
        laws.matrices_give_the_decay_and_the_norms(make(decay, n))


@for_each("decay", ALL_DECAYS)
def test_only_the_turned_one_runs_online(decay):
    published, turned = circulant(decay, 29), causal_circulant(decay, 29)
    assert not published.online
    assert not laws.is_causal(published)
    assert turned.online
    assert laws.is_causal(turned)


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 3, 30, 200])
def test_turning_costs_nothing_and_drops_noise(decay, n):
    published, turned = circulant(decay, n), causal_circulant(decay, n)
    assert_allclose(turned.sensitivity, published.sensitivity, rtol=1e-12)
    assert np.all(turned.errors <= published.errors * (1 + 1e-9))
    if np.count_nonzero(decay.weights(n)) > 1:
        assert turned.errors[0] < published.errors[0]


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 30, 1024, 1 << 16])
def test_the_error_factor_is_the_mean_size_of_the_eigenvalues(decay, n):
    f = decay.weights(n)
    assert_allclose(
        circulant(decay, n).error_factor, np.mean(np.abs(np.fft.fft(f, 2 * n))), rtol=1e-12
    )


@for_each("decay", ALL_DECAYS)
def test_no_factor_is_below_the_certified_optimum(decay):
    least = theory.gamma2(decay, 64)
    for make in BOTH:
        assert make(decay, 64).error_factor >= least.lower
    assert causal_circulant(decay, 64).error_factor >= certificates.lower(decay.weights(64)).value


@for_each("make", BOTH)
@for_each("decay", [NoDecay(), Exponential(3), PowerLaw(0.5), SlidingWindow(7)])
def test_simulated_errors_have_the_stated_deviation(make, decay):
    laws.errors_have_the_stated_deviation(make(decay, 64), seed=43)


@pytest.mark.parametrize("make", BOTH)
def test_simulate_is_unbiased(make):
    laws.simulate_is_unbiased(make(PowerLaw(1), 16), seed=44)


# Known values --------------------------------------------------------------------------------


def test_the_reference_error_factors_for_counting():
    found = [circulant(NoDecay(), n).error_factor for n in (1024, 1 << 16, 1 << 20)]
    assert [f"{value:.4f}" for value in found] == ["3.1876", "4.5114", "5.3940"]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_counting_has_mathias_value(n):
    """½ + γ̂/2 with γ̂ = T⁻¹ Σ_j |csc((2j-1)π/2T)|, Mathias 1993."""
    j = np.arange(1, n + 1)
    cosecants = float(np.mean(np.abs(1 / np.sin((2 * j - 1) * math.pi / (2 * n)))))
    assert_allclose(circulant(NoDecay(), n).error_factor, 0.5 + cosecants / 2, rtol=1e-12)


def test_for_a_long_window_the_turned_one_comes_near_the_optimum():
    """1.5 % above γ2 = 3.14703 at 1024 steps; the square root is 2.6 % above."""
    assert f"{circulant(SlidingWindow(256), 1024).error_factor:.4f}" == "3.2072"
    assert f"{causal_circulant(SlidingWindow(256), 1024).error_factor:.4f}" == "3.1932"


def test_the_cost():
    mechanism = circulant(NoDecay(), 1024)  # the sum, 1024 noises; log₂ 2048 = 11
    assert (mechanism.memory, mechanism.work) == (1025, 1 + 5 * 11 + 3)
    assert causal_circulant(NoDecay(), 100).memory == 101


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", BOTH)
def test_arguments_are_checked(make):
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        make(NoDecay(), 0)
    with pytest.raises(InvalidType, match="decay must be a decay, got int"):
        make(1, 4)


def test_the_turned_one_is_dense():
    with pytest.raises(InvalidValue, match="horizon must be an integer <= 2048, got 2049"):
        causal_circulant(NoDecay(), 2049)
