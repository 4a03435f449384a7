"""Errata: the weights, the norms, and the series between them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import zeta

from hushfade import Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import power_series
from hushfade.theory import certificates
from lab.paper.theory import bell_polynomials as bell
from lab.paper.theory.bounds import half_weights, root, two_steps
from tests.theory import brute
from tests.theory.brute import powers


def test_an_operator_norm_is_the_largest_stretch_not_the_least():
    # Section 1.1: ‖A‖_{p→q} = min_{‖x‖_p = 1} ‖A x‖_q
    L, R = np.eye(2), brute.matrix(np.ones(2))
    left = np.max(np.abs(L @ [math.sqrt(0.5), math.sqrt(0.5)]))  # one x with ‖x‖₂ = 1
    right = np.linalg.norm(R @ [0.5, -0.5])  # one x with ‖x‖₁ = 1
    assert left * right < 0.36  # so 'γ2' ≤ 0.36, below the paper's own bound 1
    rows, columns = np.linalg.norm(L, axis=1), np.linalg.norm(R, axis=0)
    assert max(rows) * max(columns) >= brute.gamma2(np.ones(2))[1] > 1


@pytest.mark.parametrize("alpha", [1.1, 2.0])
def test_the_exponential_starts_at_one(alpha):
    # Section 1.1: f(n) = α^-n, with f(1) = 1 and symbol (1 - x/α)^-1
    printed = alpha ** -np.arange(1.0, 9)
    right = alpha ** -np.arange(0.0, 8)
    symbol = power_series.inverse(np.array([1, -1 / alpha, 0, 0, 0, 0, 0, 0]))
    assert printed[0] != 1
    assert_allclose(right, symbol, rtol=1e-14)
    # the lower bound of Theorem 2 then fails at T = 2, and holds for the right weights
    lower = 2 / math.sqrt(4 - alpha**-2)
    assert brute.gamma2(printed[:2])[1] < 2 / math.sqrt(4 - alpha**-4)
    assert_allclose(brute.gamma2(right[:2]), lower, rtol=1e-6)


def test_the_power_law_starts_at_one():
    # proof of Theorem 6: f(n) = (n + 1)^-c
    printed = powers(1.0, 3)[1:]
    assert printed[0] != 1
    assert brute.gamma2(printed)[1] < 1  # against γ2 > 1
    assert brute.gamma2(powers(1.0, 2))[0] > 1


def test_the_lower_bound_needs_two_steps():
    # Theorem 2: 1 < 2/√(4 - f(2)²) ≤ γ2(M_f), for every T
    printed = 2 / math.sqrt(4 - 1)
    assert brute.gamma2([1.0])[1] == 1 < printed
    assert brute.gamma2([1.0, 1.0])[1] >= printed == two_steps(NoDecay(), 2).value


def test_gamma2_is_above_one_only_for_f2_above_zero_and_is_weak():
    # Theorem 2 has f > 0 and 1 < γ2(M_f); Theorem 7 has windows, and that of length 1 ends at once
    identity = SlidingWindow(length=1)
    assert_allclose(brute.gamma2(identity.weights(9)), 1, rtol=1e-14)
    assert two_steps(identity, 9).value == 1


def test_gamma2_is_at_most_the_sum_of_squares_not_equal():
    # proof of Theorem 5: γ2(M_f) = Σ r(i)²
    _, upper = brute.gamma2(np.ones(10))
    assert upper < root(NoDecay(), 10).value - 0.19


def test_the_lower_bound_stays_where_gamma2_grows_and_is_weak():
    # abstract: 'an almost tight lower bound'; true for fast decays, but constant in T
    printed = two_steps(NoDecay(), 1024).value
    assert_allclose(printed, 2 / math.sqrt(3))
    assert certificates.lower(np.ones(1024)).value > 2.5 * printed
    fast = PowerLaw(power=5)
    assert root(fast, 1024).value < 1.0002 * two_steps(fast, 1024).value


def test_class_f_needs_a_first_weight_of_one_and_is_weak():
    # F looks at f(2), f(3), ... alone; that f(1) = 1 is said before (2), and not again
    f = np.array([100.0, 0.5])
    assert np.all(power_series.square_root(np.array([1.0, *f[1:]])) >= 0)
    printed = 1 + f[1] ** 2 / 4
    assert brute.gamma2(f)[0] >= 100 > printed
    assert brute.gamma2(f)[1] <= f[0] + f[1] ** 2 / (4 * f[0]) + 1e-9  # for any f(1)


@pytest.mark.parametrize(("c", "times"), [(1, 2.893), (2, 1.285), (3, 1.097)])
def test_the_half_weight_is_not_a_tight_bound_on_a_n_and_is_weak(c, times):
    # Section 1.1: 'a tight upper bound on a_n'; f(n+1)/2 over a_n at n = 2048
    f = powers(float(c), 2049)
    a = power_series.square_root(f)
    ratio = f[1:] / 2 / a[1:]
    assert np.all(ratio >= 1)
    assert_allclose(ratio[-1], times, rtol=1e-3)
    if c == 1:  # it grows without end, like √(ln n)
        assert np.all(np.diff(ratio) > 0)
    else:  # it tends to √g(1) = √ζ(c)
        assert_allclose(ratio[-1], math.sqrt(zeta(c)), rtol=0.002)


def test_half_weights_are_useless_for_slow_decays_and_weak():
    # after Theorem 3: it 'can be used' for f(n) = α^-n; at α = 1 it grows like T/4
    assert half_weights(NoDecay(), 100).value == 25.75
    assert root(NoDecay(), 100).value < 2.6
    slow = Exponential.from_alpha(1.001)
    assert half_weights(slow, 10000).value > 40 * root(slow, 10000).value


def test_the_square_root_of_falling_weights_may_have_negative_coefficients():
    # Section 3.4: r : N → R₊, for every non-increasing f
    f = np.array([1.0, 1.0, 0.01])
    a = power_series.square_root(f)
    assert_allclose(a, [1, 1 / 2, -0.12], rtol=1e-14)
    H = brute.matrix(a)
    assert_allclose(H @ H, brute.matrix(f), atol=1e-14)  # the factorization needs no signs


def test_the_first_weight_of_algorithm_1_is_one_and_is_weak():
    # Algorithm 1 sets r(1) = 1; f(1) = 1 is said before (2), not among what it requires
    f = np.array([2.0, 1.0])
    printed = brute.matrix([1, f[1] / 2])  # a_1 of (3)
    right = brute.matrix(brute.root(f))
    assert np.max(np.abs(printed @ printed - brute.matrix(f))) == 1
    assert_allclose(right @ right, brute.matrix(f), rtol=1e-14)


def test_algorithm_1_takes_weights_that_do_not_fall():
    # Algorithm 1: 'monotonically decreasing', which leaves out the count of Section 1.2, (C)
    f = np.ones(5)
    assert not np.any(np.diff(f) < 0)
    H = brute.matrix(brute.root(f))
    assert_allclose(H @ H, brute.matrix(f), rtol=1e-14)


def test_an_inverse_function_needs_a_slope_and_not_a_value():
    # Theorem 9: 'F(a) ≠ 0'.  cos at 0 has a value and no slope, and s_1 cannot be found again
    cosine = [0, -1]
    assert bell.composition(cosine, [1, 0]) == bell.composition(cosine, [-1, 0])
    # e^x - 1 at 0 has a slope and the value 0, and its inverse ln(1 + x) finds s again
    F, G, s = [1, 1, 1], [1, -1, 2], [Fraction(3), Fraction(5), Fraction(7)]
    assert bell.composition(G, bell.composition(F, s)) == s


def test_functions_that_commute_are_not_inverse_and_is_weak():
    # Theorem 9 calls G the compositional inverse, 'i.e. F(G(x)) = G(F(x))', and leaves out = x
    F, G, s = [2, 0], [3, 0], [Fraction(1), Fraction(5)]  # 2x and 3x
    assert bell.composition(F, G) == bell.composition(G, F)
    assert bell.composition(G, bell.composition(F, s)) == [6, 30]
    assert bell.composition(bell.inverse(F), bell.composition(F, s)) == s


def test_a_symbol_with_positive_coefficients_may_have_a_root_with_negative_ones():
    # Appendix D: positive entries, so by Theorem 11 the root has coefficients of one sign
    a = power_series.square_root(SlidingWindow(length=2).weights(4))  # √(1 + x)
    assert a.tolist() == [1, 1 / 2, -1 / 8, 1 / 16]
    log_convex = powers(1.0, 200)  # what does make them positive (Kaluza 1928)
    assert np.all(log_convex[1:-1] ** 2 <= log_convex[:-2] * log_convex[2:])
    assert np.all(power_series.square_root(log_convex) > 0)
