import sqlite3
from contextlib import closing

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Failed, Refused
from hushfade.store import Batch, Store
from hushfade.store.mark import MarkFile
from hushfade.store.sqlite import SQLite
from soaks.disks import Disk, mounted

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE)


@pytest.fixture
def disk():
    """A disk that fails on demand, below the file system 'failing'."""
    found = Disk()
    with mounted(found, "failing"):
        yield found


def started(path, vfs=None):
    store = Store(SQLite(path, vfs=vfs), MarkFile(path.with_name("mark")))
    store.add_dataset("clinics", ONE)
    store.add_stream("late", PLAN, dataset="clinics")
    return store


def batch(sequence, units=1):
    return Batch("late", "a", sequence, 1, np.array([0]), np.array([units]))


@pytest.mark.parametrize("kind", ["sync", "full"])
def test_a_full_disk_and_a_failed_sync_stop_the_store_and_nothing_is_published(
    tmp_path, disk, kind, monkeypatch
):
    path = tmp_path / "releases.db"
    store = started(path, "failing")
    store.accept([batch(0)])
    first = store.close_step("late", 1, closed=0)
    disk.arm(kind)
    for call in (lambda: store.close_step("late", 2, closed=0), lambda: store.accept([batch(1)])):
        with pytest.raises(Failed):
            call()
    disk.arm("")
    with pytest.raises(Failed, match="has stopped"):
        store.close_step("late", 2, closed=0)
    store.close()
    monkeypatch.setattr("hushfade.turn._turns", {})  # as in a new process
    again = Store(SQLite(path), MarkFile(path.with_name("mark")))
    assert [x.values.tobytes() for x in again.releases("late")] == [first.values.tobytes()]
    assert again.close_step("late", 2, closed=0).step == 2
    again.verify()
    again.close()


def test_a_mark_that_cannot_be_written_stops_the_store(tmp_path, monkeypatch):
    store = started(tmp_path / "releases.db")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", broken)
    with pytest.raises(Failed, match="nothing was published"):
        store.close_step("late", 1, closed=0)
    monkeypatch.undo()
    with pytest.raises(Failed, match="has stopped"):
        store.close_step("late", 1, closed=0)
    store.close()
    again = Store.open(tmp_path / "releases.db", mark=tmp_path / "mark")
    assert len(again.releases("late")) == 1  # committed; published by the next process
    again.close()


def test_the_database_is_for_its_owner_alone(tmp_path):
    store = started(tmp_path / "releases.db")
    for path in tmp_path.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path.name
    store.close()


def test_erased_totals_are_not_in_the_file(tmp_path):
    path = tmp_path / "releases.db"
    store = started(path)
    secret = 0x1122334455
    store.accept([batch(0, secret)])
    needle = secret.to_bytes(8, "little")
    store.close_step("late", 1, closed=0)
    for step in range(2, 3 * store.live("late")._memory):
        store.close_step("late", step, closed=0)
    store.close()  # the log is written back and removed
    assert needle not in path.read_bytes()
    assert not path.with_name("releases.db-wal").exists()


def test_one_may_read_beside_the_writer(tmp_path):
    path = tmp_path / "releases.db"
    store = started(path)
    reader = SQLite(path, only_read=True)
    store.close_step("late", 1, closed=0)
    assert reader.read("SELECT step FROM releases") == [(1,)]
    with pytest.raises(Failed, match="cannot be written"):
        reader.write("DELETE FROM releases")
    reader.close()
    store.close()


def test_a_backup_is_a_whole_store_of_what_is_committed(tmp_path):
    path = tmp_path / "releases.db"
    store = started(path)
    store.close_step("late", 1, closed=0)
    SQLite(path, only_read=True).backup(tmp_path / "copy.db")
    store.close_step("late", 2, closed=0)
    store.close()
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT step FROM releases").fetchall() == [(1,)]
    with pytest.raises(FileExistsError):
        SQLite(path, only_read=True).backup(tmp_path / "copy.db")
    with pytest.raises(Refused, match="older than its mark"):
        Store.open(tmp_path / "copy.db", mark=tmp_path / "mark")


def test_a_damaged_database_is_found(tmp_path):
    path = tmp_path / "releases.db"
    store = started(path)
    for step in range(1, 40):
        store.close_step("late", step, closed=0)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 * 5 : 4096 * 6] = b"\xff" * 4096
    path.write_bytes(content)

    def opened():
        with closing(Store.open(path, mark=tmp_path / "mark")) as found:
            found.check()

    with pytest.raises((Failed, Refused)):
        opened()
