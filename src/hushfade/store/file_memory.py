"""Which steps count per person, for streams that files feed: keyed digests, never names.

Each stretch has its own secret.  When a stretch is over, the store erases its secret and its rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushfade.store import persons

if TYPE_CHECKING:
    from hushfade.records.persons import Counted
    from hushfade.store.database import Database

SOURCES = -(1 << 62)  # the stretch whose secret is for the digests of files: it never ends


class Remembered:
    """What the store knows of a stream's persons, in memory.  `closed`: its closed steps."""

    def __init__(self, closed: int = 0) -> None:
        self._closed = closed
        self._secrets: dict[int, bytes] = {}
        self._rows: dict[tuple[int, bytes], tuple[int, int, int]] = {}

    @classmethod
    def of(cls, database: Database, stream: int, closed: int) -> Remembered:
        """The rows of a stream in the database."""
        found = cls(closed)
        for stretch, secret in database.read(
            "SELECT stretch, secret FROM person_secrets WHERE stream = ?", stream
        ):
            found._secrets[stretch] = bytes(secret)
        for row in persons.load(database, stream, found._secrets):
            found._rows[row.stretch, row.person] = row.steps, row.last - 1 - closed, row.records
        return found

    def earlier(self, person: str, stretch: int) -> tuple[int, int, int] | None:
        """How many steps count, the last one (the open step is 0), and its counted records."""
        if stretch not in self._secrets:
            return None
        return self._rows.get((stretch, self.digest(person.encode(), stretch)))

    def digest(self, content: bytes, stretch: int) -> bytes:
        """A digest that reveals nothing without the secret of the stretch."""
        secret = self._secrets.setdefault(stretch, os.urandom(32))
        return persons.digest(secret, content)

    def record(
        self, database: Database, stream: int, counted: Sequence[Counted], first: int
    ) -> None:
        """Write these rows, and erase the stretches before `first`, inside a transaction."""
        rows = [
            persons.Row(
                self.digest(one.person.encode(), one.stretch),
                one.stretch, one.steps, one.last + 1 + self._closed, one.records,
            )
            for one in counted
        ]  # fmt: skip
        persons.erase(database, stream, first)
        database.write(
            "DELETE FROM person_secrets WHERE stream = ? AND stretch < ? AND stretch <> ?",
            stream, first, SOURCES,
        )  # fmt: skip
        database.write_many(
            "INSERT INTO person_secrets (stream, stretch, secret) VALUES (?, ?, ?)"
            " ON CONFLICT (stream, stretch) DO NOTHING",
            [
                (stream, at, key)
                for at, key in self._secrets.items()
                if at >= first or at == SOURCES
            ],
        )
        persons.record(database, stream, rows)
