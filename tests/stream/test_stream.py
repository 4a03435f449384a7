import json
import os
import pickle
from fractions import Fraction
from threading import Thread

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    Exponential,
    Guarantee,
    HushfadeError,
    InvalidType,
    InvalidValue,
    KeyedNoise,
    NoDecay,
    PowerLaw,
    Refused,
    SlidingWindow,
    Stream,
    UnsafeSeededNoise,
)
from hushfade.crossing.sampling_tables import table
from hushfade.group_sizes import PERIOD as RENEW
from hushfade.laws import Gaussian
from hushfade.stream import binary_container as container
from hushfade.stream import saved_state
from tests.gaussian_plans import plan
from tests.planning.test_noise_scale import redigested
from tests.planning.test_plan import ONE, PLANS

SEEDED = UnsafeSeededNoise(11)


def totals_for(found, n, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n,) if found.grid.scalar else (n, found.grid.lanes)
    return rng.integers(-40, 60, size=shape).astype(float)


def exact(found, x):
    """y = R x + z and s = L y by long integers and plain convolution, from the definition."""
    x = x.reshape(len(x), -1)
    n = len(x)
    taps = found.pair.taps
    gain = np.ones(n) if found.pair.gain is None else found.pair.gain[:n]
    scaled = np.ldexp(gain, taps.bits).astype(int) if found.pair.gain is not None else [1] * n
    z = SEEDED.bound(found.digest).draws(table(Gaussian(found.sigma)), 0, *x.shape)
    left = found.pair.left(n)
    out = np.empty_like(x)
    for lane in range(x.shape[1]):
        units = [round(value / found.grid.resolution) for value in x[:, lane]]
        y = []
        for t in range(n):
            v = sum(int(taps.integers[k]) * units[t - k] for k in range(min(t + 1, taps.support)))
            y.append((scaled[t] * v + int(z[t, lane])) / scaled[t])
        # left is g / r̃ with r̃ in units, so y counts resolution · 2^-bits
        out[:, lane] = np.convolve(y, left)[:n] * found.grid.resolution * 2.0**-taps.bits
    return out


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_the_stream_is_the_definition(found):
    n = 120
    x = totals_for(found, n)
    released = found.start(SEEDED).run(x)
    expected = exact(found, x).reshape(released.shape)
    assert_allclose(released, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_any_split_gives_the_same_bits(found):
    n = 180
    x = totals_for(found, n)
    whole = found.start(SEEDED).run(x)
    stream = found.start(SEEDED)
    parts = [stream.run(x[:1]), stream.run(x[1:66])]
    parts += [
        np.atleast_1d(stream.step_total(row).value).reshape(1, *x.shape[1:]) for row in x[66:80]
    ]
    parts.append(stream.run(x[80:]))
    assert np.array_equal(np.concatenate(parts), whole)
    assert stream.steps == n


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_a_saved_stream_goes_on_with_the_same_bits(found):
    x = totals_for(found, 150)
    whole = found.start(SEEDED).run(x)
    stream = found.start(SEEDED)
    stream.run(x[:70])
    again = Stream.load(stream.save(), plan=found, noise=SEEDED)
    assert np.array_equal(again.run(x[70:]), whole[70:])


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_a_state_and_the_traces_since_are_the_stream(found):
    x = totals_for(found, 150)
    whole = found.start(SEEDED).run(x)
    stream = found.start(SEEDED)
    stream.run(x[:70])
    data, traces = stream.save(), []
    for row in x[70:75]:
        stream.step_total(row)
        traces.append(stream.trace())
    again = Stream.load(data, plan=found, noise=SEEDED, traces=traces)
    assert again.save() == stream.save()
    assert np.array_equal(again.run(x[75:]), whole[75:])


@hypothesis.given(st.lists(st.integers(1, 90), min_size=1, max_size=8), st.integers(0, 3))
@hypothesis.settings(deadline=None, max_examples=25)
def test_every_split_gives_the_same_bits(lengths, which):
    found = PLANS[which]
    x = totals_for(found, sum(lengths), seed=which)
    stream = found.start(SEEDED)
    parts = [stream.run(part) for part in np.split(x, np.cumsum(lengths)[:-1])]
    assert np.array_equal(np.concatenate(parts), found.start(SEEDED).run(x))


@pytest.mark.parametrize(
    "decay", [Exponential(half_life=24), PowerLaw(power=1), SlidingWindow(length=7)], ids=repr
)
def test_nothing_drifts_over_renewals(decay):
    # without noise's help: the released minus L z is the true sum, after 5 renewals
    found = plan(decay, ONE)
    n = 5 * RENEW + 100
    x = totals_for(found, n)
    quiet = found.start(SEEDED).run(x) - found.start(SEEDED).run(np.zeros(n))
    truth = np.convolve(x, decay.weights(n))[:n]
    assert_allclose(quiet, truth, atol=1e-6)


def test_one_lane_and_many_give_the_same_bits():
    keyed = plan(PowerLaw(power=1), ONE, keys=["a", "b", "c"])
    x = totals_for(keyed, 2 * RENEW + 10)
    many = keyed.start(SEEDED).run(x)
    # lane 0 of many, fed the same noise, by the one-lane code
    from hushfade.crossing import memory
    from hushfade.crossing.step import advance_block

    z = SEEDED.bound(keyed.digest).draws(table(Gaussian(keyed.sigma)), 0, *x.shape)
    alone = plan(PowerLaw(power=1), ONE, keys=["a"])
    assert alone.sigma == keyed.sigma
    out = np.empty(len(x))
    units = (x[:, 0] / keyed.grid.resolution).astype(np.int64)
    advance_block(0, units, np.ascontiguousarray(z[:, 0]), *memory.blank(alone), out)
    assert np.array_equal(out, many[:, 0])


# Records -------------------------------------------------------------------------------------


def pair_of(**arguments):
    found = plan(Exponential(half_life=5), ONE, **arguments)
    return found.start(SEEDED), found.start(SEEDED)


def test_each_record_is_clipped_before_the_sum():
    a, b = pair_of(low=0, high=1)
    assert a.step([5, -3, 0.5, 1]).value == b.step_total(2.5).value
    assert a.step(7).value == b.step_total(1).value
    assert a.step([]).value == b.step_total(0).value
    assert a.step().value == b.step_total(0).value
    assert a.step(np.array([0.25, 0.25], dtype=np.float32)).value == b.step_total(0.5).value


def test_records_are_put_on_the_grid():
    a, b = pair_of(low=0, high=1, resolution=0.25)
    assert a.step([0.3, 0.4, 0.6]).value == b.step_total(0.25 + 0.5 + 0.5).value
    assert a.plan.quantise([0.3, 9, 0.375]).tolist() == [0.25, 1.0, 0.5]


def test_keys_are_read_by_name():
    a, b = pair_of(keys=["at", "ch", "de"])
    first = a.step({"ch": [1, 0.5], "at": 4})
    assert np.array_equal(first.value, b.step_total([1, 1.5, 0]).value)
    assert first.by_key()["ch"] == first.value[1]
    assert np.array_equal(a.step({}).value, b.step_total({"de": 0}).value)


def test_vectors_are_clipped_to_their_norm():
    found = plan(Exponential(half_life=5), ONE, width=2, norm=5.0, resolution=1.0)
    a, b = found.start(SEEDED), found.start(SEEDED)
    assert np.array_equal(a.step([[30.0, 40.0], [1.0, 2.0]]).value, b.step_total([4, 6]).value)
    assert np.array_equal(a.step([0.0, 0.0]).value, b.step_total([0, 0]).value)
    assert np.array_equal(a.step(np.empty((0, 2))).value, b.step_total([0, 0]).value)
    huge = np.array([[1e308, 1e308]])
    assert np.array_equal(a.step(huge).value, b.step_total([3, 3]).value)


@hypothesis.example([1e308, 1e308, -1e308])
@hypothesis.example([0.0, 0.0, 5e-324])
@hypothesis.example([1.4433756729740645] * 3)
@hypothesis.given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
)
@hypothesis.settings(deadline=None)
def test_no_vector_exceeds_its_norm_on_the_grid(vector):
    found = plan(Exponential(half_life=5), ONE, width=3, norm=2.5)
    units = found.grid.record_sums([vector]).tolist()
    assert sum(unit * unit for unit in units) <= found.grid.norm_unit**2


