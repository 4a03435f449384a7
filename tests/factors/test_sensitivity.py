"""The sensitivity when one person appears several times, against a search of all placements."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import CustomDecay, Exponential, InvalidValue, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import factorization, sensitivity
from hushfade.factors.sensitivity import (
    Sensitivity,
    exact_sum_of_squares,
    forever,
    largest_column,
    once,
    repeated,
    squared,
)
from hushfade.factors.taps import IntegerTaps
from tests.decays import ALL_DECAYS

STABLE = [decay for decay in ALL_DECAYS if not repr(decay).startswith("CustomDecay(values=(0.99")]


def brute(R, k, b):
    """The largest ‖Σ ±R e_s‖ over all placements, by search."""
    n = R.shape[1]
    best = 0.0

    def grow(total, last, left):
        nonlocal best
        best = max(best, float(np.linalg.norm(total)))
        if left:
            for s in range(0 if last is None else last + b, n):
                for sign in (1.0, -1.0):
                    grow(total + sign * R[:, s], s, left - 1)

    grow(np.zeros(R.shape[0]), None, k)
    return best


@pytest.mark.parametrize("decay", [d for d in STABLE if d.log_convex][:6], ids=repr)
@pytest.mark.parametrize(("k", "b"), [(1, 1), (2, 1), (3, 2), (3, 4)])
def test_repeated_participation_is_exact_for_falling_taps(decay, k, b):
    pair = factorization.square_root(decay)
    found = pair.sensitivity(9, participations=k, separation=b)
    assert found.exact
    assert_allclose(found.value, brute(pair.matrices(9)[1], k, b), rtol=1e-12)


@pytest.mark.parametrize("decay", [SlidingWindow(length=3), CustomDecay([1, 0.2, 0.9])], ids=repr)
@pytest.mark.parametrize(("k", "b"), [(2, 1), (3, 2)])
def test_repeated_participation_is_bounded_for_other_taps(decay, k, b):
    pair = factorization.square_root(decay)
    found = pair.sensitivity(9, participations=k, separation=b)
    truth = brute(pair.matrices(9)[1], k, b)
    assert not found.exact
    assert truth <= found.value * (1 + 1e-12)
    assert found.value <= k * pair.sensitivity(9).value * (1 + 1e-12)


@pytest.mark.parametrize("r", [[1.0, 0.5, 0.5, 0.25, 0.125], [1.0], [3.0, 1.0], [1.0, 0.2, 0.9]])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("b", [1, 2, 3, 5, 7])
def test_for_ever_is_long_enough_a_horizon(r, k, b):
    taps = np.array(r)
    found = forever(taps, k, b)
    value, exact = found.value, found.exact
    columns = np.zeros((len(r) + (k - 1) * b, k))
    for i in range(k):
        columns[i * b : i * b + len(r), i] = taps
    together = np.linalg.norm(columns.sum(axis=1))
    if exact:
        assert_allclose(value, together, rtol=1e-14)
    else:
        assert value >= together * (1 - 1e-14)
    longer = np.concatenate([taps, np.zeros(k * b)])
    assert_allclose(repeated(longer, k, b).value, value, rtol=1e-14)


def test_a_person_may_appear_for_ever():
    taps = np.array([1.0, 0.5, 0.25])  # endlessly many, each step: 1.75 at each
    assert_allclose(forever(taps, 10**12, 1).value, 1.75e6, rtol=1e-11)
    assert_allclose(forever(taps, 10**12, 10**15).value, 1e6 * np.linalg.norm(taps), rtol=1e-15)
    assert repeated(taps, 10**12, 10**15).value == np.linalg.norm(taps)


def test_repeated_participation_with_a_gain_is_bounded():
    pair = factorization.normalized(NoDecay(), 9)
    found = pair.sensitivity(participations=3, separation=2)
    assert not found.exact
    assert brute(pair.matrices(9)[1], 3, 2) <= found.value


def test_a_bound_below_the_truth_would_be_caught():
    # the seeded bug: independent participations would give √k, which falling taps exceed
    pair = factorization.square_root(NoDecay())
    truth = brute(pair.matrices(9)[1], 3, 1)
    assert truth > math.sqrt(3) * pair.sensitivity(9).value * 1.2


def test_no_more_participations_than_fit():
    pair = factorization.square_root(NoDecay())
    many = pair.sensitivity(10, participations=1000, separation=5)
    assert many == pair.sensitivity(10, participations=2, separation=5)


def test_participation_for_ever_needs_taps_that_end():
    root = factorization.square_root(PowerLaw(power=1))
    with pytest.raises(InvalidValue, match="n must be given"):
        root.sensitivity(participations=2)
    found = root.rounded(8).sensitivity(participations=4, separation=30)
    assert found.exact
    assert_allclose(
        found.value, root.rounded(8).sensitivity(5000, participations=4, separation=30).value
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_gain_never_hides_a_column(seed):
    rng = np.random.default_rng(seed)
    n = 40
    r, gain = rng.normal(size=n), np.exp(rng.normal(size=n))
    columns = [np.linalg.norm(gain[s:] * r[: n - s]) for s in range(n)]
    found = once(r, gain)
    assert max(columns) <= found <= max(columns) * (1 + 1e-12)


def test_one_appearance_is_the_norm():
    r = np.array([3.0, -4.0])
    assert repeated(r, 1, 1) == Sensitivity(5.0, exact=True)


FALLING = [[5], [3, 1], [4, 4, 4], [7, 3, 3, 2, 1], [9, 5, 5, 5, 0, 0], [2, 1, 1, 1, 1, 1, 1]]
OTHERS = [[1, 2], [3, -1], [5, 0, 0, 2], [4, -4, 4, 1], [2, 3, 3, 3, -1, -1]]


def columns(r, n, gain=None):
    """R e_s for s < n, as lists of integers."""
    scale = [1] * n if gain is None else gain
    r = [*r, *[0] * n]
    return [[scale[t] * r[t - s] if t >= s else 0 for t in range(n)] for s in range(n)]


def exact_brute(r, n, k, b, gain=None):
    """The largest ‖Σ ±R e_s‖² over all placements and signs."""
    R = columns(r, n, gain)
    best = 0
    for count in range(1, k + 1):
        for places in itertools.combinations(range(n), count):
            if any(after - before < b for before, after in itertools.pairwise(places)):
                continue
            for signs in itertools.product((1, -1), repeat=count - 1):
                total = [
                    sum(sign * R[s][t] for s, sign in zip(places, (1, *signs), strict=True))
                    for t in range(n)
                ]
                best = max(best, sum(value * value for value in total))
    return best


def asked(r, n, k=1, b=1, gain=None):
    integers = None if gain is None else np.array(gain)
    return squared(
        IntegerTaps.of(np.array(r), 3), gain=integers, steps=n, participations=k, separation=b
    )


def test_falling_taps_have_the_exact_sensitivity_within_every_horizon():
    for r in FALLING:
        for n, k, b in itertools.product((1, 2, 5, 8), (1, 2, 3), (1, 2, 3, 7)):
            assert asked(r, n, k, b) == exact_brute(r, n, k, b), (r, n, k, b)


def test_other_taps_have_an_upper_bound_that_is_exact_once():
    for r in OTHERS:
        for n, k, b in itertools.product((1, 2, 5, 8), (1, 2, 3), (1, 2, 3)):
            true = exact_brute(r, n, k, b)
            assert (
                true <= asked(r, n, k, b) <= min(k, 1 + (n - 1) // b) ** 2 * exact_brute(r, n, 1, 1)
            )
            assert asked(r, n, 1, b) == exact_brute(r, n, 1, b)


def test_a_gain_has_the_exact_largest_column_and_an_upper_bound_for_several():
    gain = [3, 1, 4, 1, 5, 9, 2, 6]
    for r in FALLING + OTHERS:
        assert asked(r, 8, gain=gain) == exact_brute(r, 8, 1, 1, gain), r
        for k, b in ((2, 1), (3, 2)):
            assert asked(r, 8, k, b, gain) >= exact_brute(r, 8, k, b, gain), (r, k, b)


def test_a_stream_without_end_is_a_long_horizon():
    for r in FALLING:
        for k, b in itertools.product((1, 2, 3, 6), (1, 2, 3, 9)):
            long = len(r) + k * b + 5
            assert asked(r, None, k, b) == asked(r, long, k, b), (r, k, b)
    assert asked([2, 1], None, 10**18, 1) == 4 + 9 * (10**18 - 1) + 1


def test_integers_and_floats_agree_for_long_taps():
    for decay in (Exponential(half_life=24), SlidingWindow(length=64), CustomDecay([1, 0.5, 0.2])):
        pair = factorization.square_root(decay).rounded(12)
        for k, b in ((1, 1), (2, 3), (7, 1), (50, 40), (1000, 2)):
            exact = pair.squared_sensitivity(participations=k, separation=b)
            plain = pair.sensitivity(participations=k, separation=b).value
            assert_allclose(np.sqrt(float(exact)) / 4096, plain, rtol=1e-11, err_msg=repr(decay))


def test_a_gain_agrees_with_the_product_of_transforms():
    pair = factorization.normalized(NoDecay(), 500).rounded(12)
    exact = pair.squared_sensitivity()
    dense = pair.matrices(500)[1]
    assert_allclose(
        np.sqrt(float(exact)) / 4.0**12, np.linalg.norm(dense, axis=0).max(), rtol=1e-12
    )
    assert np.sqrt(float(exact)) / 4.0**12 <= sensitivity.once(pair.right(500), pair.gain)


def test_integers_beyond_64_bits_are_exact_or_rounded_up():
    huge = [2**52, 2**52 - 1, 3]
    for k, b in ((1, 1), (2, 1), (3, 1)):
        assert asked(huge, 6, k, b) == exact_brute(huge, 6, k, b)
    others = [2**50, 1, 2**51]
    assert asked(others, 6, 3, 1) >= exact_brute(others, 6, 3, 1)
    gain = [2**40, 1, 2**39, 7, 2**40]
    true = exact_brute(huge, 5, 1, 1, gain)
    found = asked(huge, 5, gain=gain)
    assert true <= found <= true + (true * 20 >> 52)


def test_the_largest_taps_are_exact_and_larger_ones_are_refused():
    """Differences of taps near 2^62 would wrap around and make rising taps look like falling."""
    largest = 2**53
    for taps in ([1, -largest, largest, 1], [largest, largest, -largest], [largest, 1]):
        assert asked(taps, 4, 2, 1) >= exact_brute(taps, 4, 2, 1)
    for size in (largest + 1, 2**62, -(2**62), -(2**63)):
        with pytest.raises(InvalidValue, match=r"integers must be at most 2\^53 in size"):
            IntegerTaps.of(np.array([1, size, 1]), 0)


def test_sums_of_squares_are_exact():
    rng = np.random.default_rng(0)
    for size in (1, 10**3, 2**30, 2**61):
        for count in (1, 7, 5000):
            x = rng.integers(-size, size, size=count)
            assert exact_sum_of_squares(x) == sum(value**2 for value in x.tolist())


def test_many_pieces_that_are_not_falling_have_the_plain_bound():
    r = np.arange(6000) % 3 + 1
    taps = IntegerTaps.of(r, 0)
    assert squared(taps, participations=2, separation=5) == 4 * squared(taps)
    assert largest_column(taps, np.ones(6000, dtype=np.int64)) == squared(taps)


def test_a_gain_with_more_places_than_the_taps_is_refused():
    pair = factorization.square_root(NoDecay(), 2).rounded(3)
    factorization.IntegerFactorization(pair.decay, pair.taps, 2, np.array([1.0, 0.125]))
    with pytest.raises(InvalidValue, match="gain must have at most the taps' 3 binary places"):
        factorization.IntegerFactorization(pair.decay, pair.taps, 2, np.array([1.0, 0.0625]))


def test_taps_of_pieces_are_the_taps_of_their_integers():
    for r in (*FALLING, *OTHERS):
        whole = IntegerTaps.of(np.array(r), 3)
        pieces = IntegerTaps(whole.jumps, whole.values, 3)
        assert pieces.support == whole.support
        for steps in (None, 1, 2, 5, 9):
            head = whole.integers[:steps].tolist()
            assert pieces.sum_of_squares(steps) == sum(value**2 for value in head)
        assert "integers" not in vars(pieces)  # nothing was expanded
        assert np.array_equal(pieces.integers, whole.integers)
        assert np.array_equal(pieces.heights, whole.heights)
    for jumps, values in (
        ([0], []), ([1, 2], [3]), ([0, 2, 2], [3, 1]), ([0, 3, 2], [3, 1]), ([0, 1, 2], [3]),
        ([0, 1, 2], [3, 3]), ([0, 1, 2], [3, 0]),
    ):  # fmt: skip
        with pytest.raises(InvalidValue, match=r"jumps must rise|values must change"):
            IntegerTaps(np.array(jumps), np.array(values, dtype=np.int64), 3)
    with pytest.raises(InvalidValue, match="must leave the first tap > 0"):
        IntegerTaps(np.array([0, 1]), np.array([-3]), 3)


def test_many_overlapping_columns_are_summed_in_pieces(monkeypatch):
    for size in (3, 4, 1000):
        monkeypatch.setattr(sensitivity, "_AT_ONCE", size)
        for r, (k, b) in itertools.product(FALLING, [(2, 1), (3, 2), (4, 3), (3, 7)]):
            assert asked(r, 9, k, b) == exact_brute(r, 9, k, b)
