import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import (
    CustomDecay,
    Decay,
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.honaker import honaker_online
from hushfade.baselines.independent_noise import (
    input_noise,
    lower_toeplitz,
    one_shot,
    output_noise,
    sum_cost,
)
from hushfade.baselines.smooth_binary import smooth_binary
from hushfade.baselines.square_roots import square_root_laplace
from hushfade.factors import factorization, power_series
from tests.baselines import laws
from tests.decays import ALL_DECAYS
from tests.loops import for_each

PLAIN = [output_noise, input_noise, one_shot]
NOISES = ["gaussian", "laplace"]


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", ALL_DECAYS)
@for_each("make", PLAIN)
@for_each("noise", NOISES)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, decay, noise):
    for n in [*range(1, 10), 64, 127, 128]:
        mechanism = make(decay, n, noise=noise)
        laws.matrices_give_the_decay_and_the_norms(mechanism)
        assert mechanism.pure == (noise == "laplace")


@for_each("decay", ALL_DECAYS)
@for_each("make", PLAIN)
def test_they_run_online(make, decay):
    mechanism = make(decay, 29)
    assert mechanism.online
    assert laws.is_causal(mechanism)


@for_each("noise", NOISES)
@for_each("make", PLAIN)
@for_each("decay", [NoDecay(), Exponential(3), PowerLaw(0.5), SlidingWindow(7)])
def test_simulated_errors_have_the_stated_deviation(make, decay, noise):
    laws.errors_have_the_stated_deviation(make(decay, 64, noise=noise), seed=41)


@for_each("noise", NOISES)
@for_each("make", PLAIN)
def test_simulate_is_unbiased(make, noise):
    laws.simulate_is_unbiased(make(PowerLaw(1), 16, noise=noise), seed=42)


@for_each("decay", ALL_DECAYS)
def test_input_and_output_noise_agree_at_the_last_step(decay):
    outputs, inputs = output_noise(decay, 200), input_noise(decay, 200)
    assert_allclose(inputs.error_factor, outputs.error_factor, rtol=1e-14)
    before = inputs.errors * inputs.sensitivity
    assert np.all(before <= outputs.errors * outputs.sensitivity * (1 + 1e-14))


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 30, 1024])
def test_with_laplace_noise_no_toeplitz_pair_beats_noise_on_the_input(decay, n):
    """Young: ‖l * r‖₂ ≤ ‖l‖₂ ‖r‖₁; here for the square root, the output and random pairs."""
    best = input_noise(decay, n, noise="laplace").error_factor
    assert output_noise(decay, n, noise="laplace").error_factor >= best * (1 - 1e-14)
    assert square_root_laplace(decay, n).error_factor >= best * (1 - 1e-12)
    generator = np.random.default_rng(7)
    for _ in range(5):
        r = np.concatenate([[1.0], generator.normal(size=n - 1) * 0.5 ** np.arange(1, n)])
        left = power_series.multiply(decay.weights(n), power_series.inverse(r))
        other = math.sqrt(2) * np.linalg.norm(left) * np.sum(np.abs(r))
        assert other >= best * (1 - 1e-12)


@for_each("decay", [*ALL_DECAYS, NoDecay()])
def test_one_shot_releases_are_worse_than_noise_on_the_output(decay):
    """With Laplace noise √2 m max|f| ≥ √2 Σ|f|, m weights that are not 0; with Gaussian noise the
    same split of epsilon and delta costs more than √m."""
    guarantee = Guarantee(epsilon=1, delta=1e-6)
    for noise in NOISES:
        split = one_shot(decay, 128, noise=noise).stddevs(guarantee)
        whole = output_noise(decay, 128, noise=noise).stddevs(guarantee)
        assert np.all(split >= whole * (1 - 1e-12))


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_lower_toeplitz_is_scipys(n):
    column = np.random.default_rng(1).normal(size=n) * (np.arange(n) % 3 != 1)
    found = lower_toeplitz(column)
    assert_allclose(found.toarray(), toeplitz(column, np.zeros(n)), rtol=0)
    assert found.nnz == np.count_nonzero(toeplitz(column, np.zeros(n)))


# Known values --------------------------------------------------------------------------------


KNOWN = {
    NoDecay(): "32.000",
    Exponential.from_alpha(1.01): "7.124",
    Exponential.from_alpha(1.1): "2.400",
    Exponential.from_alpha(2): "1.155",
    PowerLaw(0.5): "2.740",
    PowerLaw(1): "1.282",
    PowerLaw(2): "1.040",
    SlidingWindow(16): "4.000",
    SlidingWindow(256): "16.000",
}


@for_each("decay", KNOWN)
def test_the_reference_error_factors_at_1024_steps(decay):
    assert f"{input_noise(decay, 1024).error_factor:.3f}" == KNOWN[decay]
    assert f"{output_noise(decay, 1024).error_factor:.3f}" == KNOWN[decay]


def test_a_million_steps():
    n = 1 << 20
    assert output_noise(NoDecay(), n).error_factor == 1024.0
    # Σ α^-2k = 1/(1 - α^-2), to float64 at this length
    exact = 1 / math.sqrt(1 - 1.01**-2)
    assert_allclose(input_noise(Exponential.from_alpha(1.01), n).error_factor, exact, rtol=1e-12)
    assert_allclose(input_noise(PowerLaw(1), n).error_factor, math.pi / math.sqrt(6), rtol=1e-6)


