import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import (
    CustomDecay,
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    Unstable,
)
from hushfade.baselines.banded import banded_inverse_root, banded_root
from hushfade.baselines.independent_noise import input_noise
from hushfade.factors import factorization, power_series
from tests.baselines import laws
from tests.decays import ALL_DECAYS
from tests.loops import for_each

BOTH = [banded_root, banded_inverse_root]
# the momentum that is cut has zeros inside the unit disk: its root grows to 10^20 in 128 steps
STABLE = [d for d in ALL_DECAYS if np.max(np.abs(power_series.square_root(d.weights(128)))) < 10]
MONOTONE = [decay for decay in ALL_DECAYS if decay.completely_monotone]


def norms_by_solving(decay, n, *, right=None, inverse=None):
    """‖L‖₂→∞ ‖R‖₁→₂ of dense triangular solves, R or R⁻¹ given by its first column."""
    zeros = np.zeros(n)
    M = toeplitz(decay.weights(n), zeros)
    if right is not None:
        R = toeplitz(np.append(right, zeros)[:n], zeros)
        L = np.linalg.solve(R.T, M.T).T
    else:
        C = toeplitz(np.append(inverse, zeros)[:n], zeros)
        R, L = np.linalg.inv(C), M @ C
    return np.max(np.linalg.norm(L, axis=1)) * np.max(np.linalg.norm(R, axis=0))


# Laws ----------------------------------------------------------------------------------------


def test_all_but_the_cut_momentum_are_stable():
    assert len(STABLE) == len(ALL_DECAYS) - 1


@for_each("decay", STABLE)
@for_each("make", BOTH)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, decay):
    for n, bands in [(1, 1), (2, 1), (2, 2), (7, 3), (64, 5), (127, 1), (128, 16), (128, 128)]:
        laws.matrices_give_the_decay_and_the_norms(make(decay, n, bands=bands))
    laws.matrices_give_the_decay_and_the_norms(make(decay, 100))


@for_each("decay", STABLE)
@for_each("bands", [1, 2, 3, 8, 31])
def test_the_error_factors_are_those_of_dense_solves(decay, bands):
    n = 96
    a = power_series.square_root(decay.weights(n))
    c = power_series.inverse(a)
    root = norms_by_solving(decay, n, right=a[:bands])
    inverse = norms_by_solving(decay, n, inverse=c[:bands])
    assert_allclose(banded_root(decay, n, bands=bands).error_factor, root, rtol=1e-11)
    assert_allclose(banded_inverse_root(decay, n, bands=bands).error_factor, inverse, rtol=1e-11)


@for_each("make", BOTH)
@for_each("decay", STABLE)
def test_they_run_online(make, decay):
    mechanism = make(decay, 29, bands=4)
    assert mechanism.online
    assert laws.is_causal(mechanism)


@for_each("make", BOTH)
@for_each("decay", [NoDecay(), Exponential(3), PowerLaw(0.5), SlidingWindow(7)])
def test_simulated_errors_have_the_stated_deviation(make, decay):
    laws.errors_have_the_stated_deviation(make(decay, 64, bands=6), seed=45)


@pytest.mark.parametrize("make", BOTH)
def test_simulate_is_unbiased(make):
    laws.simulate_is_unbiased(make(PowerLaw(1), 16, bands=3), seed=46)


@for_each("make", BOTH)
@for_each("decay", STABLE)
def test_one_band_is_noise_on_the_input_and_all_bands_are_the_root(make, decay):
    whole = factorization.square_root(decay).error_factor(200)
    inputs = input_noise(decay, 200).error_factor
    assert_allclose(make(decay, 200, bands=1).error_factor, inputs, rtol=1e-12)
    assert_allclose(make(decay, 200, bands=200).error_factor, whole, rtol=1e-12)
    assert make(decay, 200).error_factor <= whole * (1 + 1e-12)


@for_each("decay", MONOTONE)
def test_more_bands_help_and_the_inverse_root_uses_them_better(decay):
    """Seen, not proven, for completely monotone decays; within rounding where all is won."""
    bands = [1, 2, 3, 4, 8, 16, 64, 255, 256]
    root = np.array([banded_root(decay, 256, bands=b).error_factor for b in bands])
    inverse = np.array([banded_inverse_root(decay, 256, bands=b).error_factor for b in bands])
    assert np.all(np.diff(root) <= 1e-13 * root[0])
    assert np.all(np.diff(inverse) <= 1e-13 * root[0])
    assert np.all(inverse <= root * (1 + 1e-13))


