import math
from fractions import Fraction
from itertools import product

import hypothesis
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import InvalidType, InvalidValue, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import power_series
from lab.paper.theory import bell_polynomials as bell
from tests.decays import ALL_DECAYS
from tests.loops import for_each

rationals = st.fractions(-3, 3, max_denominator=12)
sequences = st.lists(rationals, min_size=1, max_size=9)


# The polynomials -------------------------------------------------------------------------------


def by_definition(n, k, s):
    """The sum of Definition 1, over all j with Σ j_i = k and Σ i j_i = n."""
    total = Fraction(0)
    for j in product(*(range(n // i + 1) for i in range(1, n - k + 2))):
        if sum(j) == k and sum(i * count for i, count in enumerate(j, start=1)) == n:
            term = Fraction(math.factorial(n))
            for i, count in enumerate(j, start=1):
                term *= (s[i - 1] / math.factorial(i)) ** count / math.factorial(count)
            total += term
    return total


def test_the_recurrence_gives_the_polynomials_of_the_definition():
    rng = np.random.default_rng(1)
    s = [Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 10))) for _ in range(8)]
    triangle = bell.partial(s)
    for n in range(1, 9):
        assert triangle[n] == [0] + [by_definition(n, k, s) for k in range(1, n + 1)]


@hypothesis.given(sequences, rationals, rationals)
@hypothesis.settings(deadline=None)
def test_scaling_the_sequence_scales_the_polynomials(s, a, b):
    # B_{n,k}(a b^i s_i) = a^k b^n B_{n,k}(s)
    scaled = bell.partial([a * b**i * c for i, c in enumerate(s, start=1)])
    for n, row in enumerate(bell.partial(s)):
        assert scaled[n] == [a**k * b**n * value for k, value in enumerate(row)]


def test_ones_count_partitions_into_blocks():
    triangle = bell.partial([1] * 12)
    for n in range(1, 13):
        assert triangle[n] == [int(mpmath.stirling2(n, k, exact=True)) for k in range(n + 1)]
    assert [sum(row) for row in triangle[:9]] == [1, 1, 2, 5, 15, 52, 203, 877, 4140]


def test_factorials_count_partitions_into_ordered_blocks():
    triangle = bell.partial([math.factorial(i) for i in range(1, 11)])
    for n, k in [(3, 2), (7, 3), (10, 1), (10, 10)]:  # the numbers of Lah
        ordered = math.comb(n - 1, k - 1) * math.factorial(n) // math.factorial(k)
        assert triangle[n][k] == ordered


def test_exact_numbers_stay_exact_and_floats_stay_floats():
    assert {type(b) for row in bell.partial([1, 2, 3]) for b in row} == {int}
    assert isinstance(bell.partial([Fraction(1, 3), 2])[2][2], Fraction)
    big = bell.partial([np.int64(2**62), np.int64(1)])[2][2]  # numpy's own would wrap around
    assert big == 2**124
    assert type(big) is int
    assert isinstance(bell.partial([0.5, 2])[2][2], float)


def test_the_ordinary_polynomials_are_the_same_in_another_scale():
    c = [Fraction(k + 1, 2 * k + 3) for k in range(15)]
    exact = bell.partial([math.factorial(i) * v for i, v in enumerate(c, start=1)])
    found = bell.ordinary([float(v) for v in c])
    for n, row in enumerate(exact):
        scaled = [float(b * math.factorial(k) / math.factorial(n)) for k, b in enumerate(row)]
        assert_allclose(found[n, : n + 1], scaled, rtol=1e-14)  # sums of 15 positive terms
        assert not found[n, n + 1 :].any()


def test_the_ordinary_polynomials_do_not_overflow_at_hundreds():
    found = bell.ordinary(np.ones(900))
    assert_allclose(found[900, 450], float(math.comb(899, 449)), rtol=1e-12)
    with pytest.raises(InvalidValue, match="float64, got overflow at n, k"):
        bell.ordinary(np.ones(1100))


# Theorem 2's formula ---------------------------------------------------------------------------


def by_recurrence(f):
    """Remark 12: coefficients compared by increasing powers, for f_0 = 1."""
    a = [Fraction(1)]
    for n in range(1, len(f)):
        a.append((Fraction(f[n]) - sum(a[k] * a[n - k] for k in range(1, n))) / 2)
    return a