def test_quantised_vectors_have_their_norm():
    found = plan(Exponential(half_life=5), ONE, width=3, norm=1.0)
    rows = found.quantise([[1.0, 1.0, 1.0], [0.5, 0.0, 0.0]])
    assert np.all(np.linalg.norm(rows, axis=1) <= 1.0)
    a, b = found.start(SEEDED), found.start(SEEDED)
    by_total = a.step_total(rows.sum(axis=0)).value
    assert np.array_equal(by_total, b.step([[1.0, 1.0, 1.0], [0.5, 0.0, 0.0]]).value)


def test_a_release_says_its_step_and_error():
    found = plan(Exponential(half_life=5), ONE)
    stream = found.start()
    for step in range(1, 6):
        release = stream.step(1)
        assert release.step == step
        assert_allclose(release.stddev, found.stddev(step), rtol=1e-12)
    assert stream.steps == 5
    assert "Stream(steps=5" in repr(stream)


def test_the_error_is_known_beyond_the_first_table():
    found = plan(NoDecay(), ONE, horizon=5000)
    stream = found.start()
    stream.run(np.zeros(4900))
    assert_allclose(stream.step_total(0).stddev, found.stddev(4901), rtol=1e-12)
    endless = plan(Exponential(half_life=5), ONE).start()
    endless.run(np.zeros(10_000))
    assert_allclose(endless.step_total(0).stddev, endless.plan.stddev(9000), rtol=1e-9)


