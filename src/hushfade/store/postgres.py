"""A store in PostgreSQL: the same tables and the same order, one writer by an advisory lock."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from hushfade.errors import Failed, InUse, Refused
from hushfade.store.database import committed, failed
from hushfade.store.statement_deadline import LOCK, ROWS, STATEMENT, Deadline

_PATIENCE = 1.0  # seconds for the server to notice that a process is dead
_REASONS = {  # by words in the server's message, which may contain a part of the password
    "Connection refused": "no server listens on this host and port",
    "file or directory": "no server runs on this host",
    "failed to resolve host": "the host name is unknown",
    "could not translate host": "the host name is unknown",
    "timeout": "the server does not respond",
    "password authentication failed": "the user or the password is wrong",
    "no password supplied": "a password is needed",
    "no pg_hba.conf entry": "the server does not allow this user to connect from this machine",
    'database "': "the database does not exist, or this user has no access",
    'role "': "the user does not exist",
    "too many clients": "the server has too many connections",
    "starting up": "the server is not ready yet",
    "shutting down": "the server is shutting down",
}
_PASSING = {  # reasons that can pass; an unknown host is more likely a wrong address
    _REASONS[words]
    for words in (
        "Connection refused", "file or directory", "timeout", "too many clients", "starting up",
        "shutting down",
    )
}  # fmt: skip
_CONNECTION = {  # unless the address says otherwise
    "connect_timeout": round(STATEMENT),  # seconds
    "tcp_user_timeout": round(2000 * STATEMENT),  # milliseconds: a dead network
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_SETTINGS = {  # the server ends what hushfade has given up
    "statement_timeout": f"{round(1000 * STATEMENT)}ms",
    "lock_timeout": f"{round(1000 * LOCK)}ms",
    "idle_in_transaction_session_timeout": "60s",  # while steps are computed
    # a server that does not notice a lost network would hold the lock for two hours
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_LOCK = 0x68757368666164  # 'hushfad': the same for every process that writes to the database


class Postgres:
    """A connection that holds the lock: a broken connection cannot write any more.

    All changes use the connection with the lock, so a process that lost the lock cannot commit.
    With `only_read` the connection does not take the lock.  A statement that gets no answer in time
    cuts the connection: whether it was committed is known when the next connection has the lock.
    """

    untidy = False  # the server empties its logs by itself
    kinds: ClassVar[dict[str, str]] = {
        "blob": "BYTEA",
        "integer": "BIGINT",
        "real": "DOUBLE PRECISION",
    }

    recovered = False  # the server recovers its own log

    def __init__(self, where: str, *, only_read: bool = False) -> None:
        try:
            given = conninfo_to_dict(where)
            more: dict[str, Any] = {x: _CONNECTION[x] for x in _CONNECTION if x not in given}
            self._connection = psycopg.connect(where, autocommit=True, **more)
        except psycopg.Error as error:
            reason = _reason(error)
            raise failed("opened", reason, passing=reason in _PASSING) from None
        self._deadline = Deadline(self._cut)
        for name, value in _SETTINGS.items():
            self.read("SELECT set_config(?, ?, false)", name, value)
        if only_read:
            self.read("SELECT set_config('default_transaction_read_only', 'on', false)")
            return
        self.read("SELECT set_config('synchronous_commit', 'on', false)")
        deadline = monotonic() + _PATIENCE
        while not self.read("SELECT pg_try_advisory_lock(?)", _LOCK)[0][0]:
            if monotonic() > deadline:
                self._connection.close()
                raise InUse(
                    "another process writes to this database: stop it, or wait until it has ended"
                )
            sleep(0.05)

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._deadline:
                return self._connection.execute(_numbered(sql), values).fetchall()
        except psycopg.Error as error:
            raise self._failed(error, "read") from None

    def write(self, sql: str, *values: Any) -> None:
        try:
            with self._deadline:
                self._connection.execute(_numbered(sql), values)
        except psycopg.Error as error:
            raise self._failed(error, "written") from None

    def write_many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        try:
            for at in range(0, len(rows), ROWS):
                with self._deadline:
                    self._connection.cursor().executemany(_numbered(sql), rows[at : at + ROWS])
        except psycopg.Error as error:
            raise self._failed(error, "written") from None

    def _failed(self, error: psycopg.Error, deed: str) -> Failed:
        late = self._deadline.passed or isinstance(error, psycopg.errors.QueryCanceled)
        reason = "the server does not respond" if late else type(error).__name__
        return failed(deed, reason, passing=late or isinstance(error, psycopg.OperationalError))

    def _cut(self) -> None:
        """Cut the connection, from another thread, so that the statement ends with an error."""
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    def tables(self) -> set[str]:
        named = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return {name for (name,) in self.read(named)}

    def transaction(self) -> AbstractContextManager[None]:
        return committed(self, "BEGIN", self._undo)

    def _undo(self) -> None:
        with suppress(psycopg.Error, Failed), self._deadline:
            self._connection.execute("ROLLBACK")

    def place(self) -> tuple[int, ...]:
        return ()

    def settled(self, seconds: float) -> None:
        """Do nothing: a PostgreSQL server restarts and reads its log again after a failed sync."""

    def sound(self, seconds: float | None = None) -> None:
        """Check that the server responds.  PostgreSQL checks its own pages."""
        self.read("SELECT 1")

    def tidy(self) -> None:
        """Do nothing: PostgreSQL cleans up by itself (autovacuum)."""

    def backup(self, path: Path) -> None:
        raise Refused("hushfade does not back up PostgreSQL databases: use pg_dump")

    def close(self) -> None:
        with suppress(psycopg.Error, Failed), self._deadline:
            if not self._connection.broken:
                self._connection.execute("SELECT pg_advisory_unlock_all()")
        with suppress(psycopg.Error):
            self._connection.close()


def _numbered(sql: str) -> Any:
    return sql.replace("?", "%s")


def _reason(error: psycopg.Error) -> str:
    """Why the connection failed, without the server's message, which may contain the password."""
    if isinstance(error, psycopg.ProgrammingError) or "connection option" in str(error):
        return "its address must have the form postgresql://user:password@host:port/name"
    found = (reason for words, reason in _REASONS.items() if words in str(error))
    return next(found, type(error).__name__)
