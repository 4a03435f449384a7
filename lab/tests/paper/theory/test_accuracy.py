import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Guarantee, NoDecay, PowerLaw, classical_noise_multiplier, delta_of
from hushfade.baselines.bolot_power import bolot_sensitivity
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.factorization import normalized, square_root
from lab.paper.theory.accuracy import (
    accuracy,
    exact_mean_squared_error,
    expected_maximum,
    least_bolot_sensitivity,
    mean_squared_error,
    sharper_expected_maximum,
)
from lab.paper.theory.bounds import for_ever
from lab.paper.theory.families import power_zeta
from tests.decays import ALL_DECAYS, LOG_CONVEX
from tests.loops import for_each

STEPS = [1, 2, 3, 10, 100, 1024, 1 << 20]
POWERS = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 100]
UNIT = {"noise_multiplier": 1.0, "change": 1.0}


def largest_of(n):
    """E max of n independent |N(0, 1)|, in 20 digits."""
    with mpmath.workdps(20):
        edge = mpmath.sqrt(2 * mpmath.log(2 * n))
        cuts = [0, edge / 2, edge, edge + 1, edge + 3, edge + 12]
        return float(mpmath.quad(lambda x: 1 - mpmath.erf(x / mpmath.sqrt(2)) ** n, cuts))


@for_each("n", STEPS)
def test_the_sharper_maximum_is_that_of_independent_noise(n):
    value = sharper_expected_maximum(1.0, n, **UNIT).value
    assert_allclose(value, largest_of(n), rtol=1e-7)  # quad's own error is added
    assert value >= largest_of(n) * (1 - 1e-14)


@for_each("n", STEPS)
def test_the_plain_maximum_is_above_the_sharper_one(n):
    assert largest_of(n) < expected_maximum(1.0, n, **UNIT).value


@for_each("decay", [NoDecay(), PowerLaw(power=0.5), PowerLaw(power=2)])
@for_each("n", [1, 16, 200])
def test_the_error_of_a_mechanism_stays_below_both(decay, n):
    pair = square_root(decay)
    L, _ = pair.matrices(n)
    noise = np.random.default_rng(7).normal(size=(n, 20000))
    largest = np.max(np.abs(L @ noise), axis=0) * pair.sensitivity(n).value
    mean, spread = np.mean(largest), np.std(largest) / math.sqrt(20000)
    factor = pair.error_factor(n)
    # five standard errors: noise of one step meets the sharper bound exactly
    assert mean - 5 * spread <= sharper_expected_maximum(factor, n, **UNIT).value
    assert mean - 5 * spread <= expected_maximum(factor, n, **UNIT).value


@for_each("n", [1, 2, 40])
@for_each("decay", ALL_DECAYS)
def test_the_exact_mean_squared_error_is_that_of_the_matrices(decay, n):
    pair = square_root(decay)
    L, R = pair.matrices(n)
    stddev = 3.0 * 2.0 * np.max(np.linalg.norm(R, axis=0))
    expected = stddev**2 * np.sum(L**2) / n
    value = exact_mean_squared_error(pair, n, noise_multiplier=3.0, change=2.0)
    assert_allclose(value, expected, rtol=1e-12)


@for_each("n", [1, 2, 40, 1000])
@for_each("decay", LOG_CONVEX)
def test_the_squared_factor_is_above_the_exact_mean_squared_error(decay, n):
    for pair in [square_root(decay), normalized(decay, n)]:
        exact = exact_mean_squared_error(pair, n, **UNIT)
        bound = mean_squared_error(pair.error_factor(n), **UNIT)
        assert exact <= bound.value * (1 + 1e-12)


@for_each("epsilon", [0.1, 0.5, 0.99])
@for_each("delta", [1e-9, 1e-6, 1e-3])
def test_tight_noise_is_private_and_below_the_classical(epsilon, delta):
    found = accuracy(2.0, 100, epsilon=epsilon, delta=delta, change=2.0)
    for tight, classical in zip(found["tight"], found["classical"], strict=True):
        assert tight.value < classical.value
        assert (tight.quantity, tight.side) == (classical.quantity, "upper")
    sigma = math.sqrt(found["tight"][-1].value) / (2.0 * 2.0)
    # 1 / (1 / mu) is rounded twice
    assert delta_of(1 / sigma, epsilon) <= delta * (1 + 1e-12)
    assert delta_of(1.001 / sigma, epsilon) > delta


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, "1.46"), (0.5, "1.32"), (0.999, "1.25")])
def test_how_much_more_noise_the_classical_formula_takes(epsilon, times):
    found = accuracy(1.0, 10, epsilon=epsilon, delta=1e-6, change=1.0)
    assert f"{found['classical'][0].value / found['tight'][0].value:.2f}" == times