SYMBOLS = {
    "counting": [1] * 40,
    "power 1": [Fraction(1, k + 1) for k in range(40)],
    "power 2": [Fraction(1, (k + 1) ** 2) for k in range(40)],
    "window 2": [1] * 2 + [0] * 38,
    "window 7": [1] * 7 + [0] * 33,
}


@pytest.mark.parametrize("f", SYMBOLS.values(), ids=SYMBOLS)
def test_the_formula_is_the_recurrence_exactly(f):
    found = bell.root_coefficients(f)
    assert found == by_recurrence(f)
    assert all(isinstance(a, Fraction) for a in found)


@hypothesis.given(st.fractions(Fraction(1, 9), 9, max_denominator=9), sequences)
@hypothesis.settings(deadline=None)
def test_the_exact_root_squares_back_for_every_square_start(root, rest):
    f = [root**2, *rest]
    a = bell.root_coefficients(f)
    assert a[0] == root
    for n in range(len(f)):
        assert sum(a[k] * a[n - k] for k in range(n + 1)) == f[n]


def test_the_exponential_has_its_closed_form():
    alpha = Fraction(3, 2)
    found = bell.root_coefficients([alpha**-k for k in range(30)])
    assert found == [alpha**-n * Fraction(math.comb(2 * n, n), 4**n) for n in range(30)]


def test_the_window_of_two_has_a_negative_coefficient():
    f = [1, 1, 0, 0]
    assert bell.root_coefficients(f) == [1, Fraction(1, 2), Fraction(-1, 8), Fraction(1, 16)]
    assert_allclose(bell.root_coefficients(np.array(f, float)), [1, 0.5, -0.125, 0.0625], rtol=0)


# float64 and what it loses ---------------------------------------------------------------------


@for_each("decay", ALL_DECAYS)
def test_the_float_formula_errs_by_the_rounding_of_its_terms(decay):
    # 300 coefficients; the largest factor over 2^-53 t_n was 8.3, for the window of two
    f = decay.weights(300)
    error = np.abs(bell.root_coefficients(f) - power_series.square_root(f))
    assert np.all(error <= 10 * 2.0**-53 * bell.cancellation(f))


def test_the_terms_that_cancel_are_as_large_as_said():
    f = [Fraction(4), Fraction(-3), 2, Fraction(1, 3), 0, 5, Fraction(-7, 2), 1]
    sizes = [abs(c) / 4 * math.factorial(i) for i, c in enumerate(f[1:], start=1)]
    triangle = bell.partial(sizes)
    expected = [2.0]
    for n in range(1, len(f)):
        falling, total = Fraction(1), Fraction(0)
        for k in range(1, n + 1):
            falling *= Fraction(1, 2) - (k - 1)
            total += abs(falling) * triangle[n][k]
        expected.append(float(2 * total / math.factorial(n)))
    assert_allclose(bell.cancellation([float(c) for c in f]), expected, rtol=1e-14)


def test_counting_loses_a_bit_a_coefficient_and_steep_powers_none():
    def lost(decay, n):
        f = decay.weights(n + 1)
        return bell.cancellation(f)[n] / power_series.square_root(f)[n]

    # a factor ρ^-100 with u(ρ) = 1, and less by a power of n
    assert 2.0**95 < lost(NoDecay(), 200) / lost(NoDecay(), 100) < 2.0**100
    growth = lost(PowerLaw(power=1), 200) / lost(PowerLaw(power=1), 100)
    assert 1.255**95 < growth < 1.2551**100
    assert lost(PowerLaw(power=2), 4000) < 2.6

    def wrong(decay, n):
        f = decay.weights(n + 1)
        return np.max(np.abs(bell.root_coefficients(f) / power_series.square_root(f) - 1))

    assert wrong(NoDecay(), 25) < 1e-8
    assert wrong(NoDecay(), 80) > 1
    assert wrong(PowerLaw(power=1), 80) < 1e-8
    assert wrong(PowerLaw(power=1), 200) > 1
    assert wrong(PowerLaw(power=2), 300) < 1e-14