@for_each("make", BOTH)
@for_each("decay", STABLE)
def test_the_default_is_the_best_power_of_two_or_all(make, decay):
    least = min(make(decay, 100, bands=b).error_factor for b in [1, 2, 4, 8, 16, 32, 64, 100])
    assert_allclose(make(decay, 100).error_factor, least, rtol=2e-13)


@pytest.mark.parametrize("make", BOTH)
def test_memory_and_work_are_those_of_the_bands_and_the_sum(make):
    mechanism = make(NoDecay(), 1000, bands=16)
    assert (mechanism.memory, mechanism.work) == (15 + 1, 2 * 16 + 1)
    assert make(SlidingWindow(7), 1000, bands=16).memory == 15 + 8


# Known values --------------------------------------------------------------------------------


def test_two_bands_of_counting():
    """R = 1 + x/2: l = Σ_k (-½)^j summed, 1, ½, ¾, 5/8."""
    mechanism = banded_root(NoDecay(), 4, bands=2)
    assert_allclose(mechanism.sensitivity**2, 5 / 4, rtol=1e-15)
    assert_allclose(mechanism.errors[-1] ** 2, 1 + 1 / 4 + 9 / 16 + 25 / 64, rtol=1e-15)
    inverse = banded_inverse_root(NoDecay(), 4, bands=2)
    assert_allclose(inverse.error_factor, math.sqrt(85 / 64 * 7 / 4), rtol=1e-15)


def test_what_bands_cost_for_counting_at_1024_steps():
    """The square root has 3.2726 there."""
    root = [banded_root(NoDecay(), 1024, bands=b).error_factor for b in (8, 32, 128, 512)]
    assert [f"{value:.3f}" for value in root] == ["13.415", "7.622", "4.633", "3.465"]
    inverse = [banded_inverse_root(NoDecay(), 1024, bands=b).error_factor for b in (8, 32, 128)]
    assert [f"{value:.3f}" for value in inverse] == ["9.318", "5.359", "3.677"]


def test_a_fading_decay_needs_few_bands():
    mechanism = banded_inverse_root(Exponential.from_alpha(2), 1024)
    assert mechanism.name == "banded inverse square root, 16 bands"
    assert f"{mechanism.error_factor:.6f}" == "1.073182"
    assert banded_root(NoDecay(), 1024).name == "banded square root, 1024 bands"
    assert banded_root(SlidingWindow(1), 64).name == "banded square root, 1 band"


def test_a_cut_root_with_terms_of_all_sizes_keeps_its_accuracy():
    """47 taps of √g of a steep power law, whose inverse has terms from 1 down to 1e-80."""
    found = banded_root(PowerLaw(5), 1024, bands=47).error_factor
    assert_allclose(found, factorization.square_root(PowerLaw(5)).error_factor(1024), rtol=1e-12)


def test_a_million_steps():
    found = banded_inverse_root(NoDecay(), 1 << 20, bands=32)
    # l = 1, ..., then the constant Σ c_k = C(62, 31)/4^31; r decays: √T times it, and little more
    rest = math.comb(62, 31) / 4**31
    assert found.errors[-1] > rest * 1024
    assert_allclose(found.errors[-1], rest * 1024, rtol=1e-4)


# Refusals ------------------------------------------------------------------------------------


GROWING = CustomDecay([1, 3, 3])  # zeros at |x| = 1/√3


def test_a_cut_that_grows_is_refused_and_never_chosen():
    for make in BOTH:
        with pytest.raises(Unstable, match="bands must leave no zero inside the unit disk"):
            make(GROWING, 64, bands=64)
        with pytest.raises(Unstable, match="got bands = 2"):
            make(GROWING, 64, bands=2)
        found = make(GROWING, 64)
        assert found.name.endswith("1 band")
        assert_allclose(found.error_factor, math.sqrt(19), rtol=1e-12)


@pytest.mark.parametrize("make", BOTH)
def test_arguments_are_checked(make):
    with pytest.raises(InvalidValue, match="bands must be an integer >= 1, got 0"):
        make(NoDecay(), 8, bands=0)
    with pytest.raises(InvalidValue, match="bands must be an integer <= 8, got 9"):
        make(NoDecay(), 8, bands=9)
    with pytest.raises(InvalidType, match="bands must be an integer"):
        make(NoDecay(), 8, bands=2.0)
    with pytest.raises(InvalidValue, match="bands must be at most 8192 or all 262144, got 8193"):
        make(NoDecay(), 1 << 18, bands=8193)
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        make(NoDecay(), 0)
    with pytest.raises(InvalidType, match="decay must be a decay, got NoneType"):
        make(None, 4)