# Refusals ------------------------------------------------------------------------------------

SECRET = 8675309.25
BAD_RECORDS = [
    float("nan"), float("inf"), -float("inf"), [SECRET, float("nan")], "1", b"1", None, 1j, True,
    [[SECRET]], [1, "2"], [None], {"a": 1}, object(), np.array(["1"]), [[1], [2, 3]],
    np.datetime64("2020-01-01"), np.array([True]), [10**400],
]  # fmt: skip
BAD_TOTALS = [
    float("nan"), float("inf"), "1", None, 1j, True, 0.3, 1e300, 10**400, -(10**30), [1.0],
    {"a": 1}, SECRET + 1e-7,
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_RECORDS, ids=lambda bad: str(type(bad).__name__))
def test_bad_records_are_refused_and_change_nothing(bad):
    stream = plan(Exponential(half_life=5), ONE).start()
    stream.step(1)
    before = stream.save()
    with pytest.raises(HushfadeError) as caught:
        stream.step(bad)
    assert stream.save() == before
    assert "8675309" not in str(caught.value)
    assert stream.step(1).step == 2


@pytest.mark.parametrize("bad", BAD_TOTALS, ids=lambda bad: str(type(bad).__name__))
def test_bad_totals_are_refused_and_change_nothing(bad):
    stream = plan(Exponential(half_life=5), ONE).start()
    before = stream.save()
    with pytest.raises(HushfadeError) as caught:
        stream.step_total(bad)
    if not isinstance(bad, list):
        with pytest.raises(HushfadeError):
            stream.run([bad])
    assert stream.save() == before
    assert "8675309" not in str(caught.value)


