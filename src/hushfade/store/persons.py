"""Persons in the store: which records count under the limits per person.

Each person has one row per stretch of time, with the number of steps in which the person counts,
the last of these steps, and the number of counted records in it.  This suffices, because the store
adds records to the open step only, and steps close in order.

The store keeps no identifier.  A person is a digest of the identifier, keyed with a random secret
of the stream and stretch.  The secret and the rows are erased when the stretch is over, so digests
of different stretches cannot be linked.  Everything happens inside the current transaction, and
nothing stays in memory after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import InvalidValue
from hushfade.records.calendar import Calendar, Timed
from hushfade.records.limits import Bounding, Limits
from hushfade.records.local_calendar import Dates, LocalCalendar

if TYPE_CHECKING:
    from hushfade.privacy.unit import Unit
    from hushfade.store.database import Database

_PIECE = 500  # digests in one query
ERASED = 100_000  # rows in one statement
_SECRET, _DIGEST = 32, 16  # bytes

Mask = NDArray[np.bool_]


class Row(NamedTuple):
    """A person in a stretch: steps in which the person counts, the last one, its records."""

    person: bytes
    stretch: int
    steps: int
    last: int
    records: int


@dataclass(frozen=True)
class Enforced:
    """The limits per person of a stream, and the stretch of each step; steps count from 1."""

    limits: Limits
    period: str | None = None
    order: Timed | None = None

    @classmethod
    def of(cls, unit: Unit, order: Timed | None) -> Enforced:
        """The limits of a unit.  Raise if it has a period and the steps have no times."""
        if unit.period is not None and order is None:
            raise InvalidValue(
                "a unit with a period needs steps with times, which determine the period",
                remedy="declare when steps begin and how long they are, use within in place of "
                "period, or state that the limits are assumed",
            )
        return cls(Limits.of(unit), unit.period, order)

    def stretch(self, step: int) -> int:
        """The stretch of a step: 0 for the whole stream, the number of its period, or the step.

        >>> from hushfade.privacy.unit import Person
        >>> days = Calendar(0, 86_400 * 10**9, True)
        >>> weeks = Enforced.of(Person(period="week", steps=2), days)
        >>> [weeks.stretch(step) for step in range(1, 7)]  # 1970-01-01 was a Thursday
        [0, 0, 0, 0, 1, 1]
        """
        match self.limits.stretch:
            case "stream":
                return 0
            case "step":
                return step
        assert self.period is not None
        assert self.order is not None
        return Dates(self.period, self.order.zoned).containing(self.order.end_of(step - 1))

    def counted(self, database: Database, stream: int, step: int, users: Sequence[str]) -> Mask:
        """Which of these records of the open step count: the person of each, in order of arrival.

        The rows of the persons are updated.  Cost: one query per 500 persons, and one row each.
        """
        if not users:
            return np.zeros(0, dtype=np.bool_)
        stretch = self.stretch(step)
        key = secret(database, stream, stretch)
        place = {name: number for number, name in enumerate(dict.fromkeys(users))}
        persons = {digest(key, name.encode()): number for name, number in place.items()}
        bounding = Bounding(self.limits)
        rows = rows_of(database, stream, stretch, persons)
        earlier = [(persons[row.person], *row[1:]) for row in rows]
        bounding.resume(*np.array(earlier, dtype=np.int64).reshape(-1, 5).T)
        numbers = np.array([place[name] for name in users], dtype=np.int64)
        steps, stretches = np.full_like(numbers, step), np.full_like(numbers, stretch)
        renewed = self.limits.stretch != "stream"
        found = bounding.kept(numbers, steps, stretches if renewed else None)
        changed = set(numbers[found].tolist())
        known = list(persons)
        columns = zip(*(column.tolist() for column in bounding.counted()), strict=True)
        record(database, stream, [Row(known[n], *rest) for n, *rest in columns if n in changed])
        return found

    def forget(self, database: Database, stream: int, step: int) -> bool:
        """Erase what no step from `step` on needs; return whether a stretch is over."""
        before = self.stretch(step)
        if step <= 1 or self.stretch(step - 1) == before:
            return False
        erase(database, stream, before)
        database.write(
            "DELETE FROM person_secrets WHERE stream = ? AND stretch < ?", stream, before
        )
        return True


def secret(database: Database, stream: int, stretch: int) -> bytes:
    """The secret of a stretch, which is created with its first record."""
    found = database.read(
        "SELECT secret FROM person_secrets WHERE stream = ? AND stretch = ?", stream, stretch
    )
    if found:
        return bytes(found[0][0])
    made = os.urandom(_SECRET)
    database.write(
        "INSERT INTO person_secrets (stream, stretch, secret) VALUES (?, ?, ?)",
        stream, stretch, made,
    )  # fmt: skip
    return made


def digest(secret: bytes, content: bytes) -> bytes:
    """The digest of an identifier in a stretch: a pseudo-random function of its bytes."""
    return blake2b(content, digest_size=_DIGEST, key=secret).digest()


def rows_of(
    database: Database, stream: int, stretch: int, persons: Iterable[bytes]
) -> Iterable[Row]:
    """The rows of these persons in one stretch."""
    wanted = list(persons)
    for start in range(0, len(wanted), _PIECE):
        piece = wanted[start : start + _PIECE]
        places = ", ".join("?" * len(piece))
        for person, steps, last, records in database.read(
            "SELECT person, steps, last, records FROM persons"
            f" WHERE stream = ? AND stretch = ? AND person IN ({places})",
            stream, stretch, *piece,
        ):  # fmt: skip
            yield Row(bytes(person), stretch, steps, last, records)


def load(database: Database, stream: int, stretches: Iterable[int]) -> list[Row]:
    """All rows of these stretches."""
    found = []
    for stretch in stretches:
        for person, *rest in database.read(
            "SELECT person, stretch, steps, last, records FROM persons"
            " WHERE stream = ? AND stretch = ?",
            stream, stretch,
        ):  # fmt: skip
            found.append(Row(bytes(person), *rest))
    return found


def record(database: Database, stream: int, rows: Sequence[Row]) -> None:
    """Write the rows, in place of older rows of the same persons and stretches."""
    database.write_many(
        "INSERT INTO persons (stream, stretch, person, steps, last, records)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (stream, stretch, person) DO UPDATE"
        " SET steps = excluded.steps, last = excluded.last, records = excluded.records",
        [(stream, row.stretch, row.person, row.steps, row.last, row.records) for row in rows],
    )


def erase(database: Database, stream: int, before: int | None = None) -> None:
    """Erase the rows of stretches before this one, or all rows: in pieces of about a second.

    Each statement has a time limit.  A stretch may have millions of persons, and a step whose
    closing exceeds the limit could never be closed.
    """
    earlier = "" if before is None else f" AND stretch < {before:d}"
    rows = f"FROM persons WHERE stream = {stream:d}{earlier}"
    ((count,),) = database.read(f"SELECT COUNT(*) {rows}")
    for _ in range(0, count, ERASED):
        database.write(
            "DELETE FROM persons WHERE (stream, stretch, person) IN"
            f" (SELECT stream, stretch, person {rows} ORDER BY stretch, person LIMIT {ERASED})"
        )


# The times of steps, in the settings of a stream -------------------------------------------------


def order_document(order: Timed) -> dict[str, Any]:
    """The times of steps as JSON data: the declared length, and the start in nanoseconds."""
    every = order.every if isinstance(order, Calendar) else order.step
    return {"every": every, "start": order.start, "zoned": order.zoned}


def order_in(document: dict[str, Any] | None) -> Timed | None:
    """The times of steps in JSON data; None without them.

    >>> order_in(order_document(Calendar(0, 10**9, True)))
    Calendar(start=0, every=1000000000, zoned=True, steps=None)
    """
    if document is None:
        return None
    every, start, zoned = document["every"], document["start"], document["zoned"]
    if isinstance(every, int):
        return Calendar(start, every, zoned)
    dates = Dates(every, zoned)
    return LocalCalendar(dates, dates.containing(start))
