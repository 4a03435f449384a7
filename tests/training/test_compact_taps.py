import math
from functools import cache

import hypothesis
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    CustomDecay,
    Decay,
    Diverges,
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    Unstable,
)
from hushfade.factors import factorization, limit_norms, power_series
from hushfade.training.compact_taps import ENDLESS, compact
from hushfade.training.exponentials import CompactTaps, Exponentials
from tests.decays import LOG_CONVEX

T = 3000
LOSS = 1e-3
MONOTONE = [*LOG_CONVEX, 0.9 * Exponential(half_life=2) + 0.1 * NoDecay()]
WINDOWS = [*(SlidingWindow(length=w) for w in (1, 2, 7, 64, 1000)), 3 * SlidingWindow(length=40)]
FREE = [
    Exponential(half_life=24),
    PowerLaw(power=0.1),
    PowerLaw(power=1),
    0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1),
    SlidingWindow(length=2),
    SlidingWindow(length=64),
]

every_decay = pytest.mark.parametrize("decay", MONOTONE + WINDOWS, ids=repr)


@cache
def fitted(decay, horizon=T):
    return compact(decay, horizon=horizon)


def streamed(c, x, period=1):
    """c(x^period) · x in constant memory, as a stream would: one e for each exponential."""
    rings = np.zeros((period, len(c)))
    out = np.empty(len(x))
    for t, value in enumerate(x):
        e = rings[t % period]
        out[t] = value + c.weights @ e
        rings[t % period] = e - c.fades * e + value
    return out


# Laws ----------------------------------------------------------------------------------------


@every_decay
def test_the_error_factor_is_within_the_loss_of_the_square_roots(decay):
    root = factorization.square_root(decay).error_factor(T)
    assert fitted(decay).error_factor(T) <= (1 + LOSS) * root


@every_decay
def test_one_exponential_less_would_not_do(decay):
    taps = fitted(decay).taps
    if len(taps.fading):
        less = compact(decay, horizon=T, order=len(taps.fading) - 1)
        assert len(less.taps.comb) <= len(taps.comb)
        assert less.error_factor(T) > (1 + LOSS) * factorization.square_root(decay).error_factor(T)


@pytest.mark.parametrize("decay", FREE, ids=repr)
def test_without_a_horizon_the_loss_holds_early_too_and_the_sensitivity_for_ever(decay):
    pair, root = fitted(decay, None), factorization.square_root(decay)
    # a window's fit is that of all its steps at once
    for n in (10, 100, T, 1 << 13) if decay.completely_monotone else (1 << 13,):
        assert pair.error_factor(n) <= (1 + LOSS) * root.error_factor(n)
    assert pair.sensitivity().value <= (1 + LOSS) * root.sensitivity().value


@every_decay
def test_the_inverse_times_the_series_is_one(decay):
    taps = fitted(decay).taps
    for c in (taps.fading, taps.comb):
        one = power_series.multiply(c.first(T), c.inverse().first(T))
        # 1e-15 of Σ |c_k| |1/c|_(n-k) ≤ 2 c_k, and rates right to 1e-16 of 1
        assert_allclose(one, np.arange(T) == 0, atol=1e-14)
        assert np.all(c.inverse().weights <= 0)
        assert np.all(c.inverse().fades < 2)


@every_decay
def test_a_stream_of_constant_memory_applies_the_taps_and_takes_them_off_again(decay):
    taps, x = fitted(decay).taps, np.random.default_rng(1).normal(size=400)
    private = taps.scale * streamed(taps.fading, x)
    private = streamed(taps.comb.inverse(), private, taps.period)
    assert_allclose(private, np.convolve(x, taps.first(400))[:400], atol=1e-12)
    public = streamed(taps.comb, private, taps.period)
    assert_allclose(streamed(taps.fading.inverse(), public) / taps.scale, x, atol=1e-12)


