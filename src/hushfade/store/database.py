"""The protocol of a store's database: rows, transactions, and a single writer."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from hushfade.errors import Failed, Unavailable
from hushfade.store import fail_points


class Database(Protocol):
    """A connection for one thread at a time.  Placeholders are `?`."""

    kinds: ClassVar[dict[str, str]]  # the database's names for 'blob', 'integer' and 'real'
    recovered: bool  # whether a crashed process had left a log

    untidy: bool  # whether the log may have erased rows, because it could not be emptied

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def write(self, sql: str, *values: Any) -> None:
        """Execute a statement that changes data, inside a transaction."""

    def write_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute a statement that changes data once per row, inside a transaction.

        The time limit is for some rows at a time, so any number of rows may be written.
        """

    def tables(self) -> set[str]:
        """The names of the existing tables."""

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction: after the block all its changes are on disk, or none."""

    def place(self) -> tuple[int, ...]:
        """The identity of the file that is now at the database's path; empty for a server."""

    def settled(self, seconds: float) -> None:
        """Write the log back to the database and sync it.

        Raise Failed if this fails, or takes longer.
        """

    def sound(self, seconds: float | None = None) -> None:
        """Raise Failed if the database reports damage, or takes longer to read."""

    def tidy(self) -> None:
        """Empty the log, so that it keeps nothing of erased rows.

        If another process is reading now, nothing happens, and `untidy` is True.
        """

    def backup(self, path: Path) -> None:
        """Copy all committed data to a new file."""

    def close(self) -> None:
        """Close the connection, and release the lock."""


def failed(deed: str, reason: str, *, passing: bool = False) -> Failed:
    """The error that the database cannot be `deed`.  The original message may contain data.

    `passing` states that the reason can pass without a change by the operator.
    """
    safe = "; nothing was published" if deed == "written" else ""
    kind = Unavailable if passing else Failed
    return kind(f"the database cannot be {deed}: {reason}{safe}")


def failed_file(path: Path, error: OSError) -> Failed:
    """The error that the operating system does not open a file of the store."""
    kind = Unavailable if passes(error.errno) else Failed
    return kind(f"{path} cannot be opened: {error.strerror}")


def passes(number: int | None) -> bool:
    """Whether the operating system's error with this number can pass: no space left, or I/O."""
    return number in (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class Writes:
    """Rows of several streams that one transaction writes, with one call per statement.

    The statements must not depend on each other: they run in the order in which each was first
    used.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def write(self, sql: str, *values: Any) -> None:
        """Add a row."""
        self._rows.setdefault(sql, []).append(values)

    def flush(self, database: Database) -> None:
        """Write all rows."""
        for sql, rows in self._rows.items():
            database.write_many(sql, rows)
        self._rows.clear()


class Writable(Protocol):
    """What executes or collects a statement that changes data."""

    def write(self, sql: str, *values: Any) -> None:
        """Execute the statement, or add it to the statements to execute."""


@contextmanager
def committed(database: Database, begin: str, rollback: Callable[[], None]) -> Iterator[None]:
    """A transaction: the block, then commit, or rollback after an error."""
    database.write(begin)
    try:
        yield
        fail_points.reached("before commit")
        database.write("COMMIT")
        fail_points.reached("after commit")
    except BaseException:
        rollback()
        raise
