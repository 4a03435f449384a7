import math
from decimal import Decimal, localcontext
from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.factors import power_series
from lab.paper.theory import bell_polynomials as bell
from lab.paper.theory.class_f import Membership, enclosed_root, membership
from tests.decays import ALL_DECAYS, LOG_CONVEX
from tests.loops import for_each

MOMENTUM = 10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9)


def listed(decay, n):
    """The decay's first n weights, without its proven properties."""
    return CustomDecay(decay.weights(n))


def sparse(decay, step, n):
    """g(x^step): between the multiples of step every coefficient of the root is 0."""
    f = np.zeros(n)
    f[::step] = decay.weights(len(f[::step]))
    return CustomDecay(f)


# What belongs ----------------------------------------------------------------------------------


@for_each("decay", LOG_CONVEX)
def test_a_log_convex_decay_is_proven_and_its_numbers_agree(decay):
    proven = membership(decay, 300)
    assert proven.verdict == "proven"
    numbers = membership(listed(decay, 300), 300)
    assert (numbers.verdict, numbers.n) == ("up to n", 300)
    assert "count as 0" not in numbers.reason


@hypothesis.given(st.floats(0.01, 10))
@hypothesis.settings(deadline=None, max_examples=30)
def test_every_real_power_law_belongs(power):
    assert membership(listed(PowerLaw(power=power), 200), 200).verdict != "refuted"


@hypothesis.given(st.lists(st.fractions(0, 3, max_denominator=20), min_size=2, max_size=20))
@hypothesis.settings(deadline=None)
def test_every_log_convex_sequence_has_a_root_without_negative_coefficients(ratios):
    # exactly: f_k / f_{k-1} never falls
    f = [Fraction(1)]
    for ratio in sorted(ratio for ratio in ratios if ratio > 0):
        f.append(f[-1] * ratio)
    assert all(a >= 0 for a in bell.root_coefficients(f))


@hypothesis.given(st.integers(0, 2**32), st.integers(2, 150))
@hypothesis.settings(deadline=None, max_examples=40)
def test_every_log_convex_column_belongs_up_to_its_length(seed, n):
    # ratios a 1e-9 apart at least, so that rounding does not spoil the convexity
    rng = np.random.default_rng(seed)
    ratios = np.sort(rng.uniform(0.5, 1.2, n - 1)) + 1e-9 * np.arange(n - 1)
    f = np.concatenate([[1.0], np.cumprod(ratios)])
    assert membership(CustomDecay(f), n).verdict != "refuted"


def test_momentum_belongs_though_it_is_not_log_convex():
    # g = 1/((1 - x)(1 - 0.9x)): its root is a product of two positive series
    found = membership(MOMENTUM, 1000)
    assert found.verdict == "up to n"
    assert found.reason == (
        "a_k ≥ 0 for k < 1000, the first 64 exactly, the others by more than their error bound"
    )


@for_each("decay", ALL_DECAYS)
def test_in_the_class_the_root_is_at_most_half_the_weight(decay):
    # f_n = 2 a_0 a_n + Σ a_i a_{n-i}; 1e-15 for the rounding of a_n
    found = membership(decay, 400)
    f = decay.weights(400)
    a = power_series.square_root(f)
    if found.verdict != "refuted":
        assert np.all(2 * a[0] * a[1:] <= f[1:] * (1 + 1e-15))
    else:
        assert a[found.index] < 0
        assert np.all(a[: found.index] >= 0)


# What does not ---------------------------------------------------------------------------------


@for_each("length", [2, 3, 7, 63, 64, 65, 100, 1000])
def test_a_window_leaves_the_class_where_it_ends(length):
    # a_w = C(2w, w)/4^w - 1/2 from (1 - x^w)^½ (1 - x)^-½
    found = membership(SlidingWindow(length=length), length + 50)
    assert (found.verdict, found.index) == ("refuted", length)
    expected = Fraction(math.comb(2 * length, length), 4**length) - Fraction(1, 2)
    assert found.value == pytest.approx(float(expected), rel=1e-12)
    assert membership(SlidingWindow(length=length), length).verdict == "up to n"


def test_the_window_of_two_is_refuted_by_an_eighth():
    found = membership(SlidingWindow(length=2), 4)
    assert found == Membership("refuted", 4, "a_2 = -0.125 < 0, exactly", 2, -0.125)


@for_each("cut", [20, 63, 64, 65, 130, 700])
@for_each("decay", [PowerLaw(power=1), PowerLaw(power=3), NoDecay()])
def test_a_decay_that_is_cut_leaves_the_class_at_the_cut(decay, cut):
    found = membership(listed(decay, cut), cut + 10)
    assert (found.verdict, found.index) == ("refuted", cut)


@hypothesis.given(st.lists(st.floats(-0.5, 2, width=16), min_size=1, max_size=15))
@hypothesis.settings(deadline=None)
def test_the_first_negative_coefficient_is_found_exactly(rest):
    f = [1, *map(Fraction, rest)]
    a = bell.root_coefficients(f)
    negative = [k for k, value in enumerate(a) if value < 0]
    found = membership(CustomDecay([float(c) for c in f]), len(f))
    assert found.index == (negative[0] if negative else None)
    if negative:
        assert found.value == float(a[negative[0]])


