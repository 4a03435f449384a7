from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from hushfade import InvalidType, InvalidValue, PowerLaw, SlidingWindow
from hushfade.decays import Exponential
from hushfade.factors import power_series
from tests.decays import ALL_DECAYS, LOG_CONVEX
from tests.loops import for_each

N = 1 << 20
SAMPLED = [1, 63, 64, 65, 1000, 4095, 4096, 70_001, (1 << 19) - 1, 1 << 19, N - 1]


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 7, 64, 65, 200, 3000])
def test_square_root_squares_back(decay, n):
    f = decay.weights(n)
    a = power_series.square_root(f)
    assert a.shape == f.shape
    terms = power_series.multiply(
        np.abs(a), np.abs(a)
    )  # grows where the decay has a zero in the disk
    assert np.all(np.abs(power_series.multiply(a, a) - f) <= 1e-12 * np.maximum(terms, 1))


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 65, 3000])
def test_inverse_times_the_series_is_one(decay, n):
    f = decay.weights(n)
    y = power_series.inverse(f)
    terms = power_series.multiply(np.abs(f), np.abs(y))
    error = np.abs(power_series.multiply(f, y) - np.eye(1, n)[0])
    assert np.all(error <= 1e-12 * np.maximum(terms, 1))


@for_each("decay", LOG_CONVEX)
def test_powers_add_up(decay):
    f = decay.weights(3000)
    f = f[: np.count_nonzero(f > 1e-250)]
    product = power_series.multiply(power_series.power(f, 0.3), power_series.power(f, 0.7))
    assert_allclose(product, f, rtol=1e-10, atol=1e-13)
    third = power_series.power(f, 1 / 3)
    assert_allclose(
        power_series.multiply(third, power_series.multiply(third, third)), f, rtol=1e-10
    )


def test_powers_with_their_own_names_agree_with_the_general_law():
    f = PowerLaw(power=1.3).weights(5000)
    root = power_series.multiply(power_series.power(f, 0.25), power_series.power(f, 0.25))
    assert_allclose(root, power_series.power(f, 0.5), rtol=1e-12)
    assert_allclose(power_series.inverse(f), power_series.power(f, -1), rtol=0)
    assert_allclose(power_series.power(f, 1), f, rtol=1e-12)
    assert_allclose(power_series.power(f, 0), np.eye(1, 5000)[0], atol=1e-15)


@for_each("decay", LOG_CONVEX)
def test_the_root_of_a_log_convex_decay_has_no_negative_coefficient(decay):
    assert np.all(power_series.square_root(decay.weights(20_000)) >= 0)


@hypothesis.given(st.floats(0.01, 10))
@hypothesis.settings(deadline=None, max_examples=60)
def test_the_root_of_every_power_law_is_positive_and_halved_by_its_weight(power):
    f = PowerLaw(power=power).weights(3000)
    a = power_series.square_root(f)
    assert np.all(a > 0)
    assert np.all(a[1:] <= f[1:] / 2 * (1 + 1e-14))  # the paper's a_n ≤ f(n+1)/2


def test_a_window_is_not_in_the_class():
    assert power_series.square_root(SlidingWindow(length=2).weights(3))[2] == -1 / 8


# Exact rational arithmetic -------------------------------------------------------------------


def rational_root(f):
    a = [Fraction(1)]
    for n in range(1, len(f)):
        a.append((f[n] - sum(a[k] * a[n - k] for k in range(1, n))) / 2)
    return a


def rational_inverse(f):
    y = [1 / f[0]]
    for n in range(1, len(f)):
        y.append(-sum(f[k] * y[n - k] for k in range(1, n + 1)) / f[0])
    return y


RATIONAL = {
    "harmonic": lambda k: Fraction(1, k + 1),
    "cubes": lambda k: Fraction(1, (k + 1) ** 3),
    "halves": lambda k: Fraction(1, 2**k),
    "window": lambda k: Fraction(int(k < 9)),
    "counting": lambda k: Fraction(1),
}


@pytest.mark.parametrize("law", RATIONAL.values(), ids=RATIONAL)
def test_small_orders_equal_exact_rational_arithmetic(law):
    # 150 coefficients cross two doublings; 'halves' and 'window' are exact float64 inputs, the
    # others are within half a unit of it
    exact = [law(k) for k in range(150)]
    f = np.array([float(c) for c in exact])
    assert_allclose(
        power_series.square_root(f), [float(c) for c in rational_root(exact)], rtol=1e-14
    )
    y = [float(c) for c in rational_inverse(exact)]
    assert_allclose(power_series.inverse(f), y, rtol=2e-14, atol=1e-16)


# Independent references at n = 2^20 -----------------------------------------------------------


