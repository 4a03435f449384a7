import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import (
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    theory,
)
from hushfade.baselines.square_roots import (
    column_normalized_root,
    max_optimum,
    mean_optimum,
    normalized_root,
    square_root,
    square_root_laplace,
)
from hushfade.factors import factorization, power_series
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import RootTaps
from tests.baselines import laws
from tests.decays import ALL_DECAYS
from tests.loops import for_each

ROOTS = [square_root, square_root_laplace, normalized_root, column_normalized_root]
OPTIMA = [max_optimum, mean_optimum]
# the momentum that is cut has zeros inside the unit disk: its root grows to 10^20 in 128 steps
STABLE = [d for d in ALL_DECAYS if np.max(np.abs(power_series.square_root(d.weights(128)))) < 10]
REFERENCE = [
    NoDecay(),
    Exponential.from_alpha(1.01),
    Exponential.from_alpha(1.1),
    Exponential.from_alpha(2),
    PowerLaw(0.5),
    PowerLaw(1),
    PowerLaw(2),
    SlidingWindow(16),
    SlidingWindow(256),
]


def root_matrix(decay, n):
    """H by the recurrence of its coefficients, O(n²)."""
    f, a = decay.weights(n), np.zeros(n)
    a[0] = math.sqrt(f[0])
    for k in range(1, n):
        a[k] = (f[k] - a[1:k] @ a[k - 1 : 0 : -1]) / (2 * a[0])
    return toeplitz(a, np.zeros(n))


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", STABLE)
@for_each("make", ROOTS)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, decay):
    for n in [*range(1, 10), 63, 64, 65, 127, 128]:
        laws.matrices_give_the_decay_and_the_norms(make(decay, n))


@for_each("decay", ALL_DECAYS)
@for_each("make", OPTIMA)
def test_the_optima_multiply_to_the_decay_and_have_the_stated_norms(make, decay):
    for n in [1, 2, 7, 40]:
        # the optimum's weights may nearly vanish, and R is as ill conditioned as they are
        laws.matrices_give_the_decay_and_the_norms(make(decay, n), product=1e-10)


@for_each("make", [*ROOTS, *OPTIMA])
@for_each("decay", STABLE)
def test_they_run_online(make, decay):
    mechanism = make(decay, 29)
    assert mechanism.online
    assert laws.is_causal(mechanism)


@for_each("make", [*ROOTS, *OPTIMA])
@for_each("decay", [NoDecay(), Exponential(3), PowerLaw(0.5), SlidingWindow(7)])
def test_simulated_errors_have_the_stated_deviation(make, decay):
    laws.errors_have_the_stated_deviation(make(decay, 64), seed=47)


@for_each("make", [*ROOTS, *OPTIMA])
def test_simulate_is_unbiased(make):
    laws.simulate_is_unbiased(make(PowerLaw(1), 16), seed=48)


@for_each("decay", STABLE)
@for_each("n", [1, 2, 64, 300])
def test_the_column_normalized_root_has_unit_columns_and_dense_errors(decay, n):
    H = root_matrix(decay, n)
    norms = np.linalg.norm(H, axis=0)
    R = H / norms[None, :]
    L = np.linalg.solve(R.T, toeplitz(decay.weights(n), np.zeros(n)).T).T
    found = column_normalized_root(decay, n)
    assert found.sensitivity == 1.0
    assert_allclose(np.linalg.norm(R, axis=0), 1.0, rtol=1e-13)
    assert_allclose(found.errors, np.linalg.norm(L, axis=1), rtol=1e-11)


@for_each("decay", STABLE)
def test_no_mechanism_beats_the_optimum_and_the_optima_attain_it(decay):
    n = 64
    least, mean = theory.gamma2(decay, n), theory.gamma_f(decay, n)
    for make in (square_root, normalized_root, column_normalized_root, *OPTIMA):
        mechanism = make(decay, n)
        assert mechanism.error_factor >= least.lower
        assert np.linalg.norm(mechanism.errors) * mechanism.sensitivity >= mean.lower
    assert max_optimum(decay, n).error_factor <= least.lower * (1 + 2e-4)
    best = mean_optimum(decay, n)
    assert np.linalg.norm(best.errors) * best.sensitivity <= mean.lower * (1 + 2e-4)


@for_each("decay", STABLE)
def test_the_wrappers_have_the_numbers_of_their_pairs(decay):
    n = 200
    root, normalized = factorization.square_root(decay), factorization.normalized(decay, n)
    # the sum of squares has a closed form in one place and is a sum in the other
    assert square_root(decay, n).error_factor == pytest.approx(root.error_factor(n), rel=1e-12)
    assert normalized_root(decay, n).error_factor == pytest.approx(
        normalized.error_factor(n), rel=1e-12
    )
    laplace = square_root_laplace(decay, n)
    assert_allclose(laplace.sensitivity, np.sum(np.abs(root.right(n))), rtol=1e-14)
    assert laplace.pure


# Known values --------------------------------------------------------------------------------


ROOT = [3.2726, 2.1400, 1.4782, 1.0732, 1.3544, 1.1081, 1.0191, 2.1132, 3.2304]