@for_each("seed", range(12))
def test_a_decay_that_ends_belongs_only_as_the_square_of_a_polynomial(seed):
    rng = np.random.default_rng(seed)
    p = np.rint(rng.uniform(0, 1, 4) * 64) / 64  # so that the square is exact in float64
    p[0] = 1
    square = np.convolve(p, p)
    assert membership(CustomDecay(square), 300).verdict != "refuted"
    square[-1] += 1 / 64
    assert membership(CustomDecay(square), 300).verdict == "refuted"


@pytest.mark.parametrize("decay", [MOMENTUM, SlidingWindow(length=70), CustomDecay([1, 0.5, 0.25])])
def test_scaling_the_weights_changes_nothing_but_the_value(decay):
    one, four = membership(decay, 200), membership(4 * decay, 200)
    assert (one.verdict, one.index) == (four.verdict, four.index)
    if one.value is not None:
        assert four.value == pytest.approx(2 * one.value, rel=1e-13)


# Rounding --------------------------------------------------------------------------------------


def reference(f):
    """The root in 80 digits, by the recurrence."""
    with localcontext(prec=80, Emin=-(10**6), Emax=10**6):
        c = [Decimal(float(weight)) for weight in f]
        a = [c[0].sqrt()]
        for n in range(1, len(c)):
            known = sum((a[k] * a[n - k] for k in range(1, n)), Decimal(0))
            a.append((c[n] - known) / (2 * a[0]))
        return a


HARD = [
    MOMENTUM,
    CustomDecay([1, 0.2, 0.01]),
    CustomDecay([1, 0, 0, 0.5]),
    CustomDecay([1, 1.9, 2.71]),  # zeros in the disk: the root grows
    CustomDecay([1e300, 1e299, 1e-300]),
    CustomDecay([1e-300, 1e-299, 1e-320]),
    Exponential(half_life=0.2),  # underflows
    sparse(Exponential(half_life=0.3), 3, 250),
    sparse(PowerLaw(power=0.1), 50, 250),
]


@for_each("decay", ALL_DECAYS + HARD)
def test_the_error_bound_is_never_smaller_than_the_error(decay):
    f = decay.weights(250)
    a, error = enclosed_root(f)
    exact = reference(f)
    assert all(
        abs(Decimal(float(x)) - y) <= Decimal(float(e))
        for x, y, e in zip(a, exact, error, strict=True)
    )


@for_each("decay", [*LOG_CONVEX, MOMENTUM])
def test_the_error_bound_leaves_the_signs_of_smooth_decays(decay):
    a, error = enclosed_root(decay.weights(1000))
    assert np.all(error[a > 1e-290] <= 1e-10 * a[a > 1e-290])


@for_each("step", [2, 3, 7, 50, 200])
@for_each("decay", [NoDecay(), PowerLaw(power=1), Exponential(half_life=0.3)])
def test_zeros_between_the_coefficients_are_not_taken_for_negative(decay, step):
    found = membership(sparse(decay, step, 1000), 1000)
    assert found.verdict == "up to n"
    assert "count as 0" in found.reason


def test_a_dust_of_fft_would_refute_a_sparse_decay():
    # why the recurrence decides and not `power_series.square_root`
    f = sparse(Exponential(half_life=0.3), 3, 1000).weights(1000)
    assert np.any(power_series.square_root(f) < 0)
    assert np.all(enclosed_root(f)[0] >= 0)


def test_the_sign_of_a_coefficient_below_rounding_is_decided_exactly():
    # (1 + x/10)² in float64: 0.2/2 squared exceeds 0.01 by 9e-19
    a = (Fraction(0.01) - (Fraction(0.2) / 2) ** 2) / 2
    found = membership(CustomDecay([1, 0.2, 0.01]), 100)
    assert (found.verdict, found.index, found.value) == ("refuted", 2, float(a))
    assert -1e-18 < a < 0
    a_square = membership(CustomDecay([1, 0.25, 0.015625]), 100)  # (1 + x/8)², exact
    assert a_square.reason == (
        "a_k ≥ 0 for k < 100, the first 64 exactly; "
        "36 of the others are smaller than their error bound and count as 0"
    )


def test_values_beyond_float64_keep_their_sign():
    assert membership(CustomDecay([1e-300, 1e300]), 9).value == -math.inf
    tiny = membership(CustomDecay([1, 1e-200]), 9)
    assert (tiny.index, tiny.value) == (2, -math.ulp(0.0))


# Edges and refusals ----------------------------------------------------------------------------


def test_one_coefficient_is_positive():
    found = membership(CustomDecay([1, -1]), 1)
    assert found.reason == "a_k ≥ 0 for k < 1, exactly"
    assert membership(CustomDecay([1, -1]), 2).index == 1


@for_each("n", [0, -1, 1.5, True, float("nan"), None])
def test_a_bad_number_of_coefficients_is_refused(n):
    with pytest.raises((InvalidValue, InvalidType), match=r"^n must be an integer"):
        membership(NoDecay(), n)


def test_what_is_not_a_decay_is_refused():
    with pytest.raises(InvalidType, match="decay must be a decay, got list"):
        membership([1.0, 0.5], 2)


@pytest.mark.parametrize("f", [[], [0.0, 1.0], [-1.0], [1.0, float("nan")], None])
def test_a_column_without_a_root_is_refused(f):
    with pytest.raises((InvalidValue, InvalidType), match=r"^f must"):
        enclosed_root(f)