def test_wrong_shapes_and_keys_are_refused():
    keyed = plan(Exponential(half_life=5), ONE, keys=["a", "b"]).start()
    before = keyed.save()
    for bad in ({"c": 1}, {"a": float("nan")}, {"a": [1], "z": [2]}, [1, 2], 3):
        with pytest.raises(HushfadeError) as caught:
            keyed.step(bad)
        assert "'c'" not in str(caught.value)
    for bad in ([1, 2, 3], [1], 5, {"q": 1}, [[1, 2]]):
        with pytest.raises(HushfadeError):
            keyed.step_total(bad)
    for bad in (np.zeros(4), np.zeros((4, 3)), np.zeros((2, 2, 2)), [["a", "b"]]):
        with pytest.raises(HushfadeError):
            keyed.run(bad)
    assert keyed.save() == before
    vectors = plan(Exponential(half_life=5), ONE, width=3, norm=1.0).start()
    for bad in (np.zeros((2, 2)), np.zeros(2), [[1, 2, float("inf")]], 5):
        with pytest.raises(HushfadeError):
            vectors.step(bad)
    for bad in ([1e308, 0.25, 0.0], [float("-inf"), 1e308, 0.0]):  # nor do they overflow
        with pytest.raises(HushfadeError):
            vectors.step_total(bad)


@pytest.mark.parametrize("high", [1e200, 1e300])
def test_whole_totals_on_a_grid_beyond_integers(high):
    stream = plan(Exponential(half_life=5), ONE, low=-high, high=high).start()
    assert stream.run(np.array([0])).shape == (1,)
    with pytest.raises(InvalidValue, match="multiples of the resolution"):
        stream.run(np.array([1]))


def test_totals_that_int64_could_not_carry_are_refused():
    found = plan(Exponential(half_life=5), ONE)
    largest = found.grid.largest_total * found.grid.resolution
    stream = found.start()
    stream.step_total(largest)
    stream.step_total(-largest)
    with pytest.raises(InvalidValue, match="at most the plan's largest_total"):
        stream.step_total(2 * largest)
    # the extreme run stays inside int64: the released value has the right size
    stream.run(np.full(400, largest))
    assert abs(stream.step_total(largest).value / (largest * 7.73) - 1) < 0.01


def test_large_integers_are_not_rounded():
    found = plan(Exponential(half_life=5), ONE, low=0, high=4096, resolution=4.0)
    large = int(found.grid.largest_total * 4)
    assert found.grid.total(large) == found.grid.largest_total
    with pytest.raises(InvalidValue, match="multiples of the resolution"):
        found.start().step_total(large - 1)
    with pytest.raises(InvalidValue, match="multiples of the resolution"):
        found.start().run(np.array([large - 1]))


def test_unsigned_totals_do_not_wrap():
    found = plan(SlidingWindow(length=1), ONE, high=2.0**22, resolution=2.0**12)
    for wrapped in (2**63, 2**63 - 2**12, 2**64 - 2**12):
        with pytest.raises(InvalidValue, match="at most the plan's largest_total"):
            found.start().run(np.array([wrapped], dtype=np.uint64))


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.longdouble])
def test_only_float64_totals_are_exact_enough(kind):
    stream = plan(Exponential(half_life=5), ONE).start()
    with pytest.raises(InvalidType, match="shorter floats do not sum exactly"):
        stream.run(np.ones(3, dtype=kind))
    with pytest.raises(InvalidType, match="total must be an int or a float"):
        stream.step_total(kind(1))
    with pytest.raises(InvalidType, match="total must be an int or a float"):
        stream.step_total(Fraction(1, 2))
    assert stream.steps == 0


def test_masked_records_are_refused():
    masked = np.ma.array([0.25, 1e20], mask=[False, True])
    stream = plan(Exponential(half_life=5), ONE).start()
    for work in (stream.step, stream.run):
        with pytest.raises(InvalidType, match="must not be masked"):
            work(masked)


@pytest.mark.parametrize("nothing", [(), [], np.array([])])
def test_an_empty_step_can_be_closed_by_every_stream(nothing):
    for arguments in ({}, {"keys": ["a", "b"]}, {"width": 3, "norm": 1.0}):
        a, b = pair_of(**arguments)
        zeros = 0 if not arguments else np.zeros(a.plan.grid.lanes)
        assert np.array_equal(a.step(nothing).value, b.step_total(zeros).value)


