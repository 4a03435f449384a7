"""A store in one SQLite file: write-ahead log, synchronous, one writing process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import apsw

from hushfade.atomic_files import synced, whole
from hushfade.errors import Failed, InUse
from hushfade.store import process_lock
from hushfade.store.database import committed, failed

_LOGS = ("-wal", "-journal", "-shm")  # SQLite's own files beside a database
_FIRST = b"SQLite format 3\0"
_PATIENCE = 5000  # milliseconds that another process may hold the file

_REASONS = {
    apsw.BusyError: "another process holds it",
    apsw.CantOpenError: "the system does not allow it",
    apsw.CorruptError: "it is damaged, restore a backup",
    apsw.FullError: "the disk is full",
    apsw.IOError: "the disk fails",
    apsw.NotADBError: "it is not a SQLite database",
    apsw.ReadOnlyError: "it may only be read",
}


class SQLite:
    """The file, read and written by one process; with `only_read` beside the one that writes.

    Deleted rows are overwritten with zeros (secure_delete).  The lock is on a file beside the
    database and ends with the process.
    """

    kinds: ClassVar[dict[str, str]] = {"blob": "BLOB", "integer": "INTEGER", "real": "REAL"}

    def __init__(self, path: Path, *, only_read: bool = False, vfs: str | None = None) -> None:
        _refuse_others(path)
        self._lock = None if only_read else process_lock.locked(path)
        self._closed = False
        target = path.resolve()  # where the log of a link is too
        log = target.with_name(target.name + "-wal")
        self.recovered = not only_read and log.exists() and log.stat().st_size > 0
        flags = apsw.SQLITE_OPEN_READONLY if only_read else apsw.SQLITE_OPEN_READWRITE
        try:
            if not only_read:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
            self._connection.set_busy_timeout(_PATIENCE)
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
            return list(self._connection.execute(sql, values))
        except apsw.Error as error:
            raise _failed(error, "read") from None

    def write(self, sql: str, *values: Any) -> None:
        try:
            self._connection.execute(sql, values)
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

    def sound(self) -> None:
        (found,) = self.read("PRAGMA integrity_check(1)")[0]
        if found != "ok":
            raise Failed("the database is damaged: restore a backup")

    def tidy(self) -> None:
        with suppress(apsw.Error):  # a reader beside us may hold it: the next time then
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, path: Path) -> None:
        """A copy of what is committed, made beside the writer, whole or not at all.

        It is for its owner alone, as the store is, and without a log: reading it makes no file.
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
    """A place for another database, which takes the store's place when the block ends well.

    Nobody writes meanwhile.  A block that fails changes nothing.  A crash leaves the old database
    with all that was committed, or the new one, and never one with the log of the other:

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
            synced(target.parent)  # else the log could come back after a crash, and the name not
            made.replace(target)
            synced(target.parent)
    finally:
        os.close(held)


def _without_log(path: Path) -> None:
    """The file alone is the database from now on."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
    except apsw.Error as error:
        raise _failed(error, "copied") from None


def _write_back(path: Path) -> None:
    """The log is in the database; of one that is damaged there is nothing whole to keep."""
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
    """Failed, before a file is made, where no database can be."""
    try:
        if path.is_dir():
            raise Failed(f"{path} is a directory")
        if not path.absolute().parent.is_dir():
            raise Failed(f"there is no directory {path.parent}")
        logs = [path.resolve().with_name(path.resolve().name + log) for log in _LOGS[:2]]
        if not content or not path.is_file() or any(log.exists() for log in logs):
            return  # with a log even a torn first page is mended
        with path.open("rb") as file:
            first = file.read(len(_FIRST))
    except OSError as error:
        raise Failed(f"{path} cannot be opened: {error.strerror}") from None
    if first not in (b"", _FIRST):
        raise Failed(f"{path} is not a SQLite database")


def _failed(error: Exception, deed: str) -> Failed:
    """What SQLite says may show content: only its kind is told."""
    known = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
    return failed(deed, next(known, type(error).__name__))