def test_the_papers_setting_is_a_change_of_twice_delta():
    # x in [-Δ, Δ], replaced: σ = (2/ε)√(2 ln(1.25/δ)), error ≤ σ Δ factor √(2 ln 2T)
    epsilon, delta, size, factor, n = 0.5, 1e-6, 3.0, 1.1081, 1024
    sigma = 2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    found = accuracy(factor, n, epsilon=epsilon, delta=delta, change=2 * size)["classical"]
    expected = sigma * size * factor
    assert_allclose(found[0].value, expected * math.sqrt(2 * math.log(2048)), rtol=1e-14)
    assert_allclose(found[2].value, expected**2, rtol=1e-14)


def test_errors_grow_with_factor_noise_and_change():
    base = expected_maximum(1.5, 50, noise_multiplier=2.0, change=0.5).value
    for name in ["factor", "noise_multiplier", "change"]:
        arguments = {"factor": 1.5, "noise_multiplier": 2.0, "change": 0.5}
        arguments[name] *= 2
        assert_allclose(expected_maximum(n=50, **arguments).value, 2 * base, rtol=1e-14)


def test_two_independent_normals_by_hand():
    value = sharper_expected_maximum(1.0, 2, **UNIT).value
    assert_allclose(value, 2 / math.sqrt(math.pi), rtol=1e-8)


def test_a_thousand_steps_by_printed_digits():
    assert f"{sharper_expected_maximum(1.0, 1024, **UNIT).value:.3f}" == "3.442"
    assert f"{expected_maximum(1.0, 1024, **UNIT).value:.3f}" == "3.905"


@for_each("c", POWERS)
def test_the_least_sensitivity_of_bolot_is_below_every_beta(c):
    least = least_bolot_sensitivity(c)
    betas = np.linspace(0, 1, 20001)[1:-1]
    values = 1 / betas + np.log(1 / (1 - betas)) / (c * betas**2)
    assert least.side == "upper"
    assert_allclose(least.value, np.min(values), rtol=1e-5)  # a grid of 1/20000
    assert least.value <= np.min(values) * (1 + 1e-9)
    assert all(bolot_sensitivity(c, beta) >= least.value for beta in [0.01, 0.5, 0.99])


@for_each("c", POWERS)
def test_bolot_is_above_one_plus_one_over_c_and_so_above_our_factor(c):
    least = least_bolot_sensitivity(c).value
    assert least > 1 + 1 / c
    assert for_ever(PowerLaw(power=c)).value < least
    if c >= 1:
        assert power_zeta(PowerLaw(power=c)).value < 1 + 1 / c


def test_the_classical_noise_is_left_out_where_it_is_not_proven():
    assert list(accuracy(1.0, 10, epsilon=1.0, delta=1e-6, change=1.0)) == ["tight"]
    with pytest.raises(InvalidValue, match="epsilon must be < 1"):
        classical_noise_multiplier(1.0, 1e-6)


def test_tight_noise_is_that_of_the_guarantee():
    sigma = Guarantee(epsilon=2.0, delta=1e-6).noise_multiplier
    found = accuracy(1.3, 10, epsilon=2.0, delta=1e-6, change=1.0)["tight"]
    assert found[-1] == mean_squared_error(1.3, noise_multiplier=sigma, change=1.0)


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.5, math.nan])
def test_beta_must_lie_between_zero_and_one(beta):
    with pytest.raises(InvalidValue, match="beta must be"):
        bolot_sensitivity(1.0, beta)


@for_each("name", ["factor", "noise_multiplier", "change"])
@for_each("value", [0.0, -1.0, math.nan])
def test_sizes_must_be_positive(name, value):
    arguments = {"factor": 1.0, "noise_multiplier": 1.0, "change": 1.0} | {name: value}
    for law in [expected_maximum, sharper_expected_maximum]:
        with pytest.raises(InvalidValue, match=f"{name} must be > 0"):
            law(n=5, **arguments)
    with pytest.raises(InvalidValue, match=f"{name} must be > 0"):
        mean_squared_error(**arguments)


def test_steps_must_be_counted():
    with pytest.raises(InvalidType, match="n must be an integer"):
        expected_maximum(1.0, 2.5, **UNIT)
    with pytest.raises(InvalidValue, match="n must be an integer >= 1"):
        sharper_expected_maximum(1.0, 0, **UNIT)
