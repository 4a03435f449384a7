"""Steps of several streams in one transaction."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Failed, InvalidValue, Refused
from hushfade.store import Batch, Closing, Store

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root", law="gaussian")
KEYED = hf.plan(
    hf.SlidingWindow(length=3), ONE, keys=["a", "b"], method="square_root", law="gaussian"
)
SHORT = hf.plan(hf.SlidingWindow(length=2), ONE, horizon=2, method="square_root", law="gaussian")
PLANS = {"x": PLAN, "y": KEYED, "z": PLAN, "short": SHORT}
UNIT = round(1 / PLAN.grid.resolution)


@pytest.fixture(autouse=True)
def _repeatable(monkeypatch):
    name = "hushfade.crossing.noise_sources.FreshNoise"
    monkeypatch.setattr(name, lambda: hf.UnsafeSeededNoise(3))


@pytest.fixture
def store(place):
    made = place.open()
    made.add_dataset("d", hf.Guarantee(epsilon=50, delta=1e-6))
    for name, plan in PLANS.items():
        made.add_stream(name, plan, dataset="d")
    return made


def send(store, name, sequence):
    units = np.full(PLANS[name].grid.lanes, sequence * UNIT)
    lanes = np.arange(len(units))
    assert store.accept([Batch(name, "a", sequence, 1, lanes, units)]) == ["accepted"]


def group(*names, step):
    return [Closing(name, step, step * 10) for name in names]


def test_a_group_releases_the_same_bits_as_each_stream_alone(store):
    for step in (1, 2, 3):
        names = ["x", "y", "z", "short"][: 4 if step < 3 else 3]
        for name in names:
            send(store, name, step)
        releases = store.close_steps(group(*names, step=step))
        assert [(r.stream, r.step, r.closed) for r in releases] == [
            (n, step, 10 * step) for n in names
        ]
    for name, totals in (("x", [1.0, 2.0, 3.0]), ("z", [1.0, 2.0, 3.0]), ("short", [1.0, 2.0])):
        expected = PLANS[name].start(hf.UnsafeSeededNoise(3)).run(totals)
        assert [r.values[0] for r in store.releases(name)] == expected.tolist()
    keyed = KEYED.start(hf.UnsafeSeededNoise(3)).run([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    assert np.array_equal([r.values for r in store.releases("y")], keyed)
    assert store.verify() == 1 + 4 + 4 + 4 + 3 + 1


def test_a_group_continues_after_a_restart(store, place):
    store.close_steps(group("x", "y", step=1))
    store.close()
    again = place.open()
    again.close_steps(group("x", "y", step=2))
    assert [len(again.releases(name)) for name in ("x", "y", "z")] == [2, 2, 0]
    again.check()


def test_the_last_step_of_a_horizon_ends_its_stream_and_erases_its_traces(store):
    for step in (1, 2):
        store.close_steps(group("x", "short", step=step))
    assert store.live("short").ended
    for table in ("traces", "states", "batches"):
        number = store.live("short").number
        assert not store._database.read(f"SELECT 1 FROM {table} WHERE stream = ?", number)
    assert store._database.read("SELECT 1 FROM traces WHERE stream = 1")


def test_if_one_step_cannot_close_none_does(store):
    store.close_steps(group("x", step=1))
    before = store.verify()
    for names, step in ((("x", "y"), 1), (("y", "x"), 3), (("y", "none"), 1)):
        with pytest.raises((Refused, InvalidValue)):
            store.close_steps(group(*names, step=step))
    with pytest.raises(InvalidValue, match="each stream once"):
        store.close_steps(group("y", "y", step=1))
    assert store.verify() == before
    assert [store.live(name).steps for name in ("x", "y")] == [1, 0]


def test_a_group_that_is_not_committed_publishes_nothing_and_is_drawn_again(store, monkeypatch):
    for name in ("x", "y"):
        send(store, name, 1)
    write = store._database.write

    def failing(sql, *values):
        if sql == "COMMIT":
            raise Failed("the database cannot be written: the disk is full")
        write(sql, *values)

    monkeypatch.setattr(store._database, "write", failing)
    with pytest.raises(Failed):
        store.close_steps(group("x", "y", step=1))
    with pytest.raises(Failed, match="the store has stopped"):
        store.close_steps(group("x", "y", step=1))
    store.reopen()
    assert [len(store.releases(name)) for name in ("x", "y")] == [0, 0]
    assert store.live("x").records == 1  # an accepted batch is still there
    store.close_steps(group("x", "y", step=1))
    expected = PLAN.start(hf.UnsafeSeededNoise(3)).run([1.0])
    assert store.releases("x")[0].values.tolist() == expected.tolist()
    assert store.verify() == 5 + 2
    store.check()


def test_a_group_that_was_committed_without_an_answer_is_not_drawn_again(store, monkeypatch):
    def lost(*_):
        raise OSError(5, "the mark cannot be written")

    with monkeypatch.context() as failing:
        failing.setattr(store._mark, "write", lost)
        with pytest.raises(Failed, match="the mark cannot be written"):
            store.close_steps(group("x", "y", step=1))
    store.reopen()
    first = store.releases("x")[0]
    assert store.close_step("x", 1, closed=99) == first
    with pytest.raises(Refused):
        store.close_steps(group("x", "y", step=1))
    store.close_steps(group("x", "y", step=2))
    assert store.verify() == 5 + 4


def test_an_old_copy_of_a_withdrawn_stream_can_take_no_step(store, monkeypatch):
    old = store.live("x")._stream
    with monkeypatch.context() as failing:
        failing.setattr(store._database, "write_many", None)
        with pytest.raises(TypeError):
            store.close_steps(group("x", step=1))
    store.reopen()
    store.live("x")
    with pytest.raises(Refused, match="withdrawn"):
        old.step_total(1.0)


def test_a_full_disk_does_not_look_available(store, monkeypatch):
    with monkeypatch.context() as failing:
        failing.setattr("hushfade.store.reopening._try_out", _full)
        with pytest.raises(Failed, match="full"):
            store.reopen()
        with pytest.raises(Failed, match="stopped"):
            store.close_steps(group("x", step=1))
    store.reopen()
    store.close_steps(group("x", step=1))


def _full(database):
    raise Failed("the database cannot be written: the disk is full; nothing was published")


def test_a_store_whose_file_was_replaced_is_not_opened_again(tmp_path):
    path = tmp_path / "releases.db"
    with closing(Store.open(path)) as store:
        store.add_dataset("all", hf.Guarantee(epsilon=1, delta=1e-6))
        store.backup(tmp_path / "copy.db")
        kept = path.rename(tmp_path / "old.db")
        with pytest.raises(Refused, match="not the one that this store had"):
            store.reopen()
        assert not path.exists()  # and none is made
        (tmp_path / "copy.db").rename(path)  # the same name, ledger and mark in another file
        with pytest.raises(Refused, match="not the one that this store had"):
            store.reopen()
        kept.rename(path)
        store.reopen()


def test_a_store_with_a_log_is_checked_when_it_is_opened_again(tmp_path, monkeypatch):
    """A reader keeps the log alive, so the new connection finds it, as after a crash."""
    with closing(Store.open(tmp_path / "releases.db")) as store:
        store.add_dataset("all", hf.Guarantee(epsilon=1, delta=1e-6))
        store.add_stream("x", PLAN, dataset="all")
        with closing(store.reader()):
            store.close_steps(group("x", step=1))
            store._database.write("UPDATE releases SET value = zeroblob(8)")
            with pytest.raises(Failed, match="do not match the ledger"):
                store.reopen()
            with monkeypatch.context() as slow:
                slow.setattr("hushfade.store.reopening.CHECK", -1.0)
                with pytest.raises(Failed, match=r"too long|in time"):
                    store.reopen()


def test_the_log_and_the_mark_are_written_again_before_the_store_goes_on(tmp_path, monkeypatch):
    """After a failed sync, what can be read may not be on the disk."""
    path = tmp_path / "releases.db"
    with closing(Store.open(path)) as store:
        store.add_dataset("all", hf.Guarantee(epsilon=1, delta=1e-6))
        before = Path(f"{path}.mark").stat().st_ino
        with closing(store.reader()):
            assert Path(f"{path}-wal").stat().st_size > 0
            with monkeypatch.context() as failing:
                failing.setattr("hushfade.store.reopening._try_out", _full)
                with pytest.raises(Failed, match="full"):
                    store.reopen()
            assert Path(f"{path}-wal").stat().st_size == 0  # written back before anything else
            store.reopen()
            assert Path(f"{path}.mark").stat().st_ino != before
        store.verify()


def test_a_closed_store_is_not_opened_again(store):
    store.close()
    with pytest.raises(Failed, match="closed"):
        store.reopen()


def test_a_reader_beside_the_writer_sees_what_is_committed(store):
    reader = store.reader()
    store.close_steps(group("x", step=1))
    assert [one.digest for one in reader.releases("x")] == [
        one.digest for one in store.releases("x")
    ]
    assert len(reader.releases("x")) == 1
    reader.ping()
    reader.close()
