"""Closed forms of right factors against the series, and against exact numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import factorization, root_series
from hushfade.numerics import power_series
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
STABLE = [d for d in ALL_DECAYS if not repr(d).startswith("CustomDecay(values=(0.99")]


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [*STABLE, *CLOSED], ids=repr)
@pytest.mark.parametrize("n", [1, 2, 127, 129, 1024, 1025, 5000])
def test_the_square_root_squares_back(decay, n):
    a = root_series.square_root(decay, n)
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
    assert_allclose(root_series.square_root(decay, n), expected, rtol=relative, atol=absolute)


@pytest.mark.parametrize("beta", [0.55, 0.6, 1.0, 2.5])
@pytest.mark.parametrize("n", [1, 500, 1025, 6000])
def test_both_factors_of_endless_counting_multiply_to_counting(beta, n):
    product = power_series.multiply(root_series.counting(beta, n), root_series.counting(-beta, n))
    assert_allclose(product, np.ones(n), rtol=1e-12)


def test_far_coefficients_join_the_near_ones():
    # a step of 1e-12 at lag 1024 would show in the tenth difference of the logarithms
    for column in (
        root_series.square_root(PowerLaw(power=0.4), 2048),
        root_series.counting(0.6, 2048),
    ):
        bend = np.diff(np.log(column[900:1200]), 10)
        assert np.max(np.abs(bend)) < 1e-10


# Numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5, 127, 128, 129, 1000, 5000])
def test_counting_has_the_central_binomials(n):
    exact = Fraction(math.comb(2 * n, n), 4**n)
    assert_allclose(root_series.square_root(NoDecay(), n + 1)[n], float(exact), rtol=1e-15)


def test_a_far_power_law_follows_its_asymptote():
    # √g ≈ √Γ(1-c) (1-x)^((c-1)/2): a_n ≈ √Γ(1-c) / Γ((1-c)/2) n^(-(1+c)/2), next term n^(c-1)
    c, n = 0.2, 1 << 17
    a = root_series.square_root(PowerLaw(power=c), n)
    asymptote = math.sqrt(math.gamma(1 - c)) / math.gamma((1 - c) / 2) * n ** (-(1 + c) / 2)
    assert_allclose(a[-1], asymptote, rtol=2e-4)


# Use -----------------------------------------------------------------------------------------


def test_taps_use_them():
    assert_allclose(
        factorization.square_root(SlidingWindow(length=9)).right(50),
        root_series.square_root(SlidingWindow(length=9), 50),
        rtol=0,
    )
    pair = factorization.unbounded_counting(0.7)
    assert_allclose(pair.left(50), root_series.counting(-0.7, 50), rtol=0)
