"""The sensitivity when one person appears several times, against a search of all placements."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import CustomDecay, InvalidValue, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import factorization
from hushfade.factors.sensitivity import Sensitivity, forever, once, repeated
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
