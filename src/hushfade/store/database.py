"""What a store needs of a database: rows, transactions, and that nobody else writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from hushfade.errors import Failed
from hushfade.store import fail_points


class Database(Protocol):
    """One connection, which one thread uses at a time.  Placeholders are `?`."""

    kinds: ClassVar[dict[str, str]]  # the database's names for 'blob', 'integer' and 'real'
    recovered: bool  # was there a log of a process that did not close it?

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows."""

    def write(self, sql: str, *values: Any) -> None:
        """Change something, inside a transaction."""

    def tables(self) -> set[str]:
        """The names of the tables that are there."""

    def transaction(self) -> AbstractContextManager[None]:
        """All that is written in the block is on the disk when it ends, or nothing is."""

    def sound(self) -> None:
        """Failed, if the database itself finds that it is damaged."""

    def tidy(self) -> None:
        """Empty the log, if it can be done now: nothing is left there of what was erased."""

    def backup(self, path: Path) -> None:
        """A copy of what is committed, in a new file."""

    def close(self) -> None:
        """End the connection, and let somebody else write."""


def failed(deed: str, reason: str) -> Failed:
    """That the database cannot be `deed`, in our words: what it says may show content."""
    safe = "; nothing was published" if deed == "written" else ""
    return Failed(f"the database cannot be {deed}: {reason}{safe}")


@contextmanager
def committed(database: Database, begin: str, rollback: Callable[[], None]) -> Iterator[None]:
    """A transaction in the order that every store keeps: the block, the commit, or the rollback."""
    database.write(begin)
    try:
        yield
        fail_points.reached("before commit")
        database.write("COMMIT")
        fail_points.reached("after commit")
    except BaseException:
        rollback()
        raise
