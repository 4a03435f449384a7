"""A store in PostgreSQL: the same tables and the same order, one writer by an advisory lock."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

import psycopg

from hushfade.errors import InUse, Refused
from hushfade.store.database import committed, failed

_PATIENCE = 1.0  # seconds that the server may take to see that a process is dead
_REASONS = {  # for some words in what is said: the rest may have a part of the password
    "Connection refused": "nothing listens at that host and port",
    "No such file": "no server runs there",
    "failed to resolve host": "there is no such host",
    "could not translate host": "there is no such host",
    "timeout": "the server does not answer",
    "password authentication failed": "user or password is wrong",
    "no password supplied": "a password is needed",
    "no pg_hba.conf entry": "the server does not let this user in from here",
    'database "': "there is no such database, or it is not this user's",
    'role "': "there is no such user",
    "too many clients": "the server has too many connections",
    "starting up": "the server is not ready yet",
    "shutting down": "the server is shutting down",
}
_LOCK = 0x68757368666164  # 'hushfad': the same for every process that writes to the database


class Postgres:
    """One connection, which holds the lock: if it breaks, so does the right to write.

    All that is written goes through the connection that has the lock, so a process that lost it
    cannot commit.  With `only_read` the lock is not asked for.
    """

    kinds: ClassVar[dict[str, str]] = {
        "blob": "BYTEA",
        "integer": "BIGINT",
        "real": "DOUBLE PRECISION",
    }

    recovered = False  # the server looks after its own log

    def __init__(self, where: str, *, only_read: bool = False) -> None:
        try:
            self._connection = psycopg.connect(where, autocommit=True)
        except psycopg.Error as error:
            raise failed("opened", _reason(error)) from None
        if only_read:
            self.read("SELECT set_config('default_transaction_read_only', 'on', false)")
            return
        self.read("SELECT set_config('synchronous_commit', 'on', false)")
        deadline = monotonic() + _PATIENCE
        while not self.read("SELECT pg_try_advisory_lock(?)", _LOCK)[0][0]:
            if monotonic() > deadline:
                self._connection.close()
                raise InUse("another process writes to this database")
            sleep(0.05)

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(_numbered(sql), values).fetchall()
        except psycopg.Error as error:
            raise failed("read", type(error).__name__) from None

    def write(self, sql: str, *values: Any) -> None:
        try:
            self._connection.execute(_numbered(sql), values)
        except psycopg.Error as error:
            raise failed("written", type(error).__name__) from None

    def tables(self) -> set[str]:
        named = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {name for (name,) in self.read(named)}

    def transaction(self) -> AbstractContextManager[None]:
        return committed(self, "BEGIN", self._undo)

    def _undo(self) -> None:
        with suppress(psycopg.Error):
            self._connection.execute("ROLLBACK")

    def sound(self) -> None:
        """PostgreSQL looks after its own pages: only that it answers is checked."""
        self.read("SELECT 1")

    def tidy(self) -> None:
        """PostgreSQL cleans up by itself, in its own time (autovacuum)."""

    def backup(self, path: Path) -> None:
        raise Refused("a PostgreSQL database must be backed up by pg_dump or its own means")

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._connection.execute("SELECT pg_advisory_unlock_all()")
            self._connection.close()


def _numbered(sql: str) -> Any:
    return sql.replace("?", "%s")


def _reason(error: psycopg.Error) -> str:
    """Why there is no connection, in words of ours: the address has a password."""
    if isinstance(error, psycopg.ProgrammingError) or "connection option" in str(error):
        return "its address must be as postgresql://user:password@host:port/name"
    found = (reason for words, reason in _REASONS.items() if words in str(error))
    return next(found, type(error).__name__)
