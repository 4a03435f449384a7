import math

import hypothesis
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import fft
from scipy.linalg import toeplitz

from hushfade import (
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    theory,
)
from hushfade.factors import factorization
from hushfade.planning import certificate
from hushfade.theory import certificates, dense_pair, optimum
from tests.decays import ALL_DECAYS
from tests.gaussian_plans import plan
from tests.loops import for_each

GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
PLANNABLE = [
    decay for decay in ALL_DECAYS if not repr(decay).startswith("CustomDecay(values=(0.99")
]
FALLING = st.lists(st.floats(0, 1), min_size=0, max_size=63).map(
    lambda falls: np.concatenate([[1.0], np.sort(falls)[::-1]])
)


def in_long_double(f, u, v):
    """The certificate's sum with 64 bits of mantissa, no error term."""
    n = len(f)
    f, u, v = (np.asarray(part, dtype=np.longdouble) for part in (f, u, v))
    N = fft.next_fast_len(n, real=True)
    w = fft.irfft(fft.rfft(u, 2 * N) * np.conj(fft.rfft(v, 2 * N)), 2 * N)[:n]
    size = np.abs(fft.rfft(w * f, 2 * N))
    size[1:-1] *= 2
    return max(size[0::2].sum(), size[1::2].sum()) / N


# Laws ----------------------------------------------------------------------------------------


@hypothesis.settings(deadline=None, max_examples=80, derandomize=True)
@hypothesis.given(FALLING)
def test_certificates_never_pass_the_optimum(f):
    found = optimum.solve(f)
    assert certificates.lower(f).value <= found.upper
    assert certificates.upper(f).value >= found.lower
    assert certificates.lower_frobenius(f).value <= optimum.solve_frobenius(f).upper


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 3, 31, 100])
def test_certificates_hold_for_every_decay(decay, n):
    f = decay.weights(n)
    found = optimum.solve(f)
    below, above = certificates.lower(f), certificates.upper(f)
    assert (below.side, above.side) == ("lower", "upper")
    assert 0.85 * found.lower < below.value <= found.upper
    assert above.value >= found.lower


@hypothesis.settings(deadline=None, max_examples=60, derandomize=True)
@hypothesis.given(st.integers(1, 40), st.integers(0, 2**32))
def test_the_trace_norm_is_bounded_for_any_weights(n, seed):
    draw = np.random.default_rng(seed)
    f, u, v = draw.normal(size=n), draw.exponential(size=n), draw.exponential(size=n)
    exact = np.linalg.svd(u[:, None] * toeplitz(f, np.zeros(n)) * v, compute_uv=False).sum()
    assert certificates.trace_norm(f, u, v) <= exact * (1 + 1e-13)


@for_each("decay", ALL_DECAYS)
@for_each("n", [7, 1000, 2**16])
def test_the_error_term_covers_the_rounding_and_is_small(decay, n):
    f, v = decay.weights(n), certificates.profile(n, 0.2, 0.7)
    exact = in_long_double(f, v[::-1], v)
    certified = certificates.trace_norm(f, v[::-1], v)
    assert certified <= exact
    assert exact - certified < 1e-9 * exact


@for_each("length", [2, 30, 1024, 2 * 3**5 * 5, 5**6, 2**17])
def test_a_transform_errs_by_less_than_it_is_charged(length):
    draw = np.random.default_rng(length)
    for x in (draw.normal(size=length), np.ones(length), np.exp(-np.arange(length) / 9.0)):
        exact = fft.rfft(x.astype(np.longdouble))
        error = np.linalg.norm(np.abs(fft.rfft(x) - exact).astype(float))
        size = np.linalg.norm(np.abs(exact).astype(float))
        charge = certificates._transform_error(length)
        assert error <= charge * size
        assert charge < 1e-12


