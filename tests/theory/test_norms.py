import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    CustomDecay,
    Diverges,
    Exponential,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    theory,
)
from hushfade.factors import factorization, limit_norms, power_series
from tests.decays import ALL_DECAYS
from tests.loops import for_each

FADING = [decay for decay in ALL_DECAYS if "NoDecay" not in repr(decay)]


def by_quadrature(size, knots=()):
    """(1/π) ∫_0^π size(θ) dθ with mpmath."""
    with mpmath.workdps(20):
        return float(mpmath.quad(size, [0, *knots, mpmath.pi]) / mpmath.pi)


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", FADING)
def test_gamma2_rises_to_its_limit(decay):
    found = theory.gamma2_limit(decay)
    assert found.error < 1e-11 * found.value
    brackets = [theory.gamma2(decay, n) for n in (1, 8, 64)]
    assert all(bracket.lower <= found.value + found.error for bracket in brackets)
    late = theory.gamma2(decay, 5000)
    assert late.upper >= brackets[-1].lower
    # heavy tails are still far from their limit after 5000 steps
    heavy = {PowerLaw(0.25): 0.85, 2 * PowerLaw(0.3): 0.85}
    assert late.lower >= found.value * heavy.get(decay, 0.99)
    assert late.lower <= found.value


def test_the_limit_needs_no_square_root():
    """g = 1 + 2x has its zero inside the disk, so √g is no bounded series; γ2 still tends to
    (1/2π) ∫ |1 + 2e^iθ| dθ, as Bennett's theorem says."""
    decay = CustomDecay([1, 2])
    exact = by_quadrature(lambda theta: abs(1 + 2 * mpmath.expj(theta)))
    assert_allclose(theory.gamma2_limit(decay).value, exact, rtol=1e-12)
    near = theory.gamma2(decay, 256)
    assert 0.999 * exact < near.lower <= near.upper < exact * (1 + 1e-9)
    assert factorization.square_root(decay).error_factor(50) > 1e6
    with pytest.raises(Diverges):
        limit_norms.energy(decay)


# the optimum at 1024 steps, by dense matrices, to its last digit: see test_optimum
@for_each(
    ("decay", "dense"), [(NoDecay(), 2.96147), (PowerLaw(0.5), 1.3466), (SlidingWindow(16), 2.113)]
)
def test_explicit_brackets_join_the_dense_ones(decay, dense):
    explicit = theory.gamma2(decay, 1025)
    assert explicit.upper >= dense - 1e-4
    assert explicit.lower >= 0.95 * dense
    assert explicit.lower <= explicit.upper <= dense * 1.1
    mean = theory.gamma_f(decay, 1500)
    assert mean.lower <= mean.upper <= 1.2 * mean.lower
    assert mean.lower <= math.sqrt(1500) * theory.gamma2(decay, 1500).upper


# Known values --------------------------------------------------------------------------------


@for_each(
    ("decay", "printed"),
    [
        (PowerLaw(0.1), 3.83194),
        (PowerLaw(0.25), 1.95443),
        (PowerLaw(0.5), 1.36293),
        (PowerLaw(1), 1.10810),
        (PowerLaw(2), 1.01908),
        (PowerLaw(3), 1.00425),
        (Exponential.from_alpha(1.01), 2.13997),
        (Exponential.from_alpha(1.1), 1.47818),
        (Exponential.from_alpha(2), 1.07318),
        (SlidingWindow(16), 2.11317),
        (SlidingWindow(256), 3.23681),
        (SlidingWindow(4096), 4.36049),
    ],
)
def test_the_limits_to_the_known_digits(decay, printed):
    assert round(theory.gamma2_limit(decay).value, 5) == printed


@for_each("half_life", [0.01, 0.3, 1, 24, 1e4, 1e9, 1e100])
def test_exponentials_have_the_elliptic_integral(half_life):
    decay = Exponential(half_life=half_life)
    with mpmath.workdps(120):
        squared = mpmath.mpf(2) ** (-2 / mpmath.mpf(half_life))
        exact = float(2 / mpmath.pi * mpmath.ellipk(squared))
    assert_allclose(theory.gamma2_limit(decay).value, exact, rtol=1e-14)
    assert_allclose(limit_norms.mean_size(decay).value, exact, rtol=1e-11)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 9])
def test_windows_of_odd_length_have_lebesgues_constants(length):
    knots = [2 * mpmath.pi * j / length for j in range(1, (length + 1) // 2)]
    exact = by_quadrature(
        lambda t: abs(mpmath.sin(length * t / 2) / mpmath.sin(t / 2)) if t else length, knots
    )
    assert_allclose(theory.gamma2_limit(SlidingWindow(length)).value, exact, rtol=1e-12)
    if length == 3:  # L_1 = 1/3 + 2√3/π, Fejér 1910
        assert_allclose(exact, 1 / 3 + 2 * math.sqrt(3) / math.pi, rtol=1e-12)


@for_each("power", [4.1, 7.9, 8, 10, 20, 100, 1000, 1e5])
def test_steep_powers_have_their_limit(power):
    a = power_series.square_root(PowerLaw(power).weights(4096))
    found = theory.gamma2_limit(PowerLaw(power))
    assert abs(found.value - float(a @ a)) <= found.error + 1e-15
    assert (
        factorization.square_root(PowerLaw(power)).sensitivity().value >= np.linalg.norm(a) - 1e-15
    )


@pytest.mark.parametrize(("values", "exact"), [([1, -1], 4 / math.pi), ([1, -2, 1], 2.0)])
def test_a_zero_at_one_is_no_singularity(values, exact):
    assert_allclose(theory.gamma2_limit(CustomDecay(values)).value, exact, rtol=1e-12)


def test_a_limit_lost_in_cancellation_says_so():
    decay = (1e13 + 1) * Exponential(24) - 1e13 * Exponential(24 * (1 + 1e-15))
    found = theory.gamma2_limit(decay)
    assert abs(found.value - theory.gamma2_limit(Exponential(24)).value) < 0.02
    assert found.error > 1e-5


def test_the_golden_ratio_of_two_counts():
    found = theory.gamma_f(NoDecay(), 2, gap=1e-9)
    assert_allclose([found.lower, found.upper], (1 + math.sqrt(5)) / 2, rtol=1e-8)


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [NoDecay(), 10 * NoDecay() - 9 * Exponential(1)], ids=repr)
def test_counting_has_no_limit(decay):
    with pytest.raises(Diverges, match="infinite"):
        theory.gamma2_limit(decay)


def test_steps_and_brackets_are_checked():
    for norm in (theory.gamma2, theory.gamma_f):
        with pytest.raises(InvalidValue, match="n must be"):
            norm(NoDecay(), 0)
    with pytest.raises(InvalidValue, match="lower must be"):
        theory.Bracket(2.0, 1.0)
    with pytest.raises(InvalidValue, match="lower must be"):
        theory.Bracket(np.nan, 1.0)