def test_a_foreign_objects_own_error_does_not_leak():
    class Telling:
        def __array__(self, *_, **__):
            raise RuntimeError(f"the value is {SECRET}")

    with pytest.raises(InvalidType) as caught:
        plan(Exponential(half_life=5), ONE).start().step(Telling())
    assert caught.value.__cause__ is None
    assert "8675309" not in str(caught.value)


def test_what_fails_before_the_draw_takes_nothing():
    stream = plan(Exponential(half_life=5), ONE).start()
    stream.step(1)
    before = stream.save()
    drawer = stream._engine.drawer

    class Failing:
        def draws(self, *_, **__):
            raise MemoryError

    stream._engine.drawer = Failing()
    with pytest.raises(MemoryError):
        stream.run([1, 1])
    stream._engine.drawer = drawer
    assert stream.save() == before
    assert stream.step(1).step == 2


def test_errors_cost_constant_memory_and_are_the_plans():
    for decay in (PowerLaw(power=0.5), SlidingWindow(length=7)):
        found = plan(decay, ONE)
        stream = found.start()
        stream.run(np.zeros(3000))
        assert_allclose(stream.step(0).stddev, found.stddev(3001), rtol=1e-9)
        again = Stream.load(stream.save())
        assert_allclose(again.step(0).stddev, found.stddev(3002), rtol=1e-9)


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_rounding_stays_far_below_the_error_at_the_largest_totals(share):
    for decay, arguments in ((SlidingWindow(length=64), {}), (NoDecay(), {"horizon": 3000})):
        found = plan(decay, ONE, resolution=1.0, **arguments)
        x = np.full(3000, float(int(found.grid.largest_total * share)))
        x[::7] = 0.0
        quiet = found.start(SEEDED).run(x) - found.start(SEEDED).run(np.zeros(3000))
        truth = np.array([float(s) for s in exact_sums(decay, x)])
        spacing = np.spacing(np.abs(truth).max())  # the released float64 itself
        assert np.max(np.abs(quiet - truth)) < 0.2 * found.max_stddev(3000) + 4 * spacing


def exact_sums(decay, x):
    length = decay.length if isinstance(decay, SlidingWindow) else len(x)
    units = [int(value) for value in x]
    total = 0
    for t, unit in enumerate(units):
        total += unit - (units[t - length] if t >= length else 0)
        yield total


def test_a_step_past_the_horizon_is_refused():
    stream = plan(NoDecay(), ONE, horizon=3).start()
    stream.run([1, 1])
    before = stream.save()
    with pytest.raises(Refused, match="horizon 3"):
        stream.run([1, 1])
    assert stream.save() == before
    stream.step(1)
    with pytest.raises(Refused, match="horizon 3"):
        stream.step(1)


def test_an_older_state_is_refused():
    found = plan(Exponential(half_life=5), ONE)
    stream = found.start()
    stream.step(1)
    old = stream.save()
    stream.step(1)
    with pytest.raises(Refused, match="older than the last released step"):
        Stream.load(old)
    assert Stream.load(stream.save()).steps == 2


def test_traces_are_of_the_same_stream_and_follow_its_state():
    found = plan(Exponential(half_life=5), ONE, horizon=4)
    stream, other = found.start(), found.start()
    other.step(1)
    stream.step(1)
    data, traces = stream.save(), []
    for _ in range(3):
        stream.step(1)
        traces.append(stream.trace())
    for wrong in (traces[1:], traces[::-1], [*traces, traces[-1]], traces[:1] * 2):
        with pytest.raises(Refused, match="each once, in order"):
            Stream.load(data, traces=wrong)
    for wrong in (other.trace(), stream.plan.start(SEEDED).save(), traces[0][:-1], b"", "text"):
        with pytest.raises(Refused, match="a trace"):
            Stream.load(data, traces=[wrong])
    for at in range(len(traces[0])):
        changed = bytearray(traces[0])
        changed[at] ^= 1
        with pytest.raises(Refused):
            Stream.load(data, traces=[bytes(changed), *traces[1:]])
    with pytest.raises(Refused, match="older than the last released step"):
        Stream.load(data, traces=traces[:2])
    assert Stream.load(data, traces=traces).steps == 4


