"""What is released: unbiased, with the stated covariance, and no more telling than μ allows."""

import math

import numpy as np
import pytest

from hushfade import (
    Exponential,
    FreshNoise,
    Guarantee,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    UnsafeSeededNoise,
)
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian
from tests.gaussian_plans import plan
from tests.mu import COPIES, crossed, many, measure, released

ONE = Guarantee(epsilon=1, delta=1e-6)
SWAP = Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
T = 24
CASES = {
    "exponential": (Exponential(half_life=3), ONE, {}),
    "power": (PowerLaw(power=1), ONE, {}),
    "window": (SlidingWindow(length=5), SWAP, {}),
    "counting": (NoDecay(), ONE, {"horizon": T}),
    "normalized": (NoDecay(), SWAP, {"horizon": T, "method": "normalized"}),
    "unbounded": (NoDecay(), ONE, {"method": "unbounded"}),
    "mixture": (0.5 * Exponential(half_life=2) + 0.5 * PowerLaw(power=2), ONE, {}),
    "twice": (Exponential(half_life=3), Guarantee(1, 1e-6, protects=Person(steps=2, apart=4)), {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_released_error_has_mean_zero_and_the_stated_covariance(case):
    # 300 covariances and 24 means a case, seed fixed, all within 5 standard errors
    decay, guarantee, arguments = case
    found = many(decay, guarantee, 20_000, **arguments)
    rng = np.random.default_rng(5)
    x = rng.integers(0, 30, size=T).astype(float)
    error = released(found, x, 77) - np.convolve(x, decay.weights(T))[:T, None]
    L = found.pair.matrices(T)[0]
    covariance = found.noise_stddev**2 * L @ L.T
    deviations = np.sqrt(np.diag(covariance))
    n = error.shape[1]
    np.testing.assert_allclose(deviations, found.stddevs(T), rtol=1e-9)
    assert np.all(np.abs(error.mean(axis=1)) < 5 * deviations / math.sqrt(n))
    spread = np.sqrt((np.outer(deviations**2, deviations**2) + covariance**2) / n)
    assert np.all(np.abs(error @ error.T / n - covariance) < 5 * spread)


def stream_of(n, at=(), value=1.0):
    x = np.full(n, 3.0)
    for step in at:
        x[step] += value
    return x


TWICE = Guarantee(1, 1e-6, protects=Person(steps=2, apart=4))
THREE = Guarantee(1, 1e-6, protects=Person(steps=2, apart=4, records_per_step=3))
NEIGHBOURS = {
    "exponential, first step": (Exponential(half_life=2), ONE, {}, 40, (0,), 1.0),
    "power, first step": (PowerLaw(power=2), ONE, {}, 40, (0,), 1.0),
    "window, first step": (SlidingWindow(length=2), ONE, {}, 60, (0,), 1.0),
    "counting": (NoDecay(), ONE, {"horizon": 30}, 30, (0,), 1.0),
    "other bounds": (Exponential(half_life=2), ONE, {"low": -3, "high": 2}, 40, (0,), -3.0),
    "twice, four apart": (Exponential(half_life=2), TWICE, {}, 50, (0, 4), 1.0),
    "twice, three at a time": (Exponential(half_life=2), THREE, {}, 50, (0, 4), 3.0),
}


@pytest.mark.parametrize("case", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_the_worst_neighbours_are_told_apart_by_exactly_mu(case):
    decay, guarantee, arguments, n, at, value = case
    found = many(decay, guarantee, **arguments)
    measured = measure(found, stream_of(n), stream_of(n, at, value))
    assert measured.error < 0.007
    assert measured.agrees(guarantee.mu), measured


OTHERS = {
    "exponential, last step": (Exponential(half_life=2), ONE, {}, 40, (39,), 1.0),
    "normalized": (NoDecay(), ONE, {"horizon": 30, "method": "normalized"}, 30, (12,), 1.0),
    "unbounded": (NoDecay(), ONE, {"method": "unbounded"}, 40, (0,), 1.0),
    "replaced by any value, keyed": (Exponential(half_life=2), SWAP, {}, 40, (0,), 1.0),
    "half a record": (Exponential(half_life=2), ONE, {}, 40, (7,), 0.5),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_other_neighbours_are_told_apart_by_no_more(case):
    decay, guarantee, arguments, n, at, value = case
    found = many(decay, guarantee, **arguments)
    measured = measure(found, stream_of(n), stream_of(n, at, value))
    assert not measured.above(guarantee.mu), measured


def test_a_replaced_record_may_move_to_another_key():
    # -1 in one lane and +1 in the next: with √2 in the change, the pair of lanes meets μ exactly
    found = plan(Exponential(half_life=2), SWAP, keys=[str(k) for k in range(2 * 30_000)])
    n = 40
    x = np.full((n, found.grid.lanes), 3.0)
    moved = x.copy()
    moved[0, 0::2] -= 1.0
    moved[0, 1::2] += 1.0
    unit = found.pair.right(n) / np.linalg.norm(found.pair.right(n))
    a = unit @ crossed(found, found.start(UnsafeSeededNoise(1)).run(x))
    b = unit @ crossed(found, found.start(UnsafeSeededNoise(2)).run(moved))
    a, b = a[1::2] - a[0::2], b[1::2] - b[0::2]
    mu = (b.mean() - a.mean()) / math.sqrt((a.var() + b.var()) / 2)
    assert abs(mu - SWAP.mu) < 5 * math.sqrt(2 / len(a))


# Seeded bugs that the μ-test alone must notice; tests/audit has them all, for the whole audit -----


def with_law(sigma_of):
    def run(found, totals, seed):
        stream = found.start(UnsafeSeededNoise(seed))
        stream._engine.law = table(Gaussian(sigma_of(found)))
        return stream.run(np.repeat(np.asarray(totals)[:, None], found.grid.lanes, axis=1))

    return run


def clip_after_sum(found, totals, seed):
    # the step's records are [1, 1, 1] or [1, 1, 1, 40]: the sum is clipped, not the record
    raw = np.where(np.asarray(totals) > 3, 43.0, 3.0)
    return released(found, np.clip(raw, 0, 100), seed)


def redraw(found, totals, seed):
    # a replayed step is drawn again, and both releases are seen
    return (released(found, totals, seed) + released(found, totals, seed + 1)) / 2


def without_first_tap(found):
    taps = found.pair.taps
    norm = math.sqrt(sum(int(tap) ** 2 for tap in taps.integers[1:]))
    return found.sigma * norm / math.ldexp(found.pair.sensitivity().value, taps.bits)


BUGS = {
    "half noise": with_law(lambda found: found.sigma / 2),
    "forgotten norm of R": with_law(lambda found: found.sigma / found.pair.sensitivity().value),
    "off-by-one tap": with_law(without_first_tap),
    "clip after sum": clip_after_sum,
    "redraw on replay": redraw,
    "variance for deviation": with_law(lambda found: math.sqrt(found.sigma)),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_the_mu_test_catches(bug):
    found = many(Exponential(half_life=8), ONE, COPIES, resolution=1.0)
    n = 60
    assert not measure(found, stream_of(n), stream_of(n, (0,))).above(ONE.mu)
    assert measure(found, stream_of(n), stream_of(n, (0,)), bug).above(ONE.mu)


# The float attack -----------------------------------------------------------------------------


def test_floating_point_tells_nothing():
    """'Not a multiple of the grid' certifies x = 0 against 1 for float noise, never for ours."""
    copies = 500_000
    found = plan(NoDecay(), ONE, horizon=1, keys=[str(k) for k in range(copies)])
    units = [released(found, [x], seed)[0] / found.unit for x, seed in ((0.0, 1), (1.0, 2))]
    events = [int(np.count_nonzero(column != np.rint(column))) for column in units]
    assert events == [0, 0]
    # every residue that one input shows the other shows too: low bits carry nothing
    for bits in (1, 3):
        counts = [np.bincount(u.astype(np.int64) & (2**bits - 1), minlength=2**bits) for u in units]
        expected = copies / 2**bits
        for column in counts:
            assert np.all(np.abs(column - expected) < 5 * math.sqrt(expected))
    # the control: float64 noise added to x = 0 and x = 1
    noise = np.random.default_rng(1).normal(size=copies)
    finer = [np.count_nonzero(np.ldexp(x + noise, 53) % 1.0) / copies for x in (0.0, 1.0)]
    assert finer[0] > 0.2
    assert finer[1] == 0.0


def test_fresh_streams_release_different_values():
    found = plan(Exponential(half_life=2), ONE)
    first = found.start(FreshNoise()).run(np.zeros(50))
    again = found.start(FreshNoise()).run(np.zeros(50))
    assert not np.any(first == again)
