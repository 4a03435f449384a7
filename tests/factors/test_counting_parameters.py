"""Unbounded counting: its energy, the parameters for an expected length, and their errors."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Guarantee, InvalidType, InvalidValue, NoDecay, plan
from hushfade.factors import counting_parameters, factorization
from hushfade.factors.counting_parameters import expected_taps, promised, ratios
from hushfade.factors.taps import CountingTaps

ONE = Guarantee(epsilon=1, delta=1e-6)
FAMILY = [(1 / 1024, 0.75), (0.005, 3.0), (0.05, 2.0), (0.1, 1.0), (0.5, 0.6), (1.0, 0.55)]
LENGTHS = [256, 1000, 1 << 12, 1 << 14, 100_003]


def found_ratios(pair, n):
    """The error over the error of the square root with a known horizon, at steps 1, ..., n."""
    known = np.cumsum(factorization.square_root(NoDecay()).right(n) ** 2)
    return pair.sensitivity().value * pair.errors(n) / known


# Invariants ----------------------------------------------------------------------------------


def test_the_energy_is_a_tight_upper_bound_of_the_endless_sum():
    # 30 digits, in v = ln(1/θ) up to 10^8.  Beyond, the chord is θ, and the tail lies between two
    # closed forms, since (1 + cv)² ≤ |ℓ|² ≤ (1 + cv)² + c² π²/4.
    edges = [
        -mpmath.log(mpmath.pi),
        0,
        1,
        2,
        4,
        *(8 * mpmath.mpf(4) ** k for k in range(12)),
        10**8,
    ]
    for c, beta in FAMILY:

        def integrand(v, c=c, beta=beta):
            theta = mpmath.exp(-v)
            chord = 2 * mpmath.sin(theta / 2) if v < 200 else theta
            log = -mpmath.log(chord) if v < 200 else v
            square = (1 + c * log) ** 2 + (c * (mpmath.pi - theta) / 2) ** 2
            return theta / chord * square**-beta

        with mpmath.workdps(30):
            body = mpmath.quad(integrand, edges)
            depth = 1 + c * edges[-1]
            tail = depth ** (1 - 2 * beta) / (c * (2 * beta - 1))
            least = tail * (1 + (c * mpmath.pi / 2 / depth) ** 2) ** -beta
            below, above = float((body + least) / mpmath.pi), float((body + tail) / mpmath.pi)
        energy = CountingTaps(c, beta).energy()
        # below θ = π 2^-1000 the bound of |ℓ| is low by a relative (π/2 / 700)², of a small tail
        assert below < energy < above * (1 + 2e-7), (c, beta, energy, below, above)


def test_the_energy_is_above_all_partial_sums_and_near_them_with_their_tail():
    # r_n² = (1 + c ln n + c κ)^-2β / πn with κ = γ + 2 ln 2, up to a relative (c / (1 + c ln n))²
    for c, beta in FAMILY:
        taps, n = CountingTaps(c, beta), 1 << 16
        kept = float(np.sum(taps.first(n) ** 2))
        depth = 1 + c * (math.log(n) + 0.5772156649 + 2 * math.log(2))
        tail = depth ** (1 - 2 * beta) / (c * (2 * beta - 1)) / math.pi
        assert taps.energy() > kept
        assert_allclose(taps.energy(), kept + tail, rtol=0.01, err_msg=f"{c}, {beta}")


def test_taps_with_a_support_end_there_and_have_their_own_energy():
    whole, ended = CountingTaps(0.05, 2.0), CountingTaps(0.05, 2.0, 300)
    assert np.array_equal(ended.first(300), whole.first(300))
    assert np.array_equal(ended.first(400), np.append(whole.first(300), np.zeros(100)))
    assert ended.energy() == float(np.sum(whole.first(300) ** 2)) < whole.energy()
    pair = factorization.unbounded_counting(expect=150)
    assert pair.taps.support == pair.memory == 300
    assert pair.sensitivity().exact
    assert not factorization.unbounded_counting(c=0.05, beta=2.0).sensitivity().exact


def test_the_ratio_is_at_most_1_4_up_to_sixteen_times_the_expected_length():
    for expect in LENGTHS:
        found = found_ratios(factorization.unbounded_counting(expect=expect), 16 * expect)
        assert np.max(found[255:]) < 1.4, expect
        assert found[expect - 1] < 1.05, expect


def test_a_plan_for_the_default_length_is_within_the_required_ratio():
    # docs/results/unbounded-counting.md has the same up to 2^24 steps
    found = found_ratios(plan(NoDecay(), ONE, method="unbounded").pair, 1 << 18)
    assert np.max(found[255:]) < 1.345
    assert found[-1] < 1.06
    assert np.all(np.diff(found[255:]) < 0)  # the least is yet to come, at 2^20


def test_the_plan_has_the_error_of_the_exact_taps():
    for expect in (1000, 1 << 14):
        exact = factorization.unbounded_counting(expect=expect)
        found = plan(NoDecay(), ONE, method="unbounded", expect=expect)
        assert found.taps.support == 2 * expect
        for n in (256, expect, 4 * expect):
            least = exact.sensitivity().value * exact.errors(n)[-1]
            ours = found.pair.sensitivity().value * found.pair.errors(n)[-1]
            # the search allows a loss of 0.001, over as many steps as there are taps
            assert abs(ours / least - 1) < 0.002, (expect, n)


def test_the_closed_forms_of_the_search_are_within_a_hundredth():
    for expect in (1000, 1 << 14):
        taps = expected_taps(expect)
        found = found_ratios(factorization.unbounded_counting(expect=expect), 16 * expect)
        c, beta = np.array([taps.c]), np.array([taps.beta])
        for t in promised(expect):
            assert_allclose(ratios(expect, c, beta, t), found[t - 1], rtol=0.01, err_msg=f"{t}")


# Numbers -------------------------------------------------------------------------------------


def test_the_parameters_are_known():
    # every machine must choose these, as a plan's digest depends on them
    chosen = {k: (expected_taps(1 << k).c, expected_taps(1 << k).beta) for k in (8, 16, 20, 24)}
    assert chosen == {
        8: (2.0**-10, 0.75),
        16: (2.0**-9, 0.75),
        20: (5 * 2.0**-10, 3.0),
        24: (2.0**-6, 1.5),
    }
    assert expected_taps(1 << 20).support == 1 << 21
    assert factorization.unbounded_counting().taps == expected_taps(1 << 20)


def test_the_choice_is_no_close_call():
    # the best candidate is ahead of the second by far more than machines differ, 1e-15
    for expect in (*LENGTHS, 1 << 16, 1 << 20, 1 << 24):
        grid = [(b, c) for b in counting_parameters._BETAS for c in counting_parameters._CS]
        beta, c = np.array(grid).T
        worst = np.max([ratios(expect, c, beta, t) for t in promised(expect)], axis=0)
        first, second = np.sort(worst)[:2]
        assert second - first > 2.0**-30, expect


def test_one_step_is_known_by_hand():
    # expect = 1 leaves two taps, 1 and ½ - βc
    taps = expected_taps(1)
    assert_allclose(taps.first(3), [1.0, 0.5 - taps.beta * taps.c, 0.0], atol=1e-15)


# Errors --------------------------------------------------------------------------------------


def test_an_expected_length_must_be_an_integer_that_plans_can_serve():
    with pytest.raises(InvalidValue, match="expect must be an integer >= 1, got 0"):
        plan(NoDecay(), ONE, method="unbounded", expect=0)
    with pytest.raises(InvalidValue, match="expect must be an integer <= 33554432, got 33554433"):
        plan(NoDecay(), ONE, method="unbounded", expect=(1 << 25) + 1)
    with pytest.raises(InvalidType, match=r"expect must be an integer, got 1000\.0"):
        plan(NoDecay(), ONE, method="unbounded", expect=1000.0)
