"""Streams with a statistic in a store: the lanes are committed, the value is computed from them."""

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import InvalidType, InvalidValue
from hushfade.store import Batch, fail_points
from tests.serve.statistics import ONE, PLANS, records
from tests.store.places import Place

STEPS = 5
MANY = hf.Guarantee(epsilon=50, delta=1e-6)


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    """Fresh noise that can be compared: the same for the same step."""
    monkeypatch.setattr(
        "hushfade.crossing.noise_sources.FreshNoise", lambda: hf.UnsafeSeededNoise(7)
    )


@pytest.fixture
def here(tmp_path):
    """A store in a file: the two databases differ in nothing that a statistic changes."""
    found = Place(tmp_path / "releases.db", None)
    yield found
    found.close()


def started(place, plans):
    store = place.open()
    store.add_dataset("clinics", MANY)
    for name, plan in plans.items():
        store.add_stream(name, plan, dataset="clinics")
    return store


def test_a_store_that_is_opened_again_releases_the_bits_of_a_stream(here):
    started(here, PLANS).close()
    streams = {name: plan.start(hf.UnsafeSeededNoise(7)) for name, plan in PLANS.items()}
    for step in range(1, STEPS + 1):
        store = here.open()
        for name, plan in PLANS.items():
            _, given = records(plan, 12, seed=step)
            store.accept([Batch.of(name, plan, "a", step, given)])
        store.close()  # the open step is on the disk
        store = here.open()
        for name, plan in PLANS.items():
            committed = store.close_step(name, step, closed=0)
            expected = streams[name].step(records(plan, 12, seed=step)[1])
            again = store.releases(name, after=step - 1)[0]
            assert again.values.tobytes() == committed.values.tobytes(), name
            release = again.release(plan)
            assert np.array_equal(release.value, expected.value), name
            assert np.array_equal(release.readings.lanes, expected.readings.lanes), name
            assert release.stddev == expected.stddev
            assert np.array_equal(release.interval(), expected.interval()), name
        store.close()
    store = here.open()
    store.check()
    assert store.verify() == 1 + len(PLANS) * (1 + STEPS)


def test_a_step_that_fails_at_any_point_is_drawn_once_and_read_again_with_the_same_bytes(
    tmp_path, monkeypatch
):
    plan = PLANS["mean by key"]
    _, given = records(plan, 8, seed=1)
    expected = plan.start(hf.UnsafeSeededNoise(7)).step(given).readings.lanes
    points = ("before draw", "after draw", "before commit", "after commit", "before mark")
    for number, point in enumerate(points):
        place = Place(tmp_path / f"{number}.db", None)
        store = started(place, {"s": plan})
        store.accept([Batch.of("s", plan, "a", 1, given)])

        def broken(name, point=point):
            if name == point:
                raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(fail_points, "reached", broken)
            with pytest.raises(MemoryError):
                store.close_step("s", 1, closed=0)
        store.close()
        monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
        store = place.open()
        committed = point in ("after commit", "before mark")
        assert store.live("s").steps == int(committed), point
        first = store.close_step("s", 1, closed=0)
        again = store.releases("s")[0]
        assert again.values.tobytes() == first.values.tobytes()
        assert np.array_equal(again.release(plan).readings.lanes, expected), point
        assert store.verify() == 3
        place.close()


def test_the_committed_values_are_the_lanes_of_run(here):
    plan = PLANS["variance"]
    store = started(here, {"v": plan})
    totals = []
    for step in range(1, 4):
        batch = Batch.of("v", plan, "a", step, records(plan, 9, seed=step)[1])
        store.accept([batch])
        totals.append(store.live("v").totals.copy())
        store.close_step("v", step, closed=0)
    expected = plan.start(hf.UnsafeSeededNoise(7)).run_units(np.array(totals))
    assert np.array_equal([one.values for one in store.releases("v")], expected)


def test_batches_add_up_to_the_totals_of_a_step(here):
    for name, plan in PLANS.items():
        _, given = records(plan, 20, seed=3)
        whole = Batch.of("s", plan, "a", 1, given)
        assert whole.records == 20
        totals = np.zeros(plan.grid.lanes, dtype=np.int64)
        for place in range(20):
            one = given[place : place + 1] if plan.keys is None else {
                key: column[place : place + 1] for key, column in given.items()
            }  # fmt: skip
            batch = Batch.of("s", plan, "a", 1, one)
            totals[batch.lanes] += batch.units
        assert np.array_equal(np.flatnonzero(totals), whole.lanes), name
        assert np.array_equal(totals[whole.lanes], whole.units), name
        added = sum(whole.units) / plan.grid.lane_units[1]
        assert added <= 20 * plan.statistic.levels, name


def test_records_that_are_malformed_and_negative_units_change_nothing(here):
    plan = PLANS["share"]
    store = started(here, {"s": plan})
    for wrong in (["yes"], [2], [0.5], [None], [[True]], {"at": [True]}):
        with pytest.raises((InvalidType, InvalidValue)):
            Batch.of("s", plan, "a", 1, wrong)
    with pytest.raises(InvalidValue, match="must not be negative"):
        store.accept([Batch("s", "a", 1, 1, np.array([0]), np.array([-1]))])
    assert store.live("s").totals.tolist() == [0, 0]


def test_the_kinds_of_truth_do_not_affect_each_other():
    plan = PLANS["share"]
    for mixed in ([True, 1, 0.0, False], [1, True], (False, 1)):
        batch = Batch.of("s", plan, "a", 1, mixed)
        yes = sum(bool(one) for one in mixed)
        assert dict(zip(batch.lanes.tolist(), batch.units.tolist(), strict=True)).get(0, 0) == yes


def test_batches_of_sums_and_vectors_have_their_totals():
    decay = hf.SlidingWindow(length=3)
    scalar, keyed = hf.plan(decay, ONE), hf.plan(decay, ONE, keys=["a", "b"])
    vectors = hf.plan(decay, ONE, width=2, norm=1)
    unit = round(1 / scalar.grid.resolution)
    one = Batch.of("s", scalar, "a", 1, [1, 0.5])
    assert (one.records, one.lanes.tolist(), one.units.tolist()) == (2, [0], [unit * 3 // 2])
    by_key = Batch.of("s", keyed, "a", 1, {"b": [1, 1]}, step=4)
    assert (by_key.records, by_key.lanes.tolist(), by_key.step) == (2, [1], 4)
    assert Batch.of("s", vectors, "a", 1, [[0.5, 0], [0, 0.5]]).records == 2
    assert Batch.of("s", scalar, "a", 1, []).records == 0


def test_a_release_of_a_sum_is_read_again_with_its_interval(here):
    plan = hf.plan(hf.SlidingWindow(length=3), ONE, keys=["a", "b"], law="laplace")
    store = started(here, {"s": plan})
    expected = plan.start(hf.UnsafeSeededNoise(7)).step({})
    release = store.close_step("s", 1, closed=0).release(plan)
    assert np.array_equal(release.value, expected.value)
    assert np.array_equal(release.interval(), expected.interval())