def test_the_reference_error_factors_of_the_square_root():
    assert [round(square_root(decay, 1024).error_factor, 4) for decay in REFERENCE] == ROOT


COLUMN_NORMALIZED = [3.0807, 2.1400, 1.4782, 1.0732, 1.3509, 1.1080, 1.0191, 2.1131, 3.2182]


def test_the_error_factors_of_the_column_normalized_root():
    found = [column_normalized_root(decay, 1024).error_factor for decay in REFERENCE]
    assert [round(value, 4) for value in found] == COLUMN_NORMALIZED


def test_the_column_normalized_root_is_better_than_the_gain_for_counting():
    ratios = [
        column_normalized_root(NoDecay(), n).error_factor
        / normalized_root(NoDecay(), n).error_factor
        for n in (256, 1024, 4096)
    ]
    assert all(0.993 < ratio < 0.997 for ratio in ratios)
    # its excess over ln T/π falls towards 0.846 (Henzinger, Kalinin, Upadhyay 2025), slowly
    excess = [
        column_normalized_root(NoDecay(), n).error_factor - math.log(n) / math.pi
        for n in (64, 256, 1024, 4096)
    ]
    assert np.all(np.diff(excess) < 0)
    assert 0.846 < excess[-1] < 0.871


PRINTED = [3.0665, 2.1400, 1.4782, 1.0732, 1.3509, 1.1080, 1.0191, 2.1131, 3.2149]


def row_normalized(decay, n):
    """R = D⁻¹ H, L = H D with D the column norms of H, as it is often written."""
    norms = np.sqrt(np.cumsum(RootTaps(decay).first(n) ** 2)[::-1])
    return Factorization(decay, RootTaps(decay), n, gain=1 / norms)


def test_the_often_printed_figures_are_the_left_norm_alone():
    """‖H D‖ is the error factor only if D⁻¹ H has sensitivity 1, and it has more: D⁻¹ scales rows.

    The column-normalized root does have sensitivity 1, and a slightly larger left norm.
    """
    pairs = [row_normalized(decay, 1024) for decay in REFERENCE]
    left = [float(np.max(pair.errors(1024))) for pair in pairs]
    assert [round(value, 4) for value in left] == PRINTED
    sensitivities = [pair.sensitivity(1024).value for pair in pairs]
    assert all(value > 1.0001 for value in sensitivities)
    assert f"{sensitivities[0]:.4f}" == "1.0305"
    assert f"{pairs[0].error_factor(1024):.4f}" == "3.1599"
    for decay, pair, norm in zip(REFERENCE, pairs, left, strict=True):
        true = column_normalized_root(decay, 1024).error_factor
        assert norm * (1 - 1e-9) <= true <= pair.error_factor(1024)


@pytest.mark.parametrize(
    ("n", "left"), [(1 << 16, "4.3857"), pytest.param(1 << 20, "5.2666", marks=pytest.mark.slow)]
)
def test_the_printed_figures_of_counting_at_long_horizons(n, left):
    """The column that starts m steps before the end has Σ_{i≤m} a_i²/S_{m-i}, at every horizon;
    for counting m = 3 is the worst."""
    pair = row_normalized(NoDecay(), n)
    assert f"{np.max(pair.errors(n)):.4f}" == left
    squares = [Fraction(1), Fraction(1, 4), Fraction(9, 64), Fraction(25, 256)]  # a_i²
    worst = sum(squares[i] / sum(squares[: 4 - i]) for i in range(4))
    assert_allclose(pair.sensitivity(n).value, math.sqrt(worst), rtol=1e-9)


def test_two_steps_of_counting():
    assert_allclose(max_optimum(NoDecay(), 2).error_factor, 2 / math.sqrt(3), rtol=1e-4)
    assert_allclose(
        column_normalized_root(NoDecay(), 2).errors ** 2,
        [5 / 4, (5 - math.sqrt(5)) / 2],
        rtol=1e-14,
    )


def test_the_cost_is_the_sum_and_the_noise_drawn_ahead():
    for make in ROOTS:
        mechanism = make(NoDecay(), 512)
        assert mechanism.memory == 513
        assert mechanism.work in {1 + 10 * 10 + 7, 1 + 10 * 10 + 8}
    dense = max_optimum(NoDecay(), 30)
    assert (dense.memory, dense.work) == (31, 1 + 30 + 1)


# Refusals ------------------------------------------------------------------------------------


@for_each("make", [*ROOTS, *OPTIMA])
def test_arguments_are_checked(make):
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        make(NoDecay(), 0)
    with pytest.raises(InvalidType, match="horizon must be an integer"):
        make(NoDecay(), 4.0)
    with pytest.raises(InvalidType, match="decay must be a decay, got str"):
        make("none", 4)


def test_long_horizons_are_refused_where_the_cost_is_quadratic_or_more():
    with pytest.raises(InvalidValue, match="horizon must be an integer <= 8192, got 8193"):
        column_normalized_root(NoDecay(), 8193)
    for make in OPTIMA:
        with pytest.raises(InvalidValue, match="horizon must be an integer <= 2048, got 2049"):
            make(NoDecay(), 2049)