def test_a_copy_traces_only_what_it_has_taken_itself():
    stream = plan(Exponential(half_life=5), ONE).start()
    with pytest.raises(Refused, match="a trace must be of a step"):
        stream.trace()
    stream.step(1)
    data, trace = stream.save(), stream.trace()
    again = Stream.load(data)
    with pytest.raises(Refused, match="a trace must be of a step"):
        again.trace()  # its noise was drawn with a key that this copy does not have
    again.step(1)
    assert again.trace() != trace


def test_traces_beyond_the_horizon_are_refused():
    stream = plan(Exponential(half_life=5), ONE, horizon=1).start()
    data = stream.save()
    stream.step(1)
    forged = saved_state.packed_trace(stream._identity, 2, np.array([1]), np.array([1]))
    with pytest.raises(Refused, match="horizon"):
        Stream.load(data, traces=[stream.trace(), forged])


def test_two_copies_of_one_state_may_not_both_go_on():
    stream = plan(Exponential(half_life=5), ONE).start()
    stream.step(1)
    data = stream.save()
    first, second = Stream.load(data), Stream.load(data)
    first.step(1)
    for late in (second, stream):
        with pytest.raises(Refused, match="another copy of this stream"):
            late.step(1)
    assert first.step(1).step == 3


def repacked(data, magic, kinds, change):
    """A saved container whose header or arrays somebody changed."""
    frame = container.opened(data, magic, "it")
    header = {name: of for name, of in frame.header.items() if name != "arrays"}
    arrays = container.split(frame.body, frame.header["arrays"], kinds, "it")
    change(header, arrays)
    return container.packed(magic, header, arrays)


def test_a_saved_stream_whose_plan_claims_less_noise_is_refused():
    def halved(header, _):
        document = json.loads(header["plan"])
        document["noise"]["sigma"]["scale"] //= 2
        header["plan"] = redigested(document)

    data = plan(Exponential(half_life=5), ONE).start(SEEDED).save()
    same = repacked(data, saved_state.MAGIC, ("<i8", "<f8"), lambda *_: None)
    assert Stream.load(same, noise=SEEDED).steps == 0
    forged = repacked(data, saved_state.MAGIC, ("<i8", "<f8"), halved)
    with pytest.raises(
        InvalidValue, match=r"noise must be the noise|its digest or a field differs"
    ):
        Stream.load(forged, noise=SEEDED)


def test_a_trace_with_less_noise_than_its_step_had_is_refused():
    """Where the noise can be drawn again, it is compared."""

    def silent(_, arrays):
        arrays[1][:] = 0

    keyed = KeyedNoise(bytes(range(32)), stream="visits")
    for noise in (SEEDED, keyed):
        stream = plan(Exponential(half_life=5), ONE).start(noise)
        data = stream.save()
        stream.step(1)
        trace = stream.trace()
        forged = repacked(trace, saved_state.TRACE, ("<i8", "<i8"), silent)
        with pytest.raises(
            Refused, match="a trace must have the noise that the key gives its step"
        ):
            Stream.load(data, noise=noise, traces=[forged])
        assert Stream.load(data, noise=noise, traces=[trace]).steps == 1


def test_threads_take_turns():
    stream = plan(Exponential(half_life=5), ONE).start(SEEDED)
    found = []

    def work():
        found.extend(stream.step_total(1).step for _ in range(200))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 801))


def test_noise_must_be_a_source():
    with pytest.raises(InvalidType, match="noise must be a noise source, got int"):
        plan(Exponential(half_life=5), ONE).start(7)


