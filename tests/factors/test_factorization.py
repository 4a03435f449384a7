import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import (
    Diverges,
    Exponential,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    Unstable,
)
from hushfade.factors import factorization, power_series
from hushfade.factors.taps import IntegerTaps
from hushfade.training.compact_taps import compact
from tests.decays import ALL_DECAYS
from tests.stepped_taps import stepped

T = 200
STABLE = [decay for decay in ALL_DECAYS if not repr(decay).startswith("CustomDecay(values=(0.99")]


def pairs_of(decay):
    yield factorization.square_root(decay)
    yield factorization.normalized(decay, T)
    yield factorization.square_root(decay, T).rounded(10)
    yield stepped(factorization.square_root(decay, T), 10, 0.05)
    yield factorization.normalized(decay, T).rounded(12)
    yield factorization.from_right(decay, [1.0, 0.3, -0.2])
    if decay == NoDecay():
        yield factorization.unbounded_counting(c=0.1, beta=0.7)
        yield factorization.unbounded_counting(expect=50)  # left taps beyond the support, too


PAIRS = [pair for decay in STABLE for pair in pairs_of(decay)]
NAMES = [f"{pair.decay!r}-{type(pair.taps).__name__}-{pair.gain is not None}" for pair in PAIRS]


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_right_times_left_is_the_decay(pair):
    product = power_series.multiply(pair.right(T), pair.left(T))
    assert_allclose(product, pair.decay.weights(T), atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_the_dense_matrices_give_the_decay_the_errors_and_the_sensitivity(pair):
    L, R = pair.matrices(T)
    M = toeplitz(pair.decay.weights(T), np.zeros(T))
    assert_allclose(L @ R, M, atol=1e-11)
    assert_allclose(pair.errors(T), np.linalg.norm(L, axis=1), rtol=1e-12)
    found = pair.sensitivity(T)
    assert found.exact
    assert_allclose(found.value, np.linalg.norm(R, axis=0).max(), rtol=1e-12)
    expected = np.linalg.norm(L, axis=1).max() * np.linalg.norm(R, axis=0).max()
    assert_allclose(pair.error_factor(T), expected, rtol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_the_error_factor_never_falls_with_the_number_of_steps(pair):
    factors = [pair.error_factor(n) for n in [1, 2, 5, 20, 64, 65, 100, 199, 200]]
    assert np.all(np.diff(factors) >= -1e-13)
    assert factors[0] > 0


@pytest.mark.parametrize("decay", STABLE, ids=repr)
def test_normalizing_never_hurts_and_the_square_root_is_symmetric(decay):
    root = factorization.square_root(decay)
    assert_allclose(root.right(T), root.left(T), rtol=0)
    assert factorization.normalized(decay, T).error_factor(T) <= root.error_factor(T) * (1 + 1e-12)


@hypothesis.given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(0.1, 10), st.integers(0, 5)
)
@hypothesis.settings(deadline=None, max_examples=60)
def test_any_right_is_unbiased(tail, first, which):
    # Σ|r_k| < r_0 keeps every zero outside the disk
    scale = 0.9 / max(1.0, sum(abs(tap) for tap in tail))
    right = first * np.array([1.0, *(scale * tap for tap in tail)])
    decay = ALL_DECAYS[which]
    pair = factorization.from_right(decay, right)
    x = np.random.default_rng(which).normal(size=300)
    released = np.convolve(np.convolve(x, pair.right(300))[:300], pair.left(300))[:300]
    truth = np.convolve(x, decay.weights(300))[:300]
    assert_allclose(released, truth, atol=1e-10 * max(1.0, np.abs(truth).max()))


@pytest.mark.parametrize("decay", STABLE, ids=repr)
@pytest.mark.parametrize("bits", [6, 10, 14])
def test_jumps_and_heights_rebuild_the_taps(decay, bits):
    root = factorization.square_root(decay, T)
    for pair in (root.rounded(bits), stepped(root, bits)):
        taps = pair.taps
        assert len(taps.jumps) == len(taps.heights)
        assert taps.heights.dtype == taps.jumps.dtype == np.int64
        rebuilt = np.zeros(taps.support + 1, dtype=np.int64)
        rebuilt[taps.jumps] = taps.heights
        assert np.array_equal(np.cumsum(rebuilt), np.append(taps.integers, 0))
        assert np.all(taps.heights != 0)


@pytest.mark.parametrize("decay", STABLE, ids=repr)
def test_the_energy_of_integer_taps_is_exact(decay):
    taps = factorization.square_root(decay, T).rounded(12).taps
    exact = sum(int(tap) ** 2 for tap in taps.integers)
    assert taps.energy() == exact / 4**12


@pytest.mark.parametrize(
    "decay",
    [Exponential(half_life=24), PowerLaw(power=1), SlidingWindow(length=7), NoDecay()],
    ids=repr,
)
def test_the_left_factor_of_compact_taps_is_the_quotient(decay):
    pair = compact(decay, horizon=3000)
    quotient = power_series.multiply(decay.weights(3000), power_series.inverse(pair.right(3000)))
    assert_allclose(pair.left(3000), quotient, atol=1e-13)
    assert pair.memory == pair.taps.memory


# Numbers -------------------------------------------------------------------------------------

ROOT = {
    NoDecay(): ["3.2726", "3.7139", "5.4790"],
    Exponential.from_alpha(1.01): ["2.1400", "2.1400", "2.1400"],
    Exponential.from_alpha(1.1): ["1.4782", "1.4782", "1.4782"],
    Exponential.from_alpha(2): ["1.0732", "1.0732", "1.0732"],
    PowerLaw(power=0.5): ["1.3544", "1.3587", "1.3627"],
    PowerLaw(power=1): ["1.1081", "1.1081", "1.1081"],
    PowerLaw(power=2): ["1.0191", "1.0191", "1.0191"],
    SlidingWindow(length=16): ["2.1132", "2.1132", "2.1132"],
    SlidingWindow(length=256): ["3.2304", "3.2365", "3.2368"],
}


@pytest.mark.slow
@pytest.mark.parametrize("decay", ROOT, ids=repr)
def test_the_square_roots_error_factors_are_the_reference_ones(decay):
    pair = factorization.square_root(decay)
    assert [f"{pair.error_factor(n):.4f}" for n in (1024, 4096, 1 << 20)] == ROOT[decay]


LEFT_NORM = {
    NoDecay(): "3.0665",
    Exponential.from_alpha(1.01): "2.1400",
    Exponential.from_alpha(1.1): "1.4782",
    Exponential.from_alpha(2): "1.0732",
    PowerLaw(power=0.5): "1.3509",
    PowerLaw(power=1): "1.1080",
    PowerLaw(power=2): "1.0191",
    SlidingWindow(length=16): "2.1131",
    SlidingWindow(length=256): "3.2149",
}


@pytest.mark.parametrize("decay", LEFT_NORM, ids=repr)
def test_column_norms_as_scale_give_the_reference_left_norm_but_a_sensitivity_above_one(decay):
    """docs/decisions/0003: with D = column norms of H, ‖HD‖ alone is not the error factor."""
    a = power_series.square_root(decay.weights(1024))
    H = toeplitz(a, np.zeros(1024))
    D = np.linalg.norm(H, axis=0)
    assert f"{np.linalg.norm(H * D, axis=1).max():.4f}" == LEFT_NORM[decay]
    sensitivity = np.linalg.norm(H / D[:, None], axis=0).max()
    assert sensitivity > 1.0001
    # our pair is as good as that left norm, to 1 %, with the sensitivity counted
    ours = factorization.normalized(decay, 1024).error_factor(1024)
    assert ours <= float(LEFT_NORM[decay]) * 1.011
    assert ours < np.linalg.norm(H * D, axis=1).max() * sensitivity


STEPPED = [  # decay, bits, last tap's lag, jumps, loss in percent; tolerance .12, T = 2^14
    (PowerLaw(power=1), 8, 105, 15, 0.054),
    (PowerLaw(power=1), 10, 403, 24, 0.013),
    (PowerLaw(power=0.5), 10, 6304, 31, 0.15),
    (PowerLaw(power=0.5), 12, 16383, 41, 0.023),
    (PowerLaw(power=2), 8, 12, 8, 0.003),
    (Exponential(half_life=24), 8, 115, 25, 0.048),
    (Exponential(half_life=1000), 10, 4179, 38, 0.098),
    (SlidingWindow(length=64), 8, 1600, 116, 0.095),
    (NoDecay(), 12, 16383, 35, 0.098),
]


@pytest.mark.parametrize(("decay", "bits", "lag", "jumps", "loss"), STEPPED)
def test_stepped_taps_lose_what_the_reference_says(decay, bits, lag, jumps, loss):
    n = 1 << 14
    root = factorization.square_root(decay, n)
    pair = stepped(root, bits)
    assert pair.memory == lag + 1
    assert isinstance(pair.taps, IntegerTaps)
    # the reference counts neither the first tap nor a cut at the horizon
    assert len(pair.taps.jumps) - 1 - (lag == n - 1) == jumps
    found = 100 * (pair.error_factor(n) / root.error_factor(n) - 1)
    assert_allclose(found, loss, rtol=0.1, atol=0.0005)  # half a unit of the printed digits


ROUNDED = [  # decay, bits, T, loss in percent
    (PowerLaw(power=1), 8, 1 << 15, 0.05),
    (PowerLaw(power=2), 8, 1 << 15, 0.003),
    (Exponential.from_alpha(1.01), 8, 1 << 15, 0.03),
    (SlidingWindow(length=64), 8, 1 << 15, 0.04),
    (PowerLaw(power=0.5), 8, 1 << 15, 1.1),
    (NoDecay(), 8, 1 << 15, 0.6),
]


@pytest.mark.parametrize(("decay", "bits", "n", "loss"), ROUNDED)
def test_rounded_taps_lose_what_the_reference_says(decay, bits, n, loss):
    root = factorization.square_root(decay, n)
    found = 100 * (root.rounded(bits).error_factor(n) / root.error_factor(n) - 1)
    half_unit = 0.05 if loss >= 0.1 else 0.005 if loss >= 0.01 else 0.0005
    assert_allclose(found, loss, rtol=0.1, atol=half_unit)
    finer = root.rounded(12).error_factor(n) / root.error_factor(n) - 1
    assert finer <= 1.05e-4


def test_rounded_taps_have_the_reference_support():
    assert factorization.square_root(PowerLaw(power=1)).rounded(8).memory == 109  # lags 0..108
    assert factorization.square_root(Exponential.from_alpha(1.01)).rounded(8).memory == 286


def test_the_infinite_sensitivity_of_taps_is_exact():
    pair = factorization.square_root(Exponential(half_life=24)).rounded(8)
    integers = pair.taps.integers
    assert pair.sensitivity().value ** 2 == pytest.approx(
        sum(int(tap) ** 2 for tap in integers) / 4**8, rel=1e-15
    )
    assert pair.sensitivity().exact
    root = factorization.square_root(Exponential(half_life=24))
    assert_allclose(root.sensitivity().value, root.sensitivity(5000).value, rtol=1e-12)


# Refusals ------------------------------------------------------------------------------------


def test_counting_for_ever_by_the_square_root_is_refused():
    with pytest.raises(Diverges):
        factorization.square_root(NoDecay()).sensitivity()


@pytest.mark.parametrize(
    "right", [[1.0, 3.0], [1.0, 0.0, 1.1], [1.0, -1.5], [1.0, -1.0000001, 0.0]]
)
def test_a_zero_inside_the_disk_is_refused(right):
    with pytest.raises(Unstable, match="no zero inside the unit disk"):
        factorization.from_right(PowerLaw(power=1), right)


def test_a_windows_own_weights_are_accepted_as_right():
    window = factorization.from_right(SlidingWindow(length=6), np.ones(6))
    assert_allclose(window.left(8), [1, 0, 0, 0, 0, 0, 0, 0], atol=1e-12)
    assert_allclose(window.error_factor(100), math.sqrt(6))  # output noise


def test_too_coarse_steps_of_a_window_are_refused():
    root = factorization.square_root(SlidingWindow(length=64))
    with pytest.raises(Unstable):
        stepped(root, 8, 0.25)
    assert stepped(root, 8).memory == 1601
    # a horizon that ends before the growth shows is served
    short = stepped(factorization.square_root(SlidingWindow(length=64), 2000), 8, 0.25)
    assert np.max(np.abs(short.left(2000))) == 1.0


def test_steps_past_the_horizon_are_refused():
    pair = factorization.square_root(NoDecay(), 100)
    for work in (pair.right, pair.left, pair.errors, pair.error_factor, pair.sensitivity):
        with pytest.raises(InvalidValue, match="n must be an integer <= 100, got 101"):
            work(101)


@pytest.mark.parametrize("value", [0, -1, 41, 2.5, "8", None, True])
def test_bad_bits_are_refused(value):
    pair = factorization.square_root(PowerLaw(power=1))
    with pytest.raises((InvalidValue, InvalidType), match=r"^bits must be an integer"):
        pair.rounded(value)


def test_bad_factors_are_refused_by_name():
    with pytest.raises(InvalidType, match="decay must be a decay, got str"):
        factorization.square_root("exponential")
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1"):
        factorization.square_root(NoDecay(), 0)
    with pytest.raises(InvalidType, match="horizon must be an integer"):
        factorization.normalized(NoDecay(), 10.0)
    with pytest.raises(InvalidValue, match=r"right must start with a tap != 0, got 0\.0"):
        factorization.from_right(NoDecay(), [0.0, 1.0])
    with pytest.raises(InvalidValue, match="right must be finite"):
        factorization.from_right(NoDecay(), [1.0, float("nan")])
    with pytest.raises(InvalidValue, match="right must not be empty"):
        factorization.from_right(NoDecay(), [])
    for beta in (0.5, 0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidValue, match=r"^beta must be"):
            factorization.unbounded_counting(c=0.1, beta=beta)
    for c in (0, -1, 1.01, float("nan"), float("inf")):
        with pytest.raises(InvalidValue, match=r"^c must be"):
            factorization.unbounded_counting(c=c, beta=1.0)
    for parameters in ({"c": 0.1}, {"beta": 1.0}, {"expect": 9, "c": 0.1, "beta": 1.0}):
        with pytest.raises(InvalidType, match="either expect or both c and beta must be given"):
            factorization.unbounded_counting(**parameters)
    pair = factorization.square_root(NoDecay())
    for n in (0, -1):
        with pytest.raises(InvalidValue, match="n must be an integer >= 1"):
            pair.errors(n)
    with pytest.raises(InvalidValue, match="participations must be an integer >= 1, got 0"):
        pair.sensitivity(5, participations=0)
    with pytest.raises(InvalidValue, match="separation must be an integer >= 1, got 0"):
        pair.sensitivity(5, separation=0)


def test_a_gain_has_few_places():
    pair = factorization.normalized(NoDecay(), 300)
    for bits, places in ((8, 8), (10, 10), (14, 10)):
        rounded = pair.rounded(bits)
        assert np.all(np.ldexp(rounded.gain, places) % 1 == 0)
        assert np.any(np.ldexp(rounded.gain, places - 1) % 1 != 0)
        assert np.array_equal(rounded.integer_gain, np.ldexp(rounded.gain, bits))
        assert_allclose(rounded.gain, pair.gain, rtol=2.0**-places)
    assert factorization.square_root(NoDecay(), 300).rounded(8).integer_gain is None


def test_a_pair_takes_integers_of_ones_own():
    root = factorization.square_root(Exponential(half_life=3))
    pair = root.with_integers(np.array([4.0, 1.0, 1.0, 0.0]), 2)
    assert pair.right(5).tolist() == [1.0, 0.25, 0.25, 0.0, 0.0]
    assert pair.memory == 3
    with pytest.raises(Unstable, match="no zero inside the unit disk"):
        root.with_integers(np.array([4.0, 9.0]), 2)
    with pytest.raises(Unstable, match="right must stay below 2\\^53"):
        root.with_integers(np.array([1.0, 2.0**53]), 2)


def test_taps_that_a_grid_erases_are_refused():
    with pytest.raises(InvalidValue, match="bits must leave the first tap > 0, got bits = 1"):
        factorization.square_root(0.01 * PowerLaw(power=1)).rounded(1)
