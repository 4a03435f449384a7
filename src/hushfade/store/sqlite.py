"""A store in one SQLite file, with a write-ahead log, synchronous commits and one writer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import apsw

from hushfade.atomic_files import synced, whole
from hushfade.errors import Failed, InUse
from hushfade.store import process_lock
from hushfade.store.database import committed, failed, failed_file, passes
from hushfade.store.statement_deadline import LOCK, ROWS, Deadline

_LOGS = ("-wal", "-journal", "-shm")  # SQLite's own files next to a database
_FIRST = b"SQLite format 3\0"
_PATIENCE = round(1000 * LOCK)  # milliseconds to wait for another process to release the file

_REASONS = {
    apsw.BusyError: "another process has locked it",
    apsw.CantOpenError: "the operating system does not allow it",
    apsw.CorruptError: "it is damaged, restore a backup",
    apsw.FullError: "the disk is full",
    apsw.InterruptError: "it does not respond in time",
    apsw.IOError: "the disk reported an error",
    apsw.NotADBError: "it is not a SQLite database",
    apsw.ReadOnlyError: "it is read-only",
}
_PASSING = (apsw.FullError, apsw.IOError, apsw.InterruptError)  # reasons that can pass


class SQLite:
    """A file with one writing process; with `only_read`, also while another process writes.

    SQLite overwrites deleted rows with zeros (secure_delete).  The lock is on a file next to the
    database and ends with the process.
    """

    kinds: ClassVar[dict[str, str]] = {"blob": "BLOB", "integer": "INTEGER", "real": "REAL"}

    def __init__(self, path: Path, *, only_read: bool = False, vfs: str | None = None) -> None:
        _refuse_others(path)
        self._lock = None if only_read else process_lock.locked(path)
        self._closed, self._path, self.untidy = False, path, False
        target = path.resolve()  # the log is next to the target of a link
        log = target.with_name(target.name + "-wal")
        self.recovered = not only_read and log.exists() and log.stat().st_size > 0
        flags = apsw.SQLITE_OPEN_READONLY if only_read else apsw.SQLITE_OPEN_READWRITE
        try:
            if not only_read:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
            self._connection.set_busy_timeout(_PATIENCE)
            self._deadline = Deadline(self._connection.interrupt)
            if not only_read:
                for pragma in (
                    "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON",
                ):  # fmt: skip
                    self._connection.execute(f"PRAGMA {pragma}")
        except (apsw.Error, OSError) as error:
            self._unlock()
            raise _failed(error, "opened") from None

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._deadline:
                return list(self._connection.execute(sql, values))
        except apsw.Error as error:
            raise _failed(error, "read") from None

    def write(self, sql: str, *values: Any) -> None:
        try:
            with self._deadline:
                self._connection.execute(sql, values)
        except apsw.Error as error:
            raise _failed(error, "written") from None

    def write_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        try:
            for at in range(0, len(rows), ROWS):
                with self._deadline:
                    self._connection.executemany(sql, rows[at : at + ROWS])
        except apsw.Error as error:
            raise _failed(error, "written") from None

    def tables(self) -> set[str]:
        return {
            name for (name,) in self.read("SELECT name FROM sqlite_master WHERE type = 'table'")
        }

    def transaction(self) -> AbstractContextManager[None]:
        return committed(self, "BEGIN IMMEDIATE", self._undo)

    def _undo(self) -> None:
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def place(self) -> tuple[int, ...]:
        try:
            now = self._path.stat()
        except OSError:
            return (0,)  # it is gone
        return now.st_dev, now.st_ino

    def settled(self, seconds: float) -> None:
        try:  # the log may be as long as a large transaction
            with Deadline(self._connection.interrupt, seconds):
                ((busy, _, _),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except apsw.Error as error:
            raise _failed(error, "written") from None
        if busy:
            raise failed("written", "another process has locked it")

    def sound(self, seconds: float | None = None) -> None:
        # it reads every page, so the deadline of a statement does not apply
        limit = Deadline(self._connection.interrupt, inf if seconds is None else seconds)
        try:
            with limit:
                ((found,),) = self._connection.execute("PRAGMA integrity_check(1)")
        except apsw.Error as error:
            raise _failed(error, "read") from None
        if found != "ok":
            raise Failed("the database is damaged: restore a backup")

    def tidy(self) -> None:
        self.untidy = True
        self._connection.set_busy_timeout(0)  # nobody waits for a reader: the next time will do
        try:
            with suppress(apsw.Error):
                ((busy, _, _),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self.untidy = bool(busy)
        finally:
            self._connection.set_busy_timeout(_PATIENCE)

    def backup(self, path: Path) -> None:
        """Copy all committed data to a new file, atomically, also while another process writes.

        Only the owner may read the copy.  It has no log, so reading it creates no file.
        """
        try:
            with whole(path, new=True, mode=0o600) as hidden:
                copy = apsw.Connection(str(hidden))
                with copy.backup("main", self._connection, "main") as work:
                    work.step()
                copy.close()
                _without_log(hidden)
        except apsw.Error as error:
            raise _failed(error, "copied") from None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with suppress(apsw.Error):
                self._connection.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The path of a new database, which replaces the store if the block succeeds.

    Nobody writes meanwhile.  If the block fails, nothing changes.  A crash leaves the old database
    with all committed data, or the new database, and never one with the log of the other:

        lock → new file on the disk → old log written back → old log removed → new file in place
    """
    _refuse_others(path, content=False)
    held, target = process_lock.locked(path), path.resolve()
    try:
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as hidden:
            made = Path(hidden) / target.name
            yield made
            _without_log(made)
            synced(made)
            if target.exists():
                _write_back(target)
            for log in _LOGS:
                target.with_name(target.name + log).unlink(missing_ok=True)
            synced(target.parent)  # or the log could come back after a crash, but not the name
            made.replace(target)
            synced(target.parent)
    finally:
        os.close(held)


def _without_log(path: Path) -> None:
    """Switch off the log, so that the file alone is the database."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
    except apsw.Error as error:
        raise _failed(error, "copied") from None


def _write_back(path: Path) -> None:
    """Write the log back to the database.  A damaged database has nothing intact to keep."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(_PATIENCE)
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        connection.close()
    except (apsw.CorruptError, apsw.NotADBError):
        return
    except apsw.Error as error:
        raise _failed(error, "replaced") from None
    if busy:
        raise InUse(f"another process reads {path}: wait until it has ended")


def _refuse_others(path: Path, *, content: bool = True) -> None:
    """Raise Failed, before a file is created, if the path cannot be a database."""
    try:
        if path.is_dir():
            raise Failed(f"{path} is a directory: choose a file")
        if not path.absolute().parent.is_dir():
            raise Failed(f"the directory {path.parent} does not exist: create it first")
        logs = [path.resolve().with_name(path.resolve().name + log) for log in _LOGS[:2]]
        if not content or not path.is_file() or any(log.exists() for log in logs):
            return  # a log repairs even a torn first page
        with path.open("rb") as file:
            first = file.read(len(_FIRST))
    except OSError as error:
        raise failed_file(path, error) from None
    if first not in (b"", _FIRST):
        raise Failed(f"{path} is not a SQLite database: choose another file")


def _failed(error: Exception, deed: str) -> Failed:
    """The kind of SQLite's error.  Its message may contain data."""
    known = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
    passing = isinstance(error, _PASSING) or passes(getattr(error, "errno", None))
    return failed(deed, next(known, type(error).__name__), passing=passing)
