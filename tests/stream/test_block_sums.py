"""Streams with block sums: every way to take steps gives the same bits, and sums are exact."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    Stream,
    UnsafeSeededNoise,
    plan,
)
from hushfade.factors import block_sums
from hushfade.public.left_product import left_of, left_product
from hushfade.stream.partition import Mechanism, Part

PURE = Guarantee(epsilon=1, delta=0)
SEEDED = UnsafeSeededNoise(7)
DECAYS = [
    NoDecay(),
    Exponential(half_life=24),
    PowerLaw(power=1),
    SlidingWindow(length=40),
    CustomDecay([1, 0.5, 0, 0.25]),
    Mixture([(0.5, Exponential(half_life=3)), (2.0, SlidingWindow(length=40))]),
]
KEYS = [f"key {i}" for i in range(7)]
N = 700


def planned(decay, **arguments):
    horizon = None if decay.horizon_free else N
    pair = block_sums(decay, depth=3, period=50, horizon=horizon)
    return plan(decay, PURE, method=pair, horizon=horizon, **arguments)


def units_for(found, seed=1):
    return np.random.default_rng(seed).integers(0, 1000, size=(N, found.grid.lanes))


def one_by_one(stream, units):
    rows = [int(row[0]) if stream.plan.grid.scalar else row for row in units]
    return np.array([np.atleast_1d(stream.step_units(row).value) for row in rows])


def test_single_steps_blocks_lanes_and_parts_give_the_same_bits():
    for decay in DECAYS:
        keyed = planned(decay, keys=KEYS)
        units = units_for(keyed)
        whole = keyed.start(SEEDED).run_units(units)
        assert_array_equal(one_by_one(keyed.start(SEEDED), units), whole, err_msg=repr(decay))
        mechanism = Mechanism.of(keyed)
        for first, lanes in ((0, 3), (3, 1), (4, 3)):
            part = Part(mechanism, first, lanes)
            chosen = slice(first, first + lanes)
            running = part.resumed(SEEDED)
            before = running.run(units[:123, chosen])
            again = part.resumed(SEEDED, running.save())
            after = again.run(units[123:, chosen])
            assert_array_equal(np.vstack([before, after]), whole[:, chosen], err_msg=repr(decay))
        single = planned(decay)
        column = units_for(single)
        released = single.start(SEEDED).run_units(column)
        assert_array_equal(one_by_one(single.start(SEEDED), column), released, err_msg=repr(decay))


def test_a_loaded_stream_continues_with_the_same_bits():
    for keys in (None, KEYS):
        for decay in DECAYS:
            found = planned(decay, keys=keys)
            units = units_for(found)
            whole = found.start(SEEDED).run_units(units)
            stream = found.start(SEEDED)
            stream.run_units(units[:260])
            loaded = Stream.load(stream.save(), plan=found, noise=SEEDED)
            assert_array_equal(loaded.run_units(units[260:]), whole[260:], err_msg=repr(decay))


def test_a_state_and_traces_restore_the_stream():
    found = planned(SlidingWindow(length=40))
    stream = found.start(SEEDED)
    for _ in range(49):
        stream.step_units(3)
    saved, traces = stream.save(), []
    for _ in range(4):  # over the end of a period
        stream.step_units(5)
        traces.append(stream.trace())
    loaded = Stream.load(saved, noise=SEEDED, traces=traces)
    whole = found.start(SEEDED).run_units(np.array([3] * 49 + [5] * 4 + [9]))
    assert loaded.step_units(9).value == whole[-1]


def test_a_release_is_the_decayed_sum_and_the_noise_by_dense_matrices():
    for decay in DECAYS:
        found = planned(decay)
        units = units_for(found)
        stream = found.start(SEEDED)
        z = stream._engine.noise(0, N)[:, 0]
        L, R = found.pair.matrices(N)
        expected = L @ (R @ units[:, 0] + z) * found.unit
        released = stream.run_units(units)[:, 0]
        scale = np.max(np.abs(expected))
        assert_allclose(released, expected, atol=1e-9 * scale, err_msg=repr(decay))
        again = np.empty(N)
        left_product(0, R @ units[:, 0] + z, left_of(found), again)
        assert_array_equal(again, released, err_msg=repr(decay))  # public work on what crossed


def test_without_noise_counts_are_exact_to_the_last_bit():
    found = planned(NoDecay(), resolution=1)
    units = units_for(found)
    quiet, loud = np.zeros_like(units), units
    noise = found.start(SEEDED).run_units(quiet)
    assert_array_equal(found.start(SEEDED).run_units(loud) - noise, np.cumsum(units, axis=0))


def test_the_largest_totals_overflow_nothing():
    for decay in (NoDecay(), SlidingWindow(length=40)):
        found = planned(decay, resolution=1)
        most = found.grid.largest_total
        sums = np.convolve(np.ones(N), decay.weights(N))[:N]
        for sign in (1, -1):
            released = found.start(SEEDED).run_units(np.full(N, sign * most))
            assert_allclose(released / most, sign * sums, atol=1e-9 * np.max(sums))


def test_deviations_are_those_of_the_plan_at_any_step():
    for decay in DECAYS:
        found = planned(decay)
        stream = found.start()
        stddevs = [stream.step_units(0).stddev for _ in range(N)]
        assert_allclose(stddevs, found.stddevs(N), rtol=1e-12, err_msg=repr(decay))
