"""Few pieces, and near enough."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import NoDecay, SlidingWindow
from hushfade.factors import factorization
from hushfade.factors.columns import PART
from hushfade.planning import piecewise_taps
from tests.decays import ALL_DECAYS
from tests.stepped_taps import starts_within

STABLE = [d for d in ALL_DECAYS if not repr(d).startswith("CustomDecay(values=(0.99")]
N = 600


def count(column):
    """Jumps, the last one to zero included."""
    return np.count_nonzero(np.diff(column, prepend=0.0, append=0.0))


def distance(r, beyond, column, bits):
    met = np.zeros(len(r))
    met[: len(column)] = np.ldexp(column, -bits)
    return float(np.sum((met - r) ** 2)) + beyond


def brute(r, beyond, end, number, bits):
    """The least distance of that many rounded pieces up to `end`, by all ways to cut."""
    return min(
        distance(r, beyond, piecewise_taps.merged(r[:end], np.array([0, *inner]), bits), bits)
        for inner in itertools.combinations(range(1, end), number - 1)
    )


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", STABLE, ids=repr)
@pytest.mark.parametrize("share", [1e-2, 1e-3, 1e-5])
def test_the_pieces_keep_the_distance(decay, share):
    r = decay.root(N)
    allowed = share * float(r @ r)
    landscape = piecewise_taps.Landscape.of(r, 0.0, allowed)
    bits = landscape.places(allowed / 10)
    found = landscape.fewest(allowed, bits)
    assert np.all(found == np.rint(found))
    assert distance(r, 0.0, found, bits) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("decay", STABLE, ids=repr)
@pytest.mark.parametrize("tolerance", [0.06, 0.12])
def test_a_tolerance_takes_more_pieces_for_the_same_distance(decay, tolerance):
    r, bits = decay.root(N), 20
    plain = piecewise_taps.merged(r, starts_within(r, tolerance), bits)
    allowed = distance(r, 0.0, plain, bits) + 1e-9
    found = piecewise_taps.Landscape.of(r, 0.0, allowed).fewest(allowed, bits)
    # the toll leaves a gap where two numbers of pieces are far apart in distance: one more
    assert count(found) <= count(plain) + 1


@pytest.mark.parametrize("seed", range(12))
def test_no_other_pieces_of_their_number_and_end_are_nearer(seed):
    rng = np.random.default_rng(seed)
    r = np.append(1.0, np.sort(rng.random(8))[::-1] * rng.choice([1.0, -1.0]))
    beyond, bits = float(rng.choice([0.0, 0.01])), 6
    for allowed in (0.3, 0.1, 0.03):
        found = piecewise_taps.Landscape.of(r, beyond, allowed).fewest(allowed, bits)
        number, end = np.count_nonzero(np.diff(found, prepend=np.nan)), len(found)
        nearest = brute(r, beyond, end, number, bits)
        assert_allclose(distance(r, beyond, found, bits), nearest, rtol=1e-9)


@pytest.mark.parametrize("decay", STABLE, ids=repr)
def test_the_loss_is_about_the_distance(decay):
    """The claim of the module: the error factor of r + δ is ‖r‖² + ‖δ‖², up to a third of ‖δ‖²."""
    n = 4096 if decay.horizon_free else N
    pair = factorization.square_root(decay, n)
    r = pair.right(n)
    energy = float(r @ r)
    found = piecewise_taps.Landscape.of(r, 0.0, 1e-3 * energy).fewest(1e-3 * energy, bits=24)
    near = distance(r, 0.0, found, 24) / energy
    if near > 1e-6:
        loss = pair.with_integers(found, 24).error_factor(n) / pair.error_factor(n) - 1
        assert 0.65 * near < loss < 1.35 * near


@pytest.mark.parametrize("decay", STABLE, ids=repr)
def test_rounding_takes_what_it_was_given(decay):
    r = decay.root(N)
    allowed = 1e-3 * float(r @ r)
    landscape = piecewise_taps.Landscape.of(r, 0.0, allowed)
    bits = landscape.places(allowed)
    # over all taps that are kept, an independent error of each at most half a unit
    kept = np.cumsum((r**2)[::-1])[::-1] > allowed
    assert np.count_nonzero(kept) / 12 * 4.0**-bits <= allowed


# Numbers -------------------------------------------------------------------------------------


def test_counting_takes_as_many_pieces_as_the_continuum_says():
    # J pieces of r err by (Σ |r'|^(2/3))³ / 12 J²
    n = 1 << 15
    r = NoDecay().root(n)
    allowed = 1e-3 * float(r @ r)
    expected = math.sqrt(np.sum(np.abs(np.diff(r)) ** (2 / 3)) ** 3 / (12 * allowed))
    found = count(piecewise_taps.Landscape.of(r, 0.0, allowed).fewest(allowed, bits=20))
    assert 0.6 * expected < found < expected


def test_a_window_takes_a_few_of_its_lengths():
    r = SlidingWindow(length=64).root(1 << 13)
    allowed = 1e-3 * float(r @ r)
    found = piecewise_taps.Landscape.of(r, 0.0, allowed).fewest(allowed, bits=10)
    assert count(found) < 60
    assert 5 * 64 < len(found) < 9 * 64


def test_pieces_by_a_tolerance():
    r = np.array([1.0, 0.95, 0.85, 0.8, 0.1])
    assert starts_within(r, 0.1).tolist() == [0, 2, 4]
    assert piecewise_taps.merged(r, np.array([0, 2, 4]), 10).tolist() == [998, 998, 845, 845, 102]


# Edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [[1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, -1.0]])
def test_short_and_constant_columns(r):
    column = np.array(r)
    found = piecewise_taps.Landscape.of(column, 0.0, 1e-6).fewest(1e-6, bits=4)
    met = np.zeros(len(r))
    met[: len(found)] = found
    assert_allclose(met, 16 * column, rtol=0)


def test_a_distance_that_cannot_be_kept_is_come_near_to():
    r = NoDecay().root(50)
    landscape = piecewise_taps.Landscape.of(r, 0.5, 1e-3)
    found = landscape.fewest(1e-3, bits=12)  # 0.5 is left out anyway
    assert distance(r, 0.5, found, 12) < 0.5 + 1e-5


def test_bits_are_bounded():
    landscape = piecewise_taps.Landscape.of(np.ones(10), 0.0, 1e-3)
    assert landscape.places(1e-40) == 40
    assert landscape.places(1e3) == 0


def test_of_equal_choices_the_first_is_taken_whatever_was_rounded():
    """Pieces that err equally: noise in the last bits does not choose between them."""
    steps = np.repeat([1.0, 0.5, 0.25], 8)
    tie = np.array([1.0, 0.75, 0.5, 0.25])  # joined pairs err the same, and 0.625 · 4 is a half
    for r, bits in ((steps, 6), (tie, 2), (np.linspace(1.0, 0.25, 25), 5)):
        allowed = 0.02 * float(r @ r)
        expected = piecewise_taps.Landscape.of(r, 0.0, allowed).fewest(allowed, bits)
        for seed in range(20):
            noise = 1 + 2.0**-52 * np.random.default_rng(seed).integers(-3, 4, len(r))
            landscape = piecewise_taps.Landscape.of(r * noise, 0.0, allowed)
            assert landscape.fewest(allowed, bits).tolist() == expected.tolist(), seed


def test_places_above_a_limit_are_counted_from_the_end():
    for n in (1, 2, PART - 1, PART, PART + 1, 3 * PART + 17):
        x = np.random.default_rng(n).normal(size=n)
        rests = 0.25 + np.cumsum((x * x)[::-1])[::-1]
        for place in {0, n // 3, n - 1}:
            limit = float(rests[place]) * (1 - 1e-9)  # only just below the rest at this place
            assert piecewise_taps._places_above(x, 0.25, limit) == place + 1, (n, place)


def test_no_place_is_above_a_large_limit():
    assert piecewise_taps._places_above(np.ones(5), 1.0, 6.0) == 0
    assert piecewise_taps._places_above(np.zeros(5), 1.0, 0.5) == 5