def test_a_first_weight_other_than_one_scales_the_root():
    f = SlidingWindow(length=3).weights(8)
    assert_allclose(bell.root_coefficients(2.25 * f), 1.5 * bell.root_coefficients(f), rtol=1e-15)
    assert bell.root_coefficients([2.25]) == 1.5
    assert bell.root_coefficients([Fraction(9, 4)]) == [Fraction(3, 2)]
    assert bell.cancellation([2.25]) == 1.5


# Theorem 8: composition ------------------------------------------------------------------------


def test_composition_gives_the_derivatives_of_a_function_of_a_function():
    # e^(sin x) at 0.3, against mpmath's own derivatives
    n, x = 12, mpmath.mpf("0.3")
    with mpmath.workdps(40):
        outer = [float(mpmath.exp(mpmath.sin(x)))] * n
        inner = [float(d) for d in mpmath.diffs(mpmath.sin, x, n)][1:]
        whole = mpmath.taylor(lambda t: mpmath.exp(mpmath.sin(t)), x, n)
        expected = [float(c * mpmath.factorial(k)) for k, c in enumerate(whole)][1:]
    assert_allclose(bell.composition(outer, inner), expected, rtol=1e-13)


def test_composition_of_geometric_series_is_exact():
    # F = 1/(1-y) and G = x/(1-x) at 0: F(G(x)) = (1-x)/(1-2x), whose derivatives are n! 2^(n-1)
    factorials = [math.factorial(n) for n in range(1, 12)]
    doubled = [math.factorial(n) * 2 ** (n - 1) for n in range(1, 12)]
    assert bell.composition(factorials, factorials) == doubled


@hypothesis.given(st.integers(1, 6), st.data())
@hypothesis.settings(deadline=None)
def test_composition_is_associative(n, data):
    one = st.lists(rationals, min_size=n, max_size=n)
    f, g, h = data.draw(one), data.draw(one), data.draw(one)
    left = bell.composition(bell.composition(f, g), h)
    assert left == bell.composition(f, bell.composition(g, h))


# Theorem 9: inversion --------------------------------------------------------------------------

N = 9
HALVES = [math.prod((Fraction(1, 2) - m for m in range(k)), start=1) for k in range(1, N + 1)]
SIGNED = [(-1) ** (k - 1) * math.factorial(k - 1) for k in range(1, N + 1)]
PAIRS = {  # derivatives of F at a, and of its inverse G at F(a), each by its own formula
    "exp at 0, log at 1": ([1] * N, SIGNED),
    "log at 1, exp at 0": (SIGNED, [1] * N),  # F(a) = 0, which the paper excludes
    "root at 1, square at 1": (HALVES, [2, 2] + [0] * (N - 2)),
    "x/(1-x) at 0, x/(1+x) at 0": (
        [math.factorial(k) for k in range(1, N + 1)],
        [(-1) ** (k - 1) * math.factorial(k) for k in range(1, N + 1)],
    ),
}


@pytest.mark.parametrize(("F", "G"), PAIRS.values(), ids=PAIRS)
@hypothesis.given(s=st.lists(rationals, min_size=N, max_size=N))
@hypothesis.settings(deadline=None, max_examples=20)
def test_the_inverse_function_turns_the_sequence_back(F, G, s):
    y = bell.composition(F, s)
    assert bell.composition(G, y) == s
    assert bell.composition(F, bell.composition(G, s)) == s


@pytest.mark.parametrize(("F", "G"), PAIRS.values(), ids=PAIRS)
def test_the_inverse_has_the_derivatives_of_the_known_one(F, G):
    assert bell.inverse(F) == G
    assert_allclose(bell.inverse([float(d) for d in F]), [float(d) for d in G], atol=1e-9)


def test_the_inverse_of_a_quadratic_has_the_numbers_of_catalan():
    # x - x² has the inverse (1 - √(1 - 4x)) / 2 = Σ Catalan_{n-1} x^n at 0
    found = bell.inverse([1, -2, 0, 0, 0, 0, 0])
    catalan = [1, 1, 2, 5, 14, 42, 132]
    assert found == [math.factorial(n) * c for n, c in enumerate(catalan, start=1)]


