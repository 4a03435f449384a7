"""A store in one SQLite file: write-ahead log, synchronous, one writing process."""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, ClassVar

import apsw

from hushfade.errors import Failed, Refused
from hushfade.store.database import committed


class SQLite:
    """The file, read and written by one process; with `only_read` beside the one that writes.

    Deleted rows are overwritten with zeros (secure_delete).  The lock is on a file beside the
    database and ends with the process.
    """

    kinds: ClassVar[dict[str, str]] = {"blob": "BLOB", "integer": "INTEGER", "real": "REAL"}

    def __init__(self, path: Path, *, only_read: bool = False, vfs: str | None = None) -> None:
        self._lock = None if only_read else _locked(path)
        self._closed = False
        flags = apsw.SQLITE_OPEN_READONLY if only_read else apsw.SQLITE_OPEN_READWRITE
        try:
            if not only_read:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
            self._connection.set_busy_timeout(5000)
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

    def backup(self, path: Path) -> None:
        """A copy of what is committed, made beside the writer, whole or not at all."""
        from hushfade.whole import whole

        try:
            with whole(path, new=True) as hidden:
                copy = apsw.Connection(str(hidden))
                with copy.backup("main", self._connection, "main") as work:
                    work.step()
                copy.close()
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


def _locked(path: Path) -> int:
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Refused("another process writes to this store") from None
    return descriptor


def _failed(error: Exception, deed: str) -> Failed:
    """What SQLite says may show content: only its kind is told."""
    kind = type(error).__name__
    return Failed(f"the database cannot be {deed} ({kind}): nothing was published")