def test_states_of_another_plan_or_changed_are_refused():
    found = plan(Exponential(half_life=5), ONE)
    data = found.start().save()
    with pytest.raises(Refused, match="its digest differs"):
        Stream.load(data, plan=plan(Exponential(half_life=6), ONE))
    for bad in (
        b"",
        b"hushfade stream draft\n",
        data[:-1],
        data + b"\0",
        b"x" + data,
        data[:200],
    ):
        with pytest.raises(Refused, match="the saved stream"):
            Stream.load(bad)
    for at in range(0, len(data), max(1, len(data) // 97)):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(Refused):
            Stream.load(bytes(changed))
    with pytest.raises(Refused, match="must be bytes"):
        Stream.load("text")


def test_a_forked_child_may_not_go_on():
    stream = plan(Exponential(half_life=5), ONE).start()
    stream.step(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.step(1)
            os.write(writer, b"released")
        except Refused:
            os.write(writer, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"refused"
    os.close(reader)
    assert stream.step(1).step == 2


def test_an_interrupted_step_closes_the_stream():
    stream = plan(Exponential(half_life=5), ONE).start()

    def interrupted(*_):
        raise KeyboardInterrupt

    advance, stream._advance = stream._advance, interrupted
    with pytest.raises(KeyboardInterrupt):
        stream.step(1)
    stream._advance = advance
    with pytest.raises(Refused, match="interrupted"):
        stream.step(1)
    with pytest.raises(Refused, match="interrupted"):
        stream.save()


def test_a_stream_cannot_be_pickled():
    with pytest.raises(InvalidType, match="use save and load"):
        pickle.dumps(plan(Exponential(half_life=5), ONE).start())


def test_the_saved_state_has_no_key():
    key = KeyedNoise.new_key()
    stream = plan(Exponential(half_life=5), ONE).start(KeyedNoise(key, stream="s"))
    stream.step(1)
    assert key not in stream.save()
    assert key.hex().encode() not in stream.save()


def test_a_saved_stream_goes_on_with_the_same_noise():
    key = KeyedNoise.new_key()
    keyed = plan(Exponential(half_life=5), ONE).start(KeyedNoise(key, stream="s"))
    with pytest.raises(Refused, match="noise must be KeyedNoise"):
        Stream.load(keyed.save())
    with pytest.raises(Refused, match="noise must be KeyedNoise"):
        Stream.load(keyed.save(), noise=KeyedNoise(key, stream="t"))
    with pytest.raises(Refused, match="noise must be KeyedNoise"):
        Stream.load(keyed.save(), noise=KeyedNoise(KeyedNoise.new_key(), stream="s"))
    fresh = plan(Exponential(half_life=5), ONE).start()
    with pytest.raises(Refused, match="noise must be FreshNoise"):
        Stream.load(fresh.save(), noise=SEEDED)


def test_keyed_streams_release_the_same_bytes_again():
    key = KeyedNoise.new_key()
    found = plan(Exponential(half_life=5), Guarantee(1, 1e-6), keys=["a", "b"])
    x = totals_for(found, 50)
    first = found.start(KeyedNoise(key, stream="s")).run(x)
    again = found.start(KeyedNoise(key, stream="s")).run(x)
    assert first.tobytes() == again.tobytes()
    other = found.start(KeyedNoise(key, stream="s", epoch=1)).run(x)
    assert not np.array_equal(first, other)


def test_the_loss_so_far_is_that_of_the_released_steps():
    for found in PLANS:
        stream = found.start(SEEDED)
        assert stream.privacy_so_far.epsilon(1e-6) == 0.0
        stream.run(totals_for(found, 1))
        stream.run(totals_for(found, 20))
        loss = stream.privacy_so_far
        assert loss == found.privacy_after(21)
        assert 0.0 < loss.epsilon(1e-6) <= found.privacy.epsilon(1e-6)
        assert loss.relation == found.guarantee.relation
        again = Stream.load(stream.save(), noise=SEEDED)
        assert again.privacy_so_far == loss