LAPLACE = {  # at 1024 steps, √2 included: noise on the input, square root, noise on the output
    NoDecay(): ("45.25", "92.37", "1448.15"),
    Exponential.from_alpha(1.01): ("10.07", "20.79", "142.83"),
    Exponential.from_alpha(1.1): ("3.39", "5.70", "15.56"),
    Exponential.from_alpha(2): ("1.63", "2.07", "2.83"),
    PowerLaw(0.5): ("3.88", "13.54", "88.47"),
    PowerLaw(1): ("1.81", "4.10", "10.62"),
    PowerLaw(2): ("1.47", "1.83", "2.32"),
    SlidingWindow(16): ("5.66", "12.82", "22.63"),
    SlidingWindow(256): ("22.63", "58.31", "362.04"),
}


@for_each("decay", LAPLACE)
def test_laplace_noise_belongs_on_the_input(decay):
    f = decay.weights(1024)
    a = factorization.square_root(decay).right(1024)
    by_hand = [
        math.sqrt(2) * np.linalg.norm(f),
        math.sqrt(2) * np.linalg.norm(a, 1) * np.linalg.norm(a),
        math.sqrt(2) * np.linalg.norm(f, 1),
    ]
    found = [
        input_noise(decay, 1024, noise="laplace").error_factor,
        square_root_laplace(decay, 1024).error_factor,
        output_noise(decay, 1024, noise="laplace").error_factor,
    ]
    assert_allclose(found, by_hand, rtol=1e-12)
    assert tuple(f"{value:.2f}" for value in found) == LAPLACE[decay]


def test_for_counting_the_trees_beat_every_toeplitz_pair_with_laplace_noise():
    """But only long streams: the binary tree beyond 11² · 10 = 1210 steps."""

    def ratio(make, n):
        inputs = input_noise(NoDecay(), n, noise="laplace").error_factor
        return make(NoDecay(), n, noise="laplace").error_factor / inputs

    assert_allclose(ratio(binary_tree, 1024), 11 * math.sqrt(10) / 32, rtol=1e-14)
    assert ratio(smooth_binary, 1024) < ratio(honaker_online, 1024) < 1 < ratio(binary_tree, 1024)
    assert ratio(binary_tree, 1209) > 1 > ratio(binary_tree, 1211)
    for make in (smooth_binary, honaker_online, binary_tree):
        assert ratio(make, 1 << 16) < 0.3


def test_one_shot_releases_share_the_budget_of_the_releases_that_a_record_is_in():
    guarantee = Guarantee(epsilon=1, delta=1e-6)
    week = one_shot(SlidingWindow(7), 1000, noise="laplace")
    assert week.releases == 7
    assert_allclose(week.stddevs(guarantee), math.sqrt(2) * 7, rtol=1e-14)
    assert one_shot(SlidingWindow(7), 3).releases == 3
    assert one_shot(NoDecay(), 1000).releases == 1000
    growing = one_shot(CustomDecay([1, -3, 0, 2]), 10, noise="laplace")
    assert (growing.releases, growing.sensitivity) == (3, 3.0)
    part = Guarantee(epsilon=1 / 7, delta=1e-6 / 7)
    assert_allclose(
        one_shot(SlidingWindow(7), 1000).stddevs(guarantee), part.noise_multiplier, rtol=1e-12
    )


def test_the_cost_is_that_of_the_sum():
    assert sum_cost(PowerLaw(1), 20) == (19, 20.0)  # 20 weights: 1, 3, ..., 39 operations
    memory, work = sum_cost(PowerLaw(1), 1 << 20)  # the recursion's running sums
    assert 80 < memory < 200
    assert 4 * memory - 2 <= work <= 4 * memory
    assert sum_cost(CustomDecay([1, 0.5, 0.25]), 100).memory == 2
    assert sum_cost(SlidingWindow(64), 10) == (11, 2.0)  # a ring of the steps there are
    assert sum_cost(10 * NoDecay() - 9 * Exponential.from_alpha(2), 100) == (2, 6.0)
    assert (output_noise(NoDecay(), 9).memory, output_noise(NoDecay(), 9).work) == (1, 2.0)


class Own(Decay, frozen=True):
    """A decay of the user's own: f_k = 1/(1 + k²)."""

    def weights(self, n):
        return 1 / (1 + np.arange(n) ** 2.0)


def test_a_decay_of_your_own_is_summed_by_its_weights():
    laws.matrices_give_the_decay_and_the_norms(input_noise(Own(), 30))
    assert sum_cost(Own(), 30) == (29, 30.0)


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PLAIN)
def test_arguments_are_checked(make):
    with pytest.raises(InvalidValue, match="noise must be 'gaussian' or 'laplace', got 'uniform'"):
        make(NoDecay(), 4, noise="uniform")
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        make(NoDecay(), 0)
    with pytest.raises(InvalidType, match="horizon must be an integer"):
        make(NoDecay(), 4.0)
    with pytest.raises(InvalidType, match="decay must be a decay, got str"):
        make("none", 4)