def central(n):
    """C(2n, n) / 4^n, the root of counting."""
    return mpmath.gamma(n + mpmath.mpf(1) / 2) / mpmath.gamma(n + 1) / mpmath.sqrt(mpmath.pi)


def power_root(c, n):
    """a_n = (1/π) ∫_0^∞ Im √g(e^s + i0) e^(-ns) ds: Cauchy's integral around the cut [1, ∞).

    On the cut Im Li_c(e^s) = π s^(c-1) / Γ(c), exactly; only its real part is computed.
    """
    c = mpmath.mpf(c)
    zeta = [] if c == int(c) else [mpmath.zeta(c - k) / mpmath.factorial(k) for k in range(60)]

    def integrand(t):
        s = t / n
        if c == 1:
            real = -mpmath.log(mpmath.expm1(s))
        elif zeta:  # Li_c(e^s) = Γ(1-c) (-s)^(c-1) + Σ ζ(c-k) s^k / k!
            pole = mpmath.gamma(1 - c) * s ** (c - 1) * mpmath.cos(mpmath.pi * (c - 1))
            real = pole + mpmath.fsum(z * s**k for k, z in enumerate(zeta))
        else:
            real = mpmath.re(mpmath.polylog(c, mpmath.exp(s)))
        imaginary = mpmath.pi * s ** (c - 1) / mpmath.gamma(c)
        root = mpmath.sqrt(mpmath.mpc(real, imaginary) * mpmath.exp(-s))
        return mpmath.im(root) * mpmath.exp(-t)

    cuts = [0, mpmath.mpf(10) ** -12, mpmath.mpf(10) ** -6, 0.001, 0.05, 0.5]
    cuts += [1, 2, 4, 6, 8, 11, 15, 20, 30, 45, 70, 110]
    return mpmath.quad(integrand, cuts) / (n * mpmath.pi)


def window_root(w, n):
    """Σ_j C(½, j) (-1)^j C(2m, m)/4^m with m = n - jw: the product of two binomial series."""
    total, binomial = mpmath.mpf(0), mpmath.mpf(1)
    for j in range(n // w + 1):
        total += binomial * central(n - j * w)
        binomial *= -(mpmath.mpf(1) / 2 - j) / (j + 1)
    return total


def long(value):
    """A case that make soak runs."""
    return pytest.param(value, marks=pytest.mark.long)


def worst(a, reference, sampled):
    tiny = float(np.finfo(float).tiny)
    with mpmath.workdps(60):
        exact = {n: reference(n) for n in sampled}
        errors = [abs((a[n] - x) / x) for n, x in exact.items() if abs(x) >= tiny]
        assert all(a[n] == 0 for n, x in exact.items() if abs(x) < tiny)
        return float(max(errors))


@pytest.mark.slow
def test_every_coefficient_of_counting_is_right_at_a_million():
    assert worst(power_series.square_root(np.ones(N)), central, SAMPLED) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0001, 1.01, 1.1, 2.0])