@for_each(("k", "b"), [(1, 5), (2, 1), (3, 7), (50, 2), (10**6, 1), (2, 10**9)])
def test_the_comb_errs_by_less_than_it_is_charged(k, b):
    for decay in (PowerLaw(0.01), Exponential(1e6), 5 * NoDecay() - 4 * Exponential(3)):
        f = decay.weights(4096)
        shown = min(k, 1 + 4095 // b)
        total, charge = certificate._repeated(f, shown, b)
        exact = np.zeros(4096, dtype=np.longdouble)
        for i in range(shown):
            exact[i * b :] += f[: 4096 - i * b]
        assert np.max(np.abs(total - exact)) <= charge
        assert charge <= 1e-9 * float(np.max(exact))


@for_each("steep", [1e4, 1e8])
@for_each("n", [2, 3, 8, 20])
def test_weights_that_cancel_are_charged_for_it(steep, n):
    """Momentum with β near 1: the weights k+1, nearly, are differences of large numbers."""
    decay = steep * NoDecay() - (steep - 1) * Exponential.from_alpha(1 / (1 - 1 / steep))
    with mpmath.workdps(60):
        beta = mpmath.mpf(2) ** (-1 / mpmath.mpf(decay.parts[1][1].half_life))
        exact = [float(decay.parts[0][0] + decay.parts[1][0] * beta**k) for k in range(n)]
    true = optimum.solve(exact, gap=1e-9)
    found = theory.gamma2(decay, n, gap=1e-9)
    assert found.lower <= true.upper
    assert found.upper >= true.lower
    error = certificates.rounding(decay, decay.weights(n))
    assert certificates.lower(decay.weights(n), weight_error=error).value <= true.upper
    assert np.max(np.abs(decay.weights(n) - exact)) <= error


def test_a_certificate_without_its_normalisation_would_be_caught():
    f = PowerLaw(0.5).weights(64)
    v = certificates.profile(64, 0.0, 1.0)
    wrong = certificates.trace_norm(f, v[::-1], v) / np.linalg.norm(v)  # ‖u‖ forgotten
    assert wrong > optimum.solve(f).upper


@for_each("decay", [NoDecay(), Exponential(24), SlidingWindow(7)])
@for_each(("k", "b"), [(1, 1), (2, 1), (3, 7), (4, 20), (100, 11)])
def test_no_pair_beats_the_certificate_under_repeated_participation(decay, k, b):
    for n in [60, 300]:
        pairs = [factorization.square_root(decay), factorization.normalized(decay, n)]
        for pair in pairs:
            found = pair.sensitivity(n, participations=k, separation=b).value
            error = float(np.max(pair.errors(n))) * found
            made = certificate.certificate(decay, n, error, participations=k, separation=b)
            assert made.bracket.lower <= error
            # the comb's own bound, by an independent way: MC's mean singular value
            C = np.zeros((n, n))
            for i in range(k):
                C += np.eye(n, k=-i * b) if i * b < n else 0.0
            M = toeplitz(decay.weights(n), np.zeros(n))
            mean = np.linalg.svd(M @ C, compute_uv=False).mean()
            assert made.lower >= 0.8 * mean
            assert error >= mean * (1 - 1e-9)


def test_repeated_participation_never_lowers_the_certificate():
    found = [
        certificate.certificate(Exponential(24), 200, 100.0, participations=k, separation=30).lower
        for k in [1, 2, 4, 7, 50]
    ]
    assert np.all(np.diff(found) >= -1e-9)
    assert found[2] > 1.5 * found[0]
    assert found[3] == found[4]  # only seven fit in 200 steps


@for_each("decay", PLANNABLE)
def test_every_plan_has_a_certificate_below_its_error(decay):
    made = plan(decay, GUARANTEE, horizon=None if decay.horizon_free else 300)
    found = made.certificate(300)
    assert found.lower <= found.upper <= found.error_factor
    assert found.error_factor >= made.error_factor(300) * (1 - 1e-9)
    unit = found.error_factor * GUARANTEE.noise_multiplier  # records change by 1
    assert_allclose(made.max_stddev(300), unit, rtol=1e-12)
    shown = made.certificate(made.horizon or 1000)
    assert shown.sentence() in str(made)


def test_a_replaced_record_that_changes_its_key_is_compared_within_one_key():
    """A mechanism may mix keys: with AᵀA = [[1, ½], [½, 1]], L⊗A⁻¹ and R⊗A have the sensitivity ‖R‖
    for the moves (±1, 0), (0, ±1) and (1, -1), and √(2/3) of the plan's error."""
    moving = Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
    made = plan(Exponential(24), moving, keys=["a", "b"], horizon=100)
    pair = factorization.square_root(Exponential(24), 100)
    L, R = pair.matrices(100)
    A = np.linalg.cholesky(np.array([[1, 0.5], [0.5, 1]])).T
    L2, R2 = np.kron(L, np.linalg.inv(A)), np.kron(R, A)
    assert_allclose(L2 @ R2, np.kron(L @ R, np.eye(2)), atol=1e-12)
    moves = np.array([[1, 0], [0, 1], [1, -1]]).T
    columns = np.stack([R2[:, 2 * s : 2 * s + 2] @ moves for s in range(100)])
    sensitivity = np.linalg.norm(columns, axis=1).max()
    rival = np.linalg.norm(L2, axis=1).max() * sensitivity * moving.noise_multiplier
    assert rival < 0.83 * made.max_stddev(100)
    found = made.certificate()
    assert found.lower / found.error_factor <= rival / made.max_stddev(100)


@pytest.mark.parametrize(("high", "resolution"), [(1.0005, None), (0.75, 0.5), (0.74, 0.5)])
def test_bounds_off_the_grid_do_not_flatter_the_plan(high, resolution):
    made = plan(Exponential(24), GUARANTEE, high=high, resolution=resolution)
    found = made.certificate(300)
    rival = optimum.solve(Exponential(24).weights(300)).upper * high * GUARANTEE.noise_multiplier
    assert found.lower / found.error_factor <= rival / made.max_stddev(300) * (1 + 1e-9)


def test_keys_and_replacement_change_the_unit_not_the_certificate():
    one = plan(Exponential(24), GUARANTEE).certificate(100)
    other = plan(
        Exponential(24),
        Guarantee(epsilon=0.5, delta=1e-8, neighbours="replace"),
        low=-3,
        high=5,
        keys=["a", "b"],
    ).certificate(100)
    assert one.lower == other.lower
    assert_allclose(one.error_factor, other.error_factor, rtol=1e-6)


# Known values --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_counting_has_the_mean_singular_value(n):
    exact = np.linalg.svd(np.tril(np.ones((n, n))), compute_uv=False).mean()
    assert_allclose(certificates.lower(np.ones(n)).value, exact, rtol=1e-12)
    assert certificates.lower(np.ones(n)).value <= exact
    assert_allclose(certificates.lower(3 * np.ones(n)).value, 3 * exact, rtol=1e-12)


def test_counting_at_many_steps_to_the_known_digits():
    found = [certificates.lower(np.ones(n)).value for n in (1024, 65536, 2**20)]
    assert [round(value, 4) for value in found] == [2.9096, 4.2321, 5.1146]
    found = [certificates.upper(np.ones(n)).value for n in (1024, 65536, 2**20)]
    assert [round(value, 4) for value in found] == [3.1876, 4.5114, 5.3940]


@pytest.mark.parametrize(
    ("decay", "at_1024", "at_65536"),
    [
        (Exponential.from_alpha(1.01), 1.0033, 1.000001),
        (PowerLaw(0.5), 1.0046, 1.00055),
        (PowerLaw(1), 1.00013, 1.000001),
        (SlidingWindow(16), 1.0001, 1.000000),
        (SlidingWindow(256), 1.0284, 1.00001),
    ],
    ids=repr,
)
def test_the_best_upper_bound_over_the_certificate_to_the_known_digits(decay, at_1024, at_65536):
    for n, known in [(1024, at_1024), (65536, at_65536)]:
        f = decay.weights(n)
        pairs = factorization.square_root(decay), factorization.normalized(decay, n)
        above = min(certificates.upper(f).value, *(pair.error_factor(n) for pair in pairs))
        digits = len(f"{known!r}".split(".")[1])
        assert round(above / certificates.lower(f).value, digits) <= known + 10.0**-digits / 2


def test_counting_within_six_and_four_percent():
    """Normalized square root over certificate.  With the left norm alone in place of the error
    factor it would read 1.054 and 1.036: the sensitivity of D⁻¹H is above one."""
    for n, known in [(1024, 1.0642), (65536, 1.0411)]:
        found = factorization.normalized(NoDecay(), n).error_factor(n)
        assert_allclose(found / certificates.lower(np.ones(n)).value, known, atol=6e-5)


@pytest.mark.slow
def test_a_million_steps_have_a_certificate_near_the_limit():
    f = SlidingWindow(256).weights(2**20)
    limit = theory.gamma2_limit(SlidingWindow(256)).value
    below = certificates.lower(f).value
    assert (1 - 1e-6) * limit < below <= limit
    assert theory.gamma2(SlidingWindow(256), 2**16).gap < 1e-4


# Edges and refusals --------------------------------------------------------------------------


def test_the_sentence_rounds_to_the_safe_side():
    bracket = theory.Bracket(1.99999, 2.0)
    assert "99.99 %" in certificate.Certificate(5, bracket, 2.0).sentence()
    assert "66.66 %" in certificate.Certificate(5, bracket, 3.0).sentence()


def test_no_certificate_is_below_the_largest_weight():
    f = np.concatenate([[1e-3], np.zeros(298), [1.0]])
    assert certificates.lower(f).value > 1 - 1e-12
    assert certificates.lower(f).name == "largest weight"


def test_the_upper_bound_hardly_depends_on_the_arithmetic_of_n():
    for n in (1025, 1031, 65537):
        assert (
            certificates.upper(np.ones(n)).value < 1.01 * certificates.upper(np.ones(n - 1)).value
        )


def test_records_far_apart_are_hidden_one_by_one():
    far = Guarantee(epsilon=1, delta=1e-6, protects=Person(apart=10**9))
    assert plan(SlidingWindow(7), far).certificate(300).ratio < 1.01
    twice = Guarantee(epsilon=1, delta=1e-6, protects=Person(steps=2, apart=10**9))
    made = plan(SlidingWindow(7), twice)
    assert_allclose(made.sensitivity, math.sqrt(2) * plan(SlidingWindow(7), far).sensitivity)
    assert made.certificate(300).lower > 0


def test_a_dense_plan_of_few_steps_is_nearly_certified():
    pair = dense_pair.optimal(NoDecay(), 50)
    made = certificate.certificate(NoDecay(), 50, pair.error_factor(50))
    assert made.ratio < 1.0002


@pytest.mark.parametrize("f", [[], [math.nan, 1.0], [[1.0]], [1e-101, 1e-120], [1e200, 1.0]])
def test_columns_are_checked(f):
    for bound in (certificates.lower, certificates.upper, certificates.lower_frobenius):
        with pytest.raises(InvalidValue):
            bound(f)


def test_a_certificate_needs_steps_within_the_horizon():
    made = plan(NoDecay(), GUARANTEE, horizon=20)
    assert made.certificate().steps == 20
    with pytest.raises(InvalidValue, match="n must be"):
        made.certificate(21)
    for n in (0, -1):
        with pytest.raises(InvalidValue, match="n must be"):
            made.certificate(n)
    with pytest.raises(InvalidType):
        made.certificate(2.5)
