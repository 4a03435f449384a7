from threading import Thread

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Failed, InvalidType, InvalidValue, Refused
from hushfade.store import Batch, Store, fail_points
from hushfade.store.live_streams import Live
from hushfade.store.open_store import connected

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWO = hf.Guarantee.from_mu(ONE.mu * np.sqrt(2.0), delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root")
KEYED = hf.plan(hf.SlidingWindow(length=3), ONE, keys=["at", "ch", "de"], method="square_root")
UNIT = round(1 / PLAN.grid.resolution)


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    """Fresh noise that can be compared: the same for the same step."""
    monkeypatch.setattr(
        "hushfade.crossing.noise_sources.FreshNoise", lambda: hf.UnsafeSeededNoise(7)
    )


def started(place, plan=PLAN, **settings):
    store = place.open()
    store.add_dataset("clinics", TWO)
    store.add_stream("late", plan, dataset="clinics", **settings)
    return store


def batch(sequence, total=1, *, sender="a", lane=0, step=None, stream="late"):
    units = np.array([total * UNIT])
    return Batch(stream, sender, sequence, total, np.array([lane]), units, step)


def values(store, name="late"):
    return np.array([release.values for release in store.releases(name)])


def test_a_store_releases_what_a_stream_does(place):
    store, totals = started(place), np.array([1.0, 0, 5, 2, 0, 0, 3] * 12)
    for step, total in enumerate(totals, start=1):
        store.accept([batch(step, int(total))])
        store.close_step("late", step, closed=step)
    expected = PLAN.start(hf.UnsafeSeededNoise(7)).run(totals)
    assert np.array_equal(values(store)[:, 0], expected)
    stddevs = [release.stddev for release in store.releases("late")]
    assert stddevs == pytest.approx(PLAN.stddevs(len(totals)), rel=1e-12)
    assert [release.closed for release in store.releases("late")] == list(range(1, 85))


def test_a_store_that_is_opened_again_after_each_step_goes_on_with_the_same_bits(place):
    rows = np.arange(3.0 * 40).reshape(40, 3) % 7
    started(place, KEYED).close()
    for step, row in enumerate(rows, start=1):
        store = place.open()
        for lane, total in enumerate(row):
            store.accept([batch(3 * step + lane, int(total), lane=lane)])
        store.close()
        store = place.open()
        store.close_step("late", step, closed=0)
        store.check()
        store.close()
    store = place.open()
    assert np.array_equal(values(store), KEYED.start(hf.UnsafeSeededNoise(7)).run(rows))
    assert store.verify() == 2 + len(rows)


def test_a_batch_counts_once(place):
    store = started(place)
    assert store.accept([batch(0, 5)]) == ["accepted"]
    assert store.accept([batch(0, 5), batch(1, 2), batch(1, 2)]) == [
        "repeated", "accepted", "repeated",
    ]  # fmt: skip
    store.close()
    store = place.open()
    assert store.accept([batch(1, 2), batch(0, 5, sender="b")]) == ["repeated", "accepted"]
    assert store.live("late").totals.tolist() == [12 * UNIT]
    assert store.live("late").records == 12


def test_late_records_are_counted_and_change_no_sum(place):
    store = started(place)
    store.close_step("late", 1, closed=0)
    assert store.accept([batch(0, 3, step=1), batch(1, 1, step=2)]) == ["late", "accepted"]
    assert store.live("late").totals.tolist() == [UNIT]
    store.close()
    assert place.open().live("late").counts == {"late": 3}


def test_a_step_closes_once_and_gives_the_same_release_again(place):
    store = started(place)
    first = store.close_step("late", 1, closed=5)
    again = store.close_step("late", 1, closed=9)
    assert again.values.tobytes() == first.values.tobytes()
    assert (again.step, again.stddev, again.closed) == (1, first.stddev, 5)
    assert store.verify() == 3
    for wrong in (0, 3, 100, -1):
        with pytest.raises(Refused, match="step must be 2, the open step"):
            store.close_step("late", wrong, closed=0)


def test_what_is_refused_changes_nothing(place):
    store = started(place)
    store.accept([batch(0)])
    good, bad = batch(1), [
        batch(2, lane=1),
        Batch("late", "a", 2, 1, np.array([0, 0]), np.array([1, 1])),
        Batch("late", "a", 2, 1, np.array([0]), np.array([1, 1])),
        Batch("late", "a", 2, 1, np.array([0]), np.array([PLAN.grid.largest_total + 1])),
        Batch("late", "a", 2, 1, np.array([0]), np.array([-(2**63)])),
        Batch("late", "a", 2, 1, np.array([0]), np.array([1.0])),
        Batch("late", "a", 2, 1, np.array([0.0]), np.array([1])),
        batch(2, step=2),
        batch(2, stream="unknown"),
    ]  # fmt: skip
    for wrong in bad:
        with pytest.raises((InvalidType, InvalidValue, Refused)):
            store.accept([good, wrong])
    assert store.live("late").totals.tolist() == [UNIT]
    assert store.accept([good]) == ["accepted"]
    store.close()
    assert place.open().live("late").totals.tolist() == [2 * UNIT]


def test_a_budget_is_not_overspent(place):
    store = started(place)
    store.add_stream("more", KEYED, dataset="clinics")
    with pytest.raises(Refused, match="'clinics' must not be overspent"):
        store.add_stream("too many", PLAN, dataset="clinics")
    assert store.streams() == ["late", "more"]
    assert store.accounts()["clinics"].left == pytest.approx(0.0, abs=1e-8)
    store.add_dataset("others", ONE)
    store.add_stream("too many", PLAN, dataset="others")
    store.close()
    store = place.open()
    assert store.verify() == 5
    with pytest.raises(Refused, match="overspent"):
        store.add_stream("again", PLAN, dataset="others")


def test_threads_do_not_overspend_together(place):
    store = place.open()
    store.add_dataset("clinics", TWO)
    refused = []

    def work(number):
        try:
            store.add_stream(f"stream {number}", PLAN, dataset="clinics")
        except Refused:
            refused.append(number)

    threads = [Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.streams()) == 2
    assert len(refused) == 6


def test_names_are_there_once_and_printable(place):
    store = started(place)
    for add in (
        lambda: store.add_dataset("clinics", ONE),
        lambda: store.add_stream("late", PLAN, dataset="clinics"),
    ):
        with pytest.raises(Refused, match="exists"):
            add()
    for name in ("", "a\nb", "x" * 201, 7):
        with pytest.raises(InvalidValue, match="must be a name"):
            store.add_dataset(name, ONE)
    with pytest.raises(InvalidValue, match="dataset must exist in the store"):
        store.add_stream("new", PLAN, dataset="unknown")


def test_a_second_writer_is_refused_and_may_write_when_the_first_has_closed(place):
    store = started(place)
    with pytest.raises(Refused, match="another process writes"):
        place.open()
    store.close()
    place.open().close()


def test_a_stream_that_ended_is_erased_and_takes_nothing(place):
    store = started(place)
    store.accept([batch(0)])
    store.close_step("late", 1, closed=0)
    store.end("late")
    for change in (
        lambda: store.accept([batch(1)]),
        lambda: store.close_step("late", 2, closed=0),
    ):
        with pytest.raises(Refused, match="has ended"):
            change()
    store.close()
    store = place.open()
    assert len(store.releases("late")) == 1
    for table in ("batches", "traces", "states", "senders"):
        assert store._database.read(f"SELECT * FROM {table}") == []
    assert store.verify() == 4
    store.check()


def test_a_horizon_ends_a_stream_of_steps(place):
    store = started(place, hf.plan(hf.NoDecay(), ONE, horizon=2, method="square_root"))
    store.close_step("late", 1, closed=0)
    store.close_step("late", 2, closed=0)
    assert store.live("late").ended
    assert store._database.read("SELECT * FROM states") == []
    assert store.close_step("late", 2, closed=0).step == 2  # the same again
    with pytest.raises(Refused, match="has ended"):
        store.close_step("late", 3, closed=0)
    with pytest.raises(Refused, match="has ended"):
        store.accept([batch(0)])
    assert [entry.kind for entry in store.entries()][-2:] == ["step", "end"]
    store.verify()


def test_no_total_is_kept_for_longer_than_the_mechanism_remembers(place):
    store = started(place)
    memory = store.live("late")._memory
    for step in range(1, 3 * memory):
        store.accept([batch(step)])
        store.close_step("late", step, closed=0)
        ((kept,),) = store._database.read("SELECT COUNT(*) FROM traces")
        ((steps,),) = store._database.read("SELECT steps FROM states")
        assert kept < memory
        assert steps + kept == step
        assert store._database.read("SELECT * FROM batches") == []


@pytest.mark.parametrize(
    "point", ["before draw", "after draw", "before commit", "after commit", "before mark"]
)
def test_a_failure_at_any_point_stops_the_store_and_nothing_is_drawn_twice(
    place, point, monkeypatch
):
    store = started(place)
    store.accept([batch(0, 4)])
    store.close_step("late", 1, closed=0)
    store.accept([batch(1, 3)])
    before = values(store)

    def broken(name):
        if name == point:
            raise MemoryError

    monkeypatch.setattr(fail_points, "reached", broken)
    with pytest.raises(MemoryError):
        store.close_step("late", 2, closed=0)
    for call in (
        lambda: store.close_step("late", 2, closed=0),
        lambda: store.accept([batch(2)]),
        lambda: store.live("late"),
    ):
        with pytest.raises(Failed, match="has stopped"):
            call()
    store.close()
    monkeypatch.undo()
    monkeypatch.setattr(
        "hushfade.crossing.noise_sources.FreshNoise", lambda: hf.UnsafeSeededNoise(7)
    )
    store = place.open()
    if point in ("after draw", "before commit"):  # drawn and lost: not this process's to draw again
        with pytest.raises(Refused, match="older than the last released step"):
            store.live("late")
        monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
    committed = point in ("after commit", "before mark")
    assert store.live("late").steps == (2 if committed else 1)
    assert np.array_equal(values(store)[:1], before)
    again = store.close_step("late", 2, closed=0)
    assert np.array_equal(values(store)[1], again.values)
    expected = PLAN.start(hf.UnsafeSeededNoise(7)).run(np.array([4.0, 3.0]))
    assert np.array_equal(values(store)[:, 0], expected)  # no record lost or counted twice
    store.verify()


def test_a_tampered_release_shows(place):
    store = started(place)
    store.close_step("late", 1, closed=0)
    with store._database.transaction():
        store._database.write("UPDATE releases SET stddev = stddev + 1")
    with pytest.raises(Failed, match="do not match the ledger"):
        store.verify()


def test_a_missing_release_shows(place):
    store = started(place)
    store.close_step("late", 1, closed=0)
    with store._database.transaction():
        store._database.write("DELETE FROM releases")
    with pytest.raises(Failed, match="a release for each step"):
        store.check()


def test_settings_are_kept(place):
    store = started(place, settings={"every": "1h"})
    store.close()
    assert place.open().live("late").settings == {"every": "1h"}


def test_a_database_elsewhere_needs_a_mark(tmp_path):
    with pytest.raises(InvalidValue, match="must be given for a database server"):
        Store.open("postgresql://localhost/none")


def test_a_database_of_something_else_is_refused_and_left_as_it_is(place):
    database = connected(place.where)
    database.write("CREATE TABLE things (name TEXT)")
    database.close()
    with pytest.raises(Refused, match="must be empty or a store"):
        Store.open(place.where, mark=place.mark)
    database = connected(place.where, only_read=True)
    assert database.tables() == {"things"}
    database.close()


def test_streams_that_promise_to_other_neighbours_do_not_share_a_budget(place):
    store = Store.open(place.where, mark=place.mark)
    store.add_dataset("clinics", hf.Guarantee(epsilon=10, delta=1e-6))
    decay = hf.Exponential(half_life=3)
    one = hf.plan(decay, hf.Guarantee(epsilon=1, delta=1e-6), method="square_root")
    store.add_stream("late", one, dataset="clinics")
    for other in (
        hf.Guarantee(epsilon=1, delta=1e-6, neighbours="replace"),
        hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(steps=3, apart=24)),
    ):
        with pytest.raises(Refused, match="must protect the same unit"):
            store.add_stream(
                "other", hf.plan(decay, other, method="square_root"), dataset="clinics"
            )
    assert store.streams() == ["late"]
    assert store.verify() == 2
    store.close()


def test_a_batch_that_was_rolled_back_with_others_is_not_taken_for_repeated(place, monkeypatch):
    """A refusal inside the transaction finds batches before it already in memory."""
    store = started(place)
    accept = Live.accept

    def refused(self, database, given):
        if given.sequence == 9:
            raise InvalidValue("no")
        return accept(self, database, given)

    with monkeypatch.context() as failing:
        failing.setattr(Live, "accept", refused)
        with pytest.raises(Failed, match="refused too late"):
            store.accept([batch(0, 4), batch(9)])
    store.reopen()
    assert store.accept([batch(0, 4)]) == ["accepted"]
    assert store.live("late").totals.tolist() == batch(0, 4).units.tolist()