def test_a_value_at_a_other_than_zero_is_not_enough():
    # cos at 0: F(a) = 1 ≠ 0 as the paper asks, but F'(a) = 0, and F has no inverse there
    with pytest.raises(InvalidValue, match="outer must start with a derivative != 0, got 0"):
        bell.inverse([0, -1, 0, 1])


def test_commuting_functions_need_not_be_inverse():
    # F = 2x and G = 3x have F(G(x)) = G(F(x)), which is all that the paper asks
    s = [Fraction(1), Fraction(5)]
    F, G = [2, 0], [3, 0]
    assert bell.composition(F, G) == bell.composition(G, F)
    assert bell.composition(G, bell.composition(F, s)) == [6, 30] != s


# Theorem 13: the square root's pair ------------------------------------------------------------


@hypothesis.given(sequences)
@hypothesis.settings(deadline=None)
def test_rooted_and_squared_undo_each_other(s):
    assert bell.squared(bell.rooted(s)) == s
    assert bell.rooted(bell.squared(s)) == s


@hypothesis.given(st.lists(rationals, min_size=2, max_size=9))
@hypothesis.settings(deadline=None)
def test_the_pair_is_the_inversion_of_root_and_square(y):
    square = [2, 2] + [0] * (len(y) - 2)
    assert bell.squared(y) == bell.composition(square, y)
    assert bell.rooted(y) == bell.composition(bell.inverse(square), y)


def test_the_pair_in_floats_agrees_with_the_exact_one():
    s = [Fraction(math.factorial(n), (n + 1) ** 2) for n in range(1, 13)]
    floats = bell.rooted([float(c) for c in s])
    assert_allclose(floats, [float(y) for y in bell.rooted(s)], rtol=1e-13)
    assert_allclose(bell.squared(floats), [float(c) for c in s], rtol=1e-13)


# Edges and refusals ----------------------------------------------------------------------------


def test_no_sequence_gives_the_first_polynomial_alone():
    assert bell.partial([]) == [[1]]
    assert bell.rooted([]) == bell.squared([]) == bell.inverse([]) == bell.composition([], []) == []


@for_each(
    ("f", "kind", "rule"),
    [
        ([], InvalidValue, "f must not be empty"),
        ([0, 1], InvalidValue, "f must start with a coefficient > 0, got 0"),
        ([-1.0, 1.0], InvalidValue, r"f must start with a coefficient > 0, got -1\.0"),
        ([2, 1], InvalidValue, "f must start with the square of a rational to be exact, got 2"),
        ([1.0, float("nan")], InvalidValue, "f must be finite, got nan"),
        ([10**400, 1.0], InvalidValue, "f must be finite"),
        ([1, "a"], InvalidType, "f must be a sequence of real numbers, got 'a'"),
        ([True, 1], InvalidType, "f must be a sequence of real numbers, got True"),
        ([1, 1j], InvalidType, "f must be a sequence of real numbers"),
        ([[1, 2]], InvalidType, "f must be a sequence of real numbers"),
        (1.0, InvalidType, "f must be a sequence of real numbers, got 1"),
        (None, InvalidType, "f must be a sequence of real numbers, got None"),
    ],
)
def test_bad_coefficients_are_refused_by_name(f, kind, rule):
    with pytest.raises(kind, match=rule):
        bell.root_coefficients(f)


def test_two_lengths_cannot_be_composed():
    with pytest.raises(InvalidValue, match="the same length, got 2 and 1"):
        bell.composition([1, 2], [1])


def test_a_derivative_too_small_to_invert_in_floats_is_refused():
    with pytest.raises(InvalidValue, match="outer must start with a derivative != 0, got 1e-200"):
        bell.inverse([1e-200, 1.0])
    exact = bell.inverse([Fraction(1, 10**200), 1])
    assert exact == [10**200, -(10**600)]


@pytest.mark.parametrize("work", [bell.partial, bell.rooted, bell.squared])
def test_overflow_is_an_error_not_an_infinity(work):
    with pytest.raises(InvalidValue, match="must fit float64, but overflows"):
        work([1e200, 1e200, 1e200])


@pytest.mark.parametrize("f", [[0.0, 1.0], [float("nan")], [-1.0]])
def test_cancellation_asks_for_a_positive_start(f):
    with pytest.raises(InvalidValue, match=r"^f must"):
        bell.cancellation(f)
