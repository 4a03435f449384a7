"""Closed forms of right factors against the series, and against exact numbers."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, InvalidValue, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import factorization, power_series, root_series
from hushfade.factors.root_series import exp2, power_sum
from tests.decays import ALL_DECAYS

CLOSED = [
    NoDecay(),
    Exponential(half_life=1),
    Exponential(half_life=1000),
    Exponential(half_life=1e-3),
    PowerLaw(power=0.05),
    PowerLaw(power=0.3),
    PowerLaw(power=0.5),
    PowerLaw(power=0.9),
    PowerLaw(power=1),
    3 * PowerLaw(power=0.3),
    SlidingWindow(length=1),
    SlidingWindow(length=64),
    SlidingWindow(length=1000),
    SlidingWindow(length=10_000),
]
COUNTING = [(0.001, 0.75), (0.005, 3.0), (0.05, 2.0), (0.1, 1.0), (0.5, 0.55), (1.0, 2.5)]
STABLE = [d for d in ALL_DECAYS if not repr(d).startswith("CustomDecay(values=(0.99")]


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [*STABLE, *CLOSED], ids=repr)
@pytest.mark.parametrize("n", [1, 2, 127, 129, 1024, 1025, 5000])
def test_the_square_root_squares_back(decay, n):
    a = decay.root(n)
    assert len(a) == n
    f = decay.weights(n)
    assert_allclose(power_series.multiply(a, a), f, atol=1e-13 * np.max(np.abs(f)))


@pytest.mark.parametrize("decay", CLOSED, ids=repr)
def test_closed_forms_are_the_series(decay):
    n = 1 << 13
    # coefficients of windows pass through zero: they are right to 1e-15 of the first; the series
    # sets to zero what is no normal float64
    relative, absolute = (0.0, 1e-15) if isinstance(decay, SlidingWindow) else (1e-12, 1e-307)
    expected = power_series.square_root(decay.weights(n))
    assert_allclose(decay.root(n), expected, rtol=relative, atol=absolute)


def test_both_factors_of_unbounded_counting_multiply_to_counting():
    for c, beta in COUNTING:
        for n in (1, 500, 1025, 6000):
            right, left = (root_series.counting(c, b, n) for b in (beta, -beta))
            product = power_series.multiply(right, left)
            # near c = 1 the first coefficients alternate and cancel; 1e-12 allows for that
            assert_allclose(product, np.ones(n), rtol=1e-12, err_msg=f"{c}, {beta}, {n}")


@pytest.mark.slow
def test_unbounded_counting_satisfies_its_differential_equation():
    # p = ℓ^-β has ℓ p' = -β ℓ' p: an O(n²) recurrence, here in 60 digits, that shares no code
    for c, beta in ((0.005, 3.0), (0.25, 0.75), (1.0, 2.0)):
        n = 1600
        with localcontext(prec=60):
            ell = [Decimal(1), *(Decimal(c) / k for k in range(1, n))]
            p, a = [Decimal(1)], [Decimal(1)]
            for m in range(1, n):
                terms = ((-Decimal(beta) * k - m + k) * ell[k] * p[m - k] for k in range(1, m + 1))
                p.append(sum(terms) / m)
                a.append(a[-1] * (2 * m - 1) / (2 * m))
            for lag in (0, 1, 2, 100, 1023, 1024, 1025, n - 1):
                exact = float(sum(p[k] * a[lag - k] for k in range(lag + 1)))
                found = root_series.counting(c, beta, n)[lag]
                assert_allclose(found, exact, rtol=2e-12, err_msg=f"{c}, {beta}, lag {lag}")


def test_far_coefficients_join_the_near_ones():
    # a step of 1e-12 at lag 1024 would show in the tenth difference of the logarithms
    for column in (
        PowerLaw(power=0.4).root(2048),
        root_series.counting(0.1, 1.0, 2048),
    ):
        bend = np.diff(np.log(column[900:1200]), 10)
        assert np.max(np.abs(bend)) < 1e-10


# Numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5, 127, 128, 129, 1000, 5000])
def test_counting_has_the_central_binomials(n):
    exact = Fraction(math.comb(2 * n, n), 4**n)
    assert_allclose(NoDecay().root(n + 1)[n], float(exact), rtol=1e-15)


def test_the_first_taps_of_unbounded_counting_are_known_by_hand():
    # ℓ^-β = 1 - βc x + (β(β+1)/2 c² - βc/2) x² + ..., times 1 + x/2 + 3x²/8: r_1 = ½ - βc and
    # r_2 = 3/8 - βc + β(β+1)c²/2, with c = ¼ and β = 2: 0 and 1/16
    assert_allclose(root_series.counting(0.25, 2.0, 3), [1.0, 0.0, 0.0625], atol=1e-15)


def test_a_far_power_law_follows_its_asymptote():
    # √g ≈ √Γ(1-c) (1-x)^((c-1)/2): a_n ≈ √Γ(1-c) / Γ((1-c)/2) n^(-(1+c)/2), next term n^(c-1)
    c, n = 0.2, 1 << 17
    a = PowerLaw(power=c).root(n)
    asymptote = math.sqrt(math.gamma(1 - c)) / math.gamma((1 - c) / 2) * n ** (-(1 + c) / 2)
    assert_allclose(a[-1], asymptote, rtol=2e-4)


# Use -----------------------------------------------------------------------------------------


def test_taps_use_them():
    assert_allclose(
        factorization.square_root(SlidingWindow(length=9)).right(50),
        SlidingWindow(length=9).root(50),
        rtol=0,
    )
    pair = factorization.unbounded_counting(c=0.1, beta=0.7)
    assert_allclose(pair.left(50), root_series.counting(0.1, -0.7, 50), rtol=0)


def test_powers_are_right_to_a_unit_in_the_last_place():
    x = np.append(
        np.random.default_rng(0).uniform(-1, 0, 2000), [0.0, -1.0, -0.5, -1 / 64, -1e-300]
    )
    for power, found in zip(x.tolist(), exp2(x).tolist(), strict=True):
        with mpmath.workdps(40):
            exact = mpmath.mpf(2) ** mpmath.mpf(power)
            assert abs(mpmath.mpf(found) / exact - 1) < 0.6 * 2**-52, power


def test_whole_powers_are_exact_and_the_argument_is_left_alone():
    x = np.array([0.0, -1.0])
    assert exp2(x).tolist() == [1.0, 0.5]
    assert x.tolist() == [0.0, -1.0]


def test_the_bits_are_known():
    assert [value.hex() for value in exp2(np.array([-0.1, -0.7])).tolist()] == [
        "0x1.ddb680117ab12p-1", "0x1.3b2c47bff8329p-1"
    ]  # fmt: skip


@pytest.mark.parametrize("power", [1e-3, 0.1, 0.5, 1, 2, 7.5, 30])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-9, 1e-13])
@pytest.mark.parametrize("steps", [1, 1000, 1 << 30])
def test_the_power_law_is_a_sum_of_exponentials_within_its_tolerance(power, tolerance, steps):
    weights, rates = power_sum(power, steps, tolerance)
    lags = np.unique(np.geomspace(1, steps, 3000).astype(np.int64)).astype(np.float64)
    found = np.exp(-np.outer(lags, rates)) @ weights
    assert_allclose(found, lags**-power, rtol=tolerance)
    assert np.all(weights > 0)
    assert np.all(np.diff(rates) < 0)


def test_the_power_sum_refuses_what_it_cannot_keep():
    with pytest.raises(InvalidValue, match="power must be > 0, got 0"):
        power_sum(0, 10)
    with pytest.raises(InvalidValue, match="power must be <= 500, got 501"):
        power_sum(501, 10)
    with pytest.raises(InvalidValue, match="steps must be an integer >= 1, got 0"):
        power_sum(1, 0)
    for tolerance in (1e-15, 0.1):
        with pytest.raises(InvalidValue, match=r"tolerance must be in \[1e-13, 0.01\]"):
            power_sum(1, 10, tolerance)
