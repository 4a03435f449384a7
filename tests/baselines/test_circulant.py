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
from hushfade.baselines.circulant import circulant
from tests.baselines import laws
from tests.decays import ALL_DECAYS
from tests.loops import for_each

SIGNED = [CustomDecay([1, -3, 1]), CustomDecay([1, -1]), CustomDecay([0.5, 2, -4])]


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", [*ALL_DECAYS, *SIGNED])
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(decay):
    for n in [*range(1, 10), 64, 127, 128]:
        laws.matrices_give_the_decay_and_the_norms(circulant(decay, n))


@for_each("decay", ALL_DECAYS)
def test_it_needs_its_noise_ahead(decay):
    published = circulant(decay, 29)
    assert not published.online
    assert not laws.is_causal(published)


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 30, 1024, 1 << 16])
def test_the_error_factor_is_the_mean_size_of_the_eigenvalues(decay, n):
    f = decay.weights(n)
    assert_allclose(
        circulant(decay, n).error_factor, np.mean(np.abs(np.fft.fft(f, 2 * n))), rtol=1e-12
    )


@for_each("decay", ALL_DECAYS)
def test_no_factor_is_below_the_certified_optimum(decay):
    assert circulant(decay, 64).error_factor >= theory.gamma2(decay, 64).lower


@for_each("decay", [NoDecay(), Exponential(3), PowerLaw(0.5), SlidingWindow(7)])
def test_simulated_errors_have_the_stated_deviation(decay):
    laws.errors_have_the_stated_deviation(circulant(decay, 64), seed=43)


def test_simulate_is_unbiased():
    laws.simulate_is_unbiased(circulant(PowerLaw(1), 16), seed=44)


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


def test_the_reference_error_factor_for_a_long_window():
    """1.9 % above γ2 = 3.14703 at 1024 steps; the square root is 2.6 % above."""
    assert f"{circulant(SlidingWindow(256), 1024).error_factor:.4f}" == "3.2072"


def test_the_cost():
    mechanism = circulant(NoDecay(), 1024)  # the sum, 1024 noises; log₂ 2048 = 11
    assert (mechanism.memory, mechanism.work) == (1025, 1 + 5 * 11 + 3)


# Refusals ------------------------------------------------------------------------------------


def test_arguments_are_checked():
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        circulant(NoDecay(), 0)
    with pytest.raises(InvalidType, match="decay must be a decay, got int"):
        circulant(1, 4)
