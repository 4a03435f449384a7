import os
import shutil
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import apsw
import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Failed, Refused
from hushfade.store import Batch, Store
from hushfade.store.high_water_mark import MarkFile
from hushfade.store.sqlite import SQLite, replacing

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root")


@pytest.fixture
def disk():
    """A file system for SQLite, called 'failing', whose writes or syncs fail on demand."""
    demand = SimpleNamespace(failing="")

    def write(file, data, offset):
        if demand.failing == "write":
            raise apsw.FullError("no space left")
        apsw.VFSFile.xWrite(file, data, offset)

    def sync(file, flags):
        if demand.failing == "sync":
            raise apsw.IOError("not synced")
        apsw.VFSFile.xSync(file, flags)

    file = type("File", (apsw.VFSFile,), {"xWrite": write, "xSync": sync})
    opened = {"xOpen": lambda system, name, flags: file("", name, flags)}
    system = type("System", (apsw.VFS,), opened)("failing", "")
    yield demand
    system.unregister()


def started(path, vfs=None):
    store = Store(SQLite(path, vfs=vfs), MarkFile(path.with_name("mark")))
    store.add_dataset("clinics", ONE)
    store.add_stream("late", PLAN, dataset="clinics")
    return store


def batch(sequence, units=1):
    return Batch("late", "a", sequence, 1, np.array([0]), np.array([units]))


@pytest.mark.parametrize("failing", ["sync", "write"])
def test_a_full_disk_and_a_failed_sync_stop_the_store_and_nothing_is_published(
    tmp_path, disk, failing, monkeypatch
):
    path = tmp_path / "releases.db"
    store = started(path, "failing")
    store.accept([batch(0)])
    first = store.close_step("late", 1, closed=0)
    disk.failing = failing
    for call in (lambda: store.close_step("late", 2, closed=0), lambda: store.accept([batch(1)])):
        with pytest.raises(Failed):
            call()
    disk.failing = ""
    with pytest.raises(Failed, match="has stopped"):
        store.close_step("late", 2, closed=0)
    store.close()
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
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
    with pytest.raises(FileExistsError) as caught:
        SQLite(path, only_read=True).backup(tmp_path / "copy.db")
    assert caught.value.filename == str(tmp_path / "copy.db")
    with pytest.raises(FileNotFoundError) as caught:
        SQLite(path, only_read=True).backup(tmp_path / "no" / "copy.db")
    assert caught.value.filename == str(tmp_path / "no")
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


def test_a_backup_is_for_its_owner_alone_whatever_is_masked(tmp_path):
    started(tmp_path / "releases.db").close()
    before = os.umask(0)
    try:
        SQLite(tmp_path / "releases.db", only_read=True).backup(tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_one_file_has_one_writer_by_whatever_name(tmp_path):
    store = started(tmp_path / "releases.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "releases.db")
    with pytest.raises(Refused, match=r"another process writes to .*link\.db"):
        SQLite(tmp_path / "link.db")
    store.close()
    SQLite(tmp_path / "link.db").close()


def test_what_cannot_be_read_is_not_said_to_be_unpublished(tmp_path):
    database = SQLite(tmp_path / "releases.db")
    with pytest.raises(Failed) as caught:
        database.read("SELECT * FROM nothing")
    assert str(caught.value) == "the database cannot be read: SQLError"
    with pytest.raises(Failed, match="cannot be written: SQLError; nothing was published"):
        database.write("DELETE FROM nothing")
    database.close()


def test_a_damaged_page_is_told_in_words(tmp_path):
    path = tmp_path / "releases.db"
    started(path).close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    database = SQLite(path, only_read=True)
    with pytest.raises(Failed, match="cannot be read: it is damaged, restore a backup"):
        database.read("SELECT * FROM ledger")
    database.close()


@pytest.mark.parametrize("only_read", [False, True])
def test_where_no_database_can_be_no_file_is_made(tmp_path, only_read):
    (tmp_path / "directory").mkdir()
    (tmp_path / "text.db").write_bytes(b"SQLite format 2")
    before = set(tmp_path.iterdir())
    for name, told in [
        ("directory", "is a directory"),
        ("text.db", "is not a SQLite database"),
        ("no/where.db", "the directory"),
    ]:
        with pytest.raises(Failed, match=told):
            SQLite(tmp_path / name, only_read=only_read)
    assert set(tmp_path.iterdir()) == before


def test_a_torn_first_page_is_mended_by_the_log(tmp_path):
    """A crash while the log is written back may leave one: it is no reason to refuse the store."""
    path, torn = tmp_path / "releases.db", tmp_path / "torn.db"
    store = started(path)  # the first page is in the log
    store.close_step("late", 1, closed=0)
    shutil.copy(path.with_name("releases.db-wal"), tmp_path / "torn.db-wal")
    content = bytearray(path.read_bytes())
    content[:512] = bytes(512)
    torn.write_bytes(content)
    store.close()
    database = SQLite(torn)
    assert database.read("SELECT step FROM releases") == [(1,)]
    database.close()


def test_a_database_that_is_not_made_well_replaces_nothing(tmp_path):
    path = tmp_path / "releases.db"
    started(path).close()
    before = path.read_bytes()

    def fail(kind):
        with replacing(path) as made:
            if kind == "text":
                made.write_bytes(b"no database")
            if kind == "error":
                SQLite(made).close()
                raise KeyError

    for kind, error in [("nothing", Failed), ("text", Failed), ("error", KeyError)]:
        with pytest.raises(error):
            fail(kind)
        assert path.read_bytes() == before
        assert not list(tmp_path.glob(".*"))
    SQLite(path).close()  # the lock was given back


def test_what_is_in_the_log_of_a_new_database_is_kept(tmp_path):
    path = tmp_path / "releases.db"
    with replacing(path) as made:
        store = started(made)
        store.close_step("late", 1, closed=0)
        store._database._connection.execute("PRAGMA wal_checkpoint")
        SQLite(made, only_read=True)  # it keeps the log from being removed
        store.close()
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT step FROM releases").fetchall() == [(1,)]