@every_decay
def test_the_pair_multiplies_back_to_the_decay(decay):
    pair, n = fitted(decay), 500
    taps = pair.taps
    comb = np.zeros(n)
    comb[:: taps.period] = taps.comb.first(-(-n // taps.period))
    inverse = np.convolve(comb, taps.fading.inverse().first(n))[:n] / taps.scale
    left = np.convolve(decay.weights(n), inverse)[:n]
    assert_allclose(np.convolve(pair.right(n), left)[:n], decay.weights(n), atol=1e-12)
    assert_allclose(left, pair.left(n), atol=1e-12)


@every_decay
def test_the_left_factor_is_bounded(decay):
    pair = fitted(decay)
    left = pair.left(T)
    assert np.argmax(np.abs(left)) == 0
    if decay.completely_monotone:  # l = (f - positive coefficients · f) / scale
        assert np.all(left <= decay.weights(T) / pair.taps.scale + 1e-15)
    for size in np.split(np.abs(left), [T // 3, 2 * T // 3])[1:]:
        assert np.max(size) <= 0.6 * left[0]  # a window's √g has -½ at its length


@pytest.mark.parametrize("decay", MONOTONE, ids=repr)
def test_the_taps_of_a_completely_monotone_decay_fall_so_repeated_participation_is_exact(decay):
    r = fitted(decay).right(T)
    assert np.all(r >= 0)
    assert np.all(np.diff(r) <= 0)
    assert fitted(decay).sensitivity(participations=3, separation=50).exact


@every_decay
def test_the_energy_is_the_sum_of_all_squares(decay):
    taps = fitted(decay).taps
    # the slowest exponential has gone to e^-40 by then
    rates = [1.0, *taps.fading.fades, *(taps.comb.inverse().fades / taps.period)]
    total = math.fsum(taps.first(int(40 / min(rates)) + taps.period) ** 2)
    assert_allclose(taps.energy(), total, rtol=1e-13)


@pytest.mark.parametrize("decay", [*MONOTONE[::3], SlidingWindow(length=64)], ids=repr)
def test_taps_agree_with_50_digits_to_1e_14(decay):
    taps, last = fitted(decay).taps, T - 1
    with mpmath.workdps(50):

        def exact(n):
            return taps.scale * sum(
                (mpmath.mpf(w) * (1 - mpmath.mpf(q)) ** (n - 1))
                for w, q in zip(taps.fading.weights, taps.fading.fades, strict=True)
            )

        v, nu = taps.comb.inverse().weights, taps.comb.inverse().fades
        for n in (1, 2, 17, 999, last):
            value = exact(n)
            for m in range(1, (n - 1) // taps.period + 1) if len(v) else ():
                tooth = sum(
                    mpmath.mpf(a) * (1 - mpmath.mpf(q)) ** (m - 1)
                    for a, q in zip(v, nu, strict=True)
                )
                value += tooth * exact(n - m * taps.period)
            if len(v) and n % taps.period == 0:
                continue  # c_0 comes to it: the recursion's test has these
            assert_allclose(float(value), taps.first(T)[n], rtol=1e-14, atol=1e-15)


completely_monotone = st.lists(
    st.tuples(
        st.floats(0.01, 1),
        st.one_of(
            st.floats(0.05, 1e5).map(lambda h: Exponential(half_life=h)),
            st.floats(0.02, 6).map(lambda c: PowerLaw(power=c)),
            st.just(NoDecay()),
        ),
    ),
    min_size=1,
    max_size=4,
)


@hypothesis.given(completely_monotone, st.integers(1, 2000), st.sampled_from([0.02, 1e-3, 1e-4]))
@hypothesis.settings(deadline=None, max_examples=10, derandomize=True)
def test_random_mixtures_are_fitted_within_the_loss(terms, n, loss):
    decay = sum((w * part for w, part in terms[1:]), terms[0][0] * terms[0][1])
    pair = compact(decay, horizon=n, loss=loss)
    # 1e-9 for the closed forms
    assert pair.error_factor(n) <= (1 + loss + 1e-9) * factorization.square_root(
        decay
    ).error_factor(n)
    assert_allclose(pair.right(1) * pair.left(1), decay.weights(1), rtol=1e-15)


# Numbers -------------------------------------------------------------------------------------

REFERENCE = [NoDecay(), Exponential.from_alpha(1.01), PowerLaw(power=0.5), PowerLaw(power=1)]
FITTED = {  # error factor over that of √g at 2^20: by nonnegative least squares on a grid of rates
    4: [1.0245, 1.0001, 1.0045, 1.0001],
    8: [1.0003, 1.000001, 1.0001, 1.000003],
    12: [1.000002] * 4,
}


@pytest.mark.parametrize("decay", REFERENCE, ids=repr)
def test_six_exponentials_lose_less_than_0_03_percent_at_2_to_the_14(decay):
    n = 1 << 14
    price = compact(decay, horizon=n, order=6).error_factor(n)
    assert price / factorization.square_root(decay).error_factor(n) < 1.0003


@pytest.mark.slow
@pytest.mark.parametrize("decay", REFERENCE, ids=repr)
def test_a_million_steps_lose_no_more_than_the_reference_fits(decay):
    n = 1 << 20
    root = factorization.square_root(decay).error_factor(n)
    for order, losses in FITTED.items():
        pair = compact(decay, horizon=n, order=order)
        assert pair.taps.memory <= order
        assert pair.error_factor(n) / root <= losses[REFERENCE.index(decay)]
    chosen = compact(decay, horizon=n)
    assert chosen.error_factor(n) / root <= 1 + LOSS
    assert chosen.taps.memory == [7, 3, 5, 2][REFERENCE.index(decay)]


def test_one_ring_buffer_loses_0_14_percent_for_a_window_and_two_a_tenth_of_that():
    decay, n = SlidingWindow(length=256), 1 << 13
    root = factorization.square_root(decay).error_factor(n)
    one = compact(decay, order=8, loss=2e-3)
    assert 0.0012 < one.error_factor(n) / root - 1 < 0.0014
    # 1/C = (1 - .73 y) / (1 - .26 y), about
    assert_allclose(1 - one.taps.comb.fades, [0.73], atol=0.02)
    assert_allclose(1 - one.taps.comb.inverse().fades, [0.26], atol=0.02)
    assert one.taps.memory == 8 + 256
    two = compact(decay, order=8, loss=2e-4)
    assert two.error_factor(n) / root - 1 < 1e-4
    assert two.taps.memory == 8 + 2 * 256


def test_no_rate_is_slower_than_the_exponentials_own():
    for alpha in (1.0001, 1.01, 2):
        taps = compact(Exponential.from_alpha(alpha), order=6).taps
        assert np.all(1 - taps.fading.fades < 1 / alpha)


def test_a_geometric_series_is_known_by_hand():
    # c = (1 - x/4) / (1 - 3x/4) = 1 + x/2 + 3x²/8 + ...
    c = Exponentials([0.5], [0.25])
    assert_allclose(c.first(4), [1, 0.5, 0.375, 0.28125], rtol=1e-15)
    assert_allclose(c.inverse().first(4), [1, -0.5, -0.125, -0.03125], rtol=1e-15)
    assert_allclose(c.over(c).first(9), np.arange(9) == 0, atol=1e-15)
    # Σ c² = 1 + (1/4) / (1 - 9/16) = 11/7
    assert_allclose(CompactTaps(2.0, c).energy(), 4 * 11 / 7, rtol=1e-15)
    # over 1 + y/2 + ..., y = x²: 1/C = 1 - y/2 - y²/8 - ...
    taps = CompactTaps(1.0, c, c, period=2)
    assert_allclose(taps.first(4), [1, 0.5, -0.125, 0.03125], rtol=1e-14)
    assert_allclose(taps.energy(), math.fsum(taps.first(2000) ** 2), rtol=1e-14)


def test_the_last_digits_are_right_however_slow_the_fades():
    # as floats the nodes 1 - q would be wrong by 1e-4 of q
    fades = np.geomspace(1e-12, 0.5, 10)
    c = Exponentials(0.2 * np.sqrt(fades), fades)
    inverse, n = c.inverse(), 1 << 20
    with mpmath.workdps(60):
        w, q = [[mpmath.mpf(x) for x in column] for column in (c.weights, c.fades)]
        for j, (v, nu) in enumerate(zip(inverse.weights, inverse.fades, strict=True)):
            low, high = q[j], q[j + 1] if j + 1 < len(q) else mpmath.mpf(2)
            for _ in range(150):  # Σ ω_i / (ν - q_i) falls from ∞ through 1 between two fades
                middle = (low + high) / 2
                above = sum(a / (middle - b) for a, b in zip(w, q, strict=True)) > 1
                low, high = (middle, high) if above else (low, middle)
            assert abs(nu / low - 1) < 1e-15
            assert abs(-v * sum(a / (low - b) ** 2 for a, b in zip(w, q, strict=True)) - 1) < 2e-15
        tap = sum(a * (1 - b) ** (n - 2) for a, b in zip(w, q, strict=True))
        energy = 1 + sum(
            w[i] * w[j] / (q[i] + q[j] - q[i] * q[j]) for i in range(10) for j in range(10)
        )
    assert_allclose(c.first(n)[-1], float(tap), rtol=1e-14)
    assert_allclose(CompactTaps(1.0, c).energy(), float(energy), rtol=1e-14)


# Edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [SlidingWindow(length=1), CustomDecay([4.0]), PowerLaw(power=90)])
def test_what_fades_at_once_needs_no_exponential(decay):
    pair = compact(decay)
    assert pair.taps.memory == 0
    assert_allclose(pair.right(3), [math.sqrt(decay.weights(1)[0]), 0, 0])
    assert compact(decay, order=4).error_factor(100) == pytest.approx(decay.weights(1)[0])


@pytest.mark.parametrize("horizon", [1, 2, 3, 63, 64, 65, 129])
def test_short_horizons_and_those_about_a_windows_length(horizon):
    decay = SlidingWindow(length=64)
    pair = compact(decay, horizon=horizon)
    root = factorization.square_root(decay).error_factor(horizon)
    assert pair.error_factor(horizon) <= (1 + LOSS) * root
    assert (pair.taps.memory < 64) == (horizon <= 64)


def test_a_horizon_of_a_trillion_steps_is_summed_in_closed_form():
    # counting: ‖√g‖² = (ln n + γ + 4 ln 2)/π + O(1/n), and 13 exponentials come near it
    n = 1 << 40
    right = compact(NoDecay(), horizon=n, order=13).taps.fading
    left = Exponentials([1.0], [0.0]).over(right)  # f = 1 + x/(1-x)
    total = [1.0, 1.0]
    with mpmath.workdps(40):
        for i, c in enumerate((right, left)):
            terms = list(zip(map(mpmath.mpf, c.weights), map(mpmath.mpf, c.fades), strict=True))
            for a, p in terms:
                for b, q in terms:
                    Q = p + q - p * q
                    total[i] += a * b * ((1 - (1 - Q) ** (n - 1)) / Q if Q else n - 1)
    root = (math.log(n) + np.euler_gamma + 4 * math.log(2)) / math.pi
    assert 1 < math.sqrt(total[0] * total[1]) / root < 1.0007


def test_an_exponential_that_never_fades_has_no_energy():
    taps = CompactTaps(1.0, Exponentials([0.1], [0.0]))
    assert_allclose(taps.first(3), [1, 0.1, 0.1])
    with pytest.raises(Diverges, match="infinite"):
        taps.energy()


def test_the_sensitivity_for_ever_is_near_the_limit():
    assert ENDLESS == 1 << 30
    found = compact(PowerLaw(power=1)).sensitivity()
    assert found.exact
    assert_allclose(found.value**2, limit_norms.energy(PowerLaw(power=1)).value, rtol=1e-3)


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "decay",
    [
        CustomDecay([1, 0.5]),
        2 * NoDecay() - Exponential(half_life=1),
        0.5 * SlidingWindow(length=24) + 0.5 * Exponential(half_life=5),
    ],
    ids=repr,
)
def test_a_decay_that_is_not_completely_monotone_is_refused(decay):
    with pytest.raises(InvalidValue, match="decay must be completely monotone or a sliding window"):
        compact(decay, horizon=100)


def test_counting_needs_a_horizon():
    for decay in (NoDecay(), 0.5 * NoDecay() + 0.5 * PowerLaw(power=1)):
        with pytest.raises(Diverges, match="horizon must be given"):
            compact(decay)


def test_bad_arguments_are_refused():
    decay = PowerLaw(power=1)
    with pytest.raises(InvalidType, match="decay must be a decay, got str"):
        compact("weekly")
    with pytest.raises(InvalidType, match="a sum of exponentials needs a built-in decay"):
        compact(HalfHyperbolic(), horizon=10)
    for loss in (0, -1, math.nan, 1e-9):
        with pytest.raises(InvalidValue, match="loss must be"):
            compact(decay, loss=loss)
    with pytest.raises(InvalidValue, match=r"loss must be >= 2.8e-06 with 16 exponentials, got"):
        compact(NoDecay(), horizon=1 << 30, loss=1e-6)
    for order in (-1, 17):
        with pytest.raises(InvalidValue, match="order must be an integer"):
            compact(decay, order=order)
    with pytest.raises(InvalidValue, match="horizon must be an integer"):
        compact(decay, horizon=0)


class HalfHyperbolic(Decay, frozen=True):
    """f_k = 1 / (1 + k/2), by someone else."""

    @property
    def completely_monotone(self):
        return True

    def weights(self, n):
        return 1 / (1 + np.arange(n) / 2)


@pytest.mark.parametrize(
    ("weights", "fades", "error", "text"),
    [
        ([0.1, 0.2], [0.5], InvalidValue, "the same length"),
        ([0.0], [0.5], InvalidValue, "weights must be > 0"),
        ([math.nan], [0.5], InvalidValue, "weights must be > 0"),
        ([0.1], [math.nan], InvalidValue, "fades must rise"),
        ([0.1], [1.0], InvalidValue, "fades must rise"),
        ([0.1], [-0.1], InvalidValue, "fades must rise"),
        ([0.1, 0.1], [0.5, 0.5], InvalidValue, "fades must rise"),
        ([1.5], [0.5], Unstable, r"c\(-1\) must be > 0, got 0"),
        ([0.9, 0.9], [0.1, 0.5], Unstable, r"c\(-1\) must be > 0, got -0.0737"),
    ],
)
def test_taps_without_a_stable_inverse_are_refused(weights, fades, error, text):
    with pytest.raises(error, match=text):
        CompactTaps(1.0, Exponentials(weights, fades))
