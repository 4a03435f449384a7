"""Plans whose right factor is a single tap: noise on the inputs, and loops that look back less."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    Mixture,
    NoDecay,
    PowerLaw,
    Refused,
    SlidingWindow,
    Stream,
    UnsafeSeededNoise,
    factors,
    plan,
)
from hushfade.crossing.memory import SINGLE
from hushfade.group_sizes import BLOCK, LONG_BLOCK, PERIOD
from hushfade.stream.partition import Mechanism, Part

ONE = Guarantee(epsilon=1, delta=1e-6)
SEEDED = UnsafeSeededNoise(5)
DECAYS = [
    Exponential(half_life=24),
    PowerLaw(power=1),
    SlidingWindow(length=1),
    SlidingWindow(length=7),
    SlidingWindow(length=LONG_BLOCK + BLOCK + 3),  # longer than any block
    CustomDecay([1, 0.5, 0, 0.25]),
    CustomDecay(np.linspace(1, 0, LONG_BLOCK + 9).tolist()),
    Mixture([(0.5, Exponential(half_life=3)), (2.0, SlidingWindow(length=40))]),
]
N = PERIOD + 3 * LONG_BLOCK + 17  # over a renewal, and not in whole blocks


def planned(decay, **arguments):
    found = plan(decay, ONE, method=factors.from_right(decay, [1.0]), **arguments)
    assert found.taps.support == 1
    return found


def crossed(found, stream, x):
    """y = r̃_0 x + z over r̃_0, which is a power of two here: exact in float64."""
    tap = int(found.taps.integers[0])
    assert tap.bit_count() == 1
    return (tap * x + stream._engine.noise(0, len(x))) / tap


def units_for(found, n, seed=1):
    return np.random.default_rng(seed).integers(0, 1000, size=(n, found.grid.lanes))


def one_by_one(stream, units):
    rows = [int(row[0]) if stream.plan.grid.scalar else row for row in units]
    return np.array([np.atleast_1d(stream.step_units(row).value) for row in rows])


def test_releases_are_the_decayed_sums_of_totals_plus_noise():
    for decay in DECAYS:
        found = planned(decay)
        stream, x = found.start(SEEDED), units_for(found, N)
        y = crossed(found, stream, x)[:, 0]
        released = stream.run_units(x)[:, 0] / found.grid.resolution
        f = decay.weights(N)
        expected = np.convolve(y, f)[:N]
        # each of N sums has at most N roundings of its terms; the power law errs by 1e-10 of them
        terms = np.convolve(np.abs(y), np.abs(f))[:N]
        relative = 2e-10 if isinstance(decay, PowerLaw) else N * 2.0**-52
        assert np.all(np.abs(released - expected) <= relative * terms), repr(decay)


def test_windows_and_counts_are_exact():
    for decay in (SlidingWindow(length=7), SlidingWindow(length=300), NoDecay()):
        found = planned(decay, horizon=N)
        stream, x = found.start(SEEDED), units_for(found, N)
        total = np.concatenate([[0], np.cumsum(crossed(found, stream, x))])
        length = N if isinstance(decay, NoDecay) else decay.length
        expected = total[1:] - total[np.maximum(np.arange(1, N + 1) - length, 0)]
        # multiples of one power of two, below 2^53 of them
        released = stream.run_units(x)[:, 0]
        assert_array_equal(released, expected * found.grid.resolution, repr(decay))


def test_steps_blocks_lanes_and_parts_give_the_same_bits():
    cuts = [1, 2, 40, LONG_BLOCK, LONG_BLOCK + 41, PERIOD - 1, PERIOD + 1]
    for decay in DECAYS:
        alone, keyed = planned(decay), planned(decay, keys=["a", "b", "c"])
        x = units_for(alone, N)
        whole = alone.start(SEEDED).run_units(x)
        blocks = alone.start(SEEDED)
        parts = [blocks.run_units(part) for part in np.split(x, cuts)]
        assert_array_equal(np.concatenate(parts), whole, repr(decay))
        assert_array_equal(one_by_one(alone.start(SEEDED), x), whole, repr(decay))

        x = units_for(keyed, N)
        whole = keyed.start(SEEDED).run_units(x)
        assert_array_equal(one_by_one(keyed.start(SEEDED), x), whole, repr(decay))
        mechanism = Mechanism.of(keyed)
        for first, lanes in ((0, 1), (1, 2)):
            columns = slice(first, first + lanes)
            part = Part(mechanism, first=first, lanes=lanes)
            running = part.resumed(SEEDED)
            before = running.run(np.ascontiguousarray(x[:500, columns]))
            after = part.resumed(SEEDED, running.save()).run(np.ascontiguousarray(x[500:, columns]))
            assert_array_equal(np.concatenate([before, after]), whole[:, columns], repr(decay))


def test_a_saved_stream_and_its_traces_continue_with_the_same_bits():
    for decay in DECAYS:
        for keys in (None, ["a", "b"]):
            found = planned(decay, keys=keys)
            x = units_for(found, 700)
            whole = found.start(SEEDED).run_units(x)
            stream = found.start(SEEDED)
            stream.run_units(x[:300])
            saved = stream.save()
            released, traces = [], []
            for row in x[300:310]:
                released.append(one_by_one(stream, [row])[0])
                traces.append(stream.trace())
            again = Stream.load(saved, noise=SEEDED, traces=traces)
            released.extend(again.run_units(x[310:]))
            assert_array_equal(np.array(released), whole[300:], f"{decay!r}, {keys}")


def test_a_trace_after_a_block_has_the_totals_of_its_last_step():
    for steps in (1, BLOCK, BLOCK + 1, LONG_BLOCK, LONG_BLOCK + 1, 1000):
        stream = planned(Exponential(half_life=24)).start(SEEDED)
        x = units_for(stream.plan, steps)
        stream.run_units(x)
        assert stream._engine.last_totals().tolist() == x[-1].tolist(), steps


def general(found):
    """A stream that runs the loops for many taps."""
    stream = found.start(SEEDED)
    stream._engine.memory.integers[SINGLE] = 0
    return stream


def test_states_of_the_loops_for_many_taps_continue():
    for decay in DECAYS:
        for keys in (None, ["a", "b"]):
            found = planned(decay, keys=keys)
            x = units_for(found, N)
            old = general(found)
            before = old.run_units(x[: PERIOD - 100])
            new = Stream.load(old.save(), noise=SEEDED)
            after = np.concatenate(
                [one_by_one(new, x[PERIOD - 100 : PERIOD]), new.run_units(x[PERIOD:])]
            )
            # the quotient by many taps is exact as well: multiples of one power of two
            whole = found.start(SEEDED).run_units(x)
            assert_array_equal(np.concatenate([before, after]), whole, f"{decay!r}, {keys}")


def test_steps_stay_within_a_horizon():
    for horizon in (1, 2, 50):
        found = planned(Exponential(half_life=24), horizon=horizon)
        x = units_for(found, horizon)
        stream = found.start(SEEDED)
        live = one_by_one(stream, x)
        assert_array_equal(live, found.start(SEEDED).run_units(x))
        y = crossed(found, stream, x)[:, 0]
        truth = np.convolve(y, found.decay.weights(horizon))
        # a sum of at most 50 rounded terms
        assert_allclose(live[:, 0] / found.grid.resolution, truth[:horizon], rtol=1e-13)
        try:
            stream.step_units(0)
        except Refused:
            continue
        raise AssertionError(horizon)