def test_every_coefficient_of_exponentials_is_right_at_a_million(alpha):
    decay = Exponential.from_alpha(alpha)
    a = power_series.square_root(decay.weights(N))

    def reference(n):
        return central(n) * mpmath.mpf(2) ** (-n / mpmath.mpf(decay.half_life))

    last = int(np.flatnonzero(a)[-1])
    assert worst(a, reference, [*SAMPLED, last // 2, last - 10]) < 1e-11
    assert np.all(a >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("power", [long(0.25), 0.5, 1, long(2), long(3), 5])
def test_every_coefficient_of_power_laws_is_right_at_a_million(power):
    a = power_series.square_root(PowerLaw(power=power).weights(N))
    assert np.all(a > 0)
    with mpmath.workdps(40):
        for n in [100, 4097, N - 1]:
            assert abs(a[n] / power_root(power, n) - 1) < 1e-13
    # between the samples: a_n (n+1)^c is smooth, so its fourth difference is noise alone
    smooth = a * np.arange(1.0, N + 1) ** power
    noise = np.abs(np.diff(smooth[1 << 15 :], 4)) / smooth[(1 << 15) + 2 : -2]
    assert np.max(noise) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 7, long(64), 1000, 100_000])
def test_every_coefficient_of_windows_is_right_at_a_million(length):
    # also at the coefficients next to a change of sign, where terms cancel most
    n = N if length != 7 else 1 << 17
    a = power_series.square_root(SlidingWindow(length=length).weights(n))
    scaled = np.abs(a) * np.arange(1.0, n + 1) ** 1.5
    smallest = [int(k) for k in np.argsort(scaled)[:3]]
    sampled = [k for k in SAMPLED if k < n and k // length < 20_000]
    if length == 2:
        assert worst(a, lambda k: mpmath.binomial(0.5, k), SAMPLED) < 1e-14
    else:
        assert worst(a, lambda k: window_root(length, k), sampled + smallest) < 1e-14


@pytest.mark.long
def test_four_million_coefficients_square_back():
    f = PowerLaw(power=3).weights(1 << 22)
    a = power_series.square_root(f)
    assert_allclose(power_series.multiply(a, a), f, atol=1e-13)


def test_a_plain_newton_iteration_would_fail_these_tests():
    # the seeded bug: without blocks of one magnitude, power 5 loses its small coefficients
    from scipy import signal

    f = PowerLaw(power=5).weights(1 << 16)
    h, m = np.ones(1), 1
    while m < len(f):
        m *= 2
        grown = np.append(h, np.zeros(m - len(h)))
        square = signal.fftconvolve(grown, grown)[:m]
        y = power_series.inverse(grown)
        h = grown + 0.5 * signal.fftconvolve(y, f[:m] - square)[:m]
    assert np.any(h < 0)
    assert np.max(np.abs(h / power_series.square_root(f) - 1)) > 1


def test_geometric_growth_is_followed_too():
    f = np.zeros(500)
    f[:2] = 1, -3
    assert_allclose(power_series.inverse(f), 3.0 ** np.arange(500), rtol=1e-12)


# Refusals ------------------------------------------------------------------------------------


@for_each(
    "work", [power_series.square_root, power_series.inverse, lambda f: power_series.power(f, 2)]
)
@for_each(
    ("f", "kind"),
    [
        ([], InvalidValue),
        ([0.0, 1.0], InvalidValue),
        ([1.0, float("nan")], InvalidValue),
        ([1.0, -float("inf")], InvalidValue),
        ([[1.0, 2.0]], InvalidValue),
        (1.0, InvalidValue),
        ([1.0, 1j], InvalidType),
        (["a"], InvalidType),
        (None, InvalidType),
    ],
)
def test_bad_columns_are_refused_by_name(work, f, kind):
    with pytest.raises(kind, match=r"^f must"):
        work(f)


def test_a_negative_start_has_no_real_root():
    with pytest.raises(InvalidValue, match=r"f must start with a coefficient > 0, got -1\.0"):
        power_series.square_root([-1.0, 1.0])
    assert_allclose(power_series.inverse([-2.0, 0.0]), [-0.5, 0.0])


def test_columns_of_two_lengths_are_refused():
    with pytest.raises(InvalidValue, match="the same length, got 2 and 3"):
        power_series.multiply([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("n", [50, 2000])
def test_overflow_is_an_error_not_an_infinity(n):
    f = np.zeros(n)
    f[0], f[1] = 1.0, 1e200
    with pytest.raises(InvalidValue, match="must fit into float64, but overflows at coefficient"):
        power_series.inverse(f)


@pytest.mark.parametrize("p", [float("nan"), float("inf"), "2", None, 1j])
def test_bad_exponents_are_refused(p):
    with pytest.raises((InvalidValue, InvalidType), match=r"^p must be"):
        power_series.power([1.0, 1.0], p)


@pytest.mark.parametrize("p", [0.5, 0.3, -1.0])
def test_steep_coefficients_are_right_while_they_fit_and_refused_beyond(p):
    steep = np.array([1.0, 2.0**20, 2.0**40])
    expected = {0.5: [1, 2.0**19, 3 * 2.0**37], 0.3: None, -1.0: [1, -(2.0**20), 0]}[p]
    found = power_series.power(steep, p)
    if expected is not None:
        assert_allclose(found, expected, rtol=1e-15)
    for n in (64, 65, 200):
        with pytest.raises(InvalidValue, match="overflows at coefficient"):
            power_series.power([1.0, 2.0**20, *np.zeros(n - 2)], p)


@for_each("decay", [PowerLaw(5), Exponential(1), Exponential(0.3), LOG_CONVEX[6]])
@for_each("kept", [2, 20, 47, 64, 65, 150])
@for_each("n", [200, 4096])
def test_a_series_that_is_cut_off_has_its_inverse(decay, kept, n):
    """1/c of a cut column falls slowly, then geometrically; scipy's recursion is the reference."""
    for c in (
        power_series.square_root(decay.weights(kept)),
        power_series.inverse(decay.weights(kept)),
    ):
        one, column = np.zeros(n), np.zeros(n)
        one[0], column[:kept] = 1.0, c
        found = power_series.inverse(column)
        assert_allclose(found, lfilter([1.0], c, one), atol=1e-13)
        left = power_series.multiply(decay.weights(n), found)
        assert_allclose(left, lfilter([1.0], c, decay.weights(n)), atol=1e-13)
