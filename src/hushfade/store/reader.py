"""Read access to a store, also while another process writes: releases, the ledger, budgets."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any

import numpy as np

from hushfade.check import Column
from hushfade.errors import Failed
from hushfade.planning.plan import Plan
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Loss
from hushfade.privacy.guarantee import Guarantee, epsilon_of
from hushfade.privacy.ledger import Entry, Joint
from hushfade.public.release import Release
from hushfade.public.statistic_release import StatisticRelease
from hushfade.store import schema
from hushfade.store.database import Database
from hushfade.store.ledger_table import Book
from hushfade.store.live_streams import Live, plan_in
from hushfade.store.open_store import connected

_PIECE = 1000  # rows read at a time
_HELD = 1 << 20  # numbers that a verification keeps in memory, for all streams together
_ROW = 64  # numbers that are as large as a release without its values


@dataclass(frozen=True)
class Published:
    """A release as it was committed: always the same bytes."""

    stream: str
    step: int
    closed: int  # nanoseconds since 1970
    values: Column  # one per lane: per key, or per coordinate, or the parts of a statistic
    stddev: float  # of the error of each value

    @property
    def digest(self) -> str:
        """The digest of the release, as in the ledger."""
        content = np.append(self.values, self.stddev).astype("<f8").tobytes()
        return hashlib.sha256(content).hexdigest()

    def release(self, plan: Plan) -> Release:
        """The release as `Stream.step` returned it; with a statistic a `StatisticRelease`.

        `plan` is the plan of the stream.  Value and interval of a statistic are computed from the
        committed values, by post-processing.
        """
        if plan.statistic is not None:
            steps = np.array([self.step], dtype=np.int64)
            readings = plan.readings(self.values[None, :], steps, np.array([self.stddev]))
            return StatisticRelease.of(readings, plan.keys)
        value: float | Column = float(self.values[0]) if plan.grid.scalar else self.values
        return Release(self.step, value, self.stddev, plan.keys, (), plan.errors)


class Turn:
    """The lock of a connection.  A forked child is refused: it would wait for its parent's threads.

    SQLite and PostgreSQL do not allow that two processes use one connection either.
    """

    def __init__(self) -> None:
        self._lock, self._process = RLock(), os.getpid()

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            raise Failed("a forked process must open the store itself: its parent uses this one")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Reader:
    """Read access to a store.  Threads take turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = Turn()
        self._book = Book(database)

    @classmethod
    def beside(cls, where: str | Path) -> Reader:
        """A reader of the store, which may be in use by another process."""
        database = connected(where, only_read=True)
        try:
            schema.check_format(database)
            return cls(database)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._database.close()

    def accounts(self) -> Mapping[str, Account]:
        """The budget and the spending of each dataset."""
        with self._turn:
            return self._book.accounts()

    def reserved(self) -> Mapping[str, str]:
        """The datasets of streams that joint charges have paid for and that do not exist yet."""
        with self._turn:
            reserved = self._book.totals().reserved
            return {name: reservation.dataset for name, reservation in reserved.items()}

    def joint(self, name: str) -> Joint | None:
        """The joint charge that paid for a stream; None if the stream was charged alone."""
        with self._turn:
            return self._book.totals().joint.get(name)

    def streams(self) -> list[str]:
        """The names of all streams, in the order in which they were added."""
        with self._turn:
            rows = self._database.read("SELECT name FROM streams ORDER BY stream")
            return [name for (name,) in rows]

    def epoch(self, name: str) -> int:
        """The number of new epochs of the stream."""
        with self._turn:
            rows = self._database.read("SELECT epoch FROM streams WHERE name = ?", name)
        return int(rows[0][0])

    def dataset(self, name: str) -> str:
        """The dataset of a stream."""
        with self._turn:
            ((dataset,),) = self._database.read("SELECT dataset FROM streams WHERE name = ?", name)
        return str(dataset)

    def steps(self, name: str) -> int:
        """The number of closed steps of a stream."""
        with self._turn:
            ((steps,),) = self._database.read(
                "SELECT COALESCE(MAX(step), 0) FROM releases WHERE stream ="
                " (SELECT stream FROM streams WHERE name = ?)",
                name,
            )
        return int(steps)

    def settings(self, name: str) -> dict[str, Any]:
        """The settings that were stored with the stream.  They contain no private data."""
        with self._turn:
            ((text,),) = self._database.read("SELECT settings FROM streams WHERE name = ?", name)
        found: dict[str, Any] = json.loads(text)
        return found

    def enforces(self, name: str) -> bool:
        """Whether the limits per person are enforced: by the store, or where files are read."""
        settings = self.settings(name)
        columns = settings.get("files", {}).get("columns", {})
        return settings.get("persons") is True or columns.get("user") is not None

    def plan(self, name: str) -> Plan:
        """The plan of a stream."""
        with self._turn:
            ((text,),) = self._database.read("SELECT plan FROM streams WHERE name = ?", name)
        return plan_in(text)

    def guarantee(self, name: str) -> Guarantee:
        """The guarantee of all releases of a stream, composed over its epochs."""
        with self._turn:
            planned = self.plan(name).guarantee
            if not self.epoch(name):
                return planned
            spent = self._book.published(name)
        if isinstance(spent, Loss):
            return replace(
                planned,
                epsilon=spent.epsilon,
                delta=spent.delta,
                declared_mu=None,
                declared_rho=None,
            )
        epsilon = epsilon_of(spent, planned.delta)
        return replace(planned, epsilon=epsilon, declared_mu=spent, declared_rho=None)

    def releases(self, name: str, *, after: int = 0, most: int | None = None) -> list[Published]:
        """The releases after a step, in order."""
        with self._turn:
            rows = self._database.read(
                "SELECT step, closed, value, stddev FROM releases WHERE stream ="
                " (SELECT stream FROM streams WHERE name = ?) AND step > ? ORDER BY step LIMIT ?",
                name, after, 2**31 if most is None else most,
            )  # fmt: skip
        return [
            Published(name, step, closed, np.frombuffer(value, dtype="<f8"), stddev)
            for step, closed, value, stddev in rows
        ]

    def entries(self) -> Iterator[Entry]:
        """The ledger."""
        found = self._book.entries()
        while True:
            with self._turn:
                piece = list(islice(found, _PIECE))
            if not piece:
                return
            yield from piece

    def verify(self) -> int:
        """The number of ledger entries.  Raise unless the chain is intact and matches the releases.

        Cost: one pass through the ledger and the releases, with few of them in memory.
        """
        return self.verified(inf)

    def verified(self, until: float) -> int:
        """The same as `verify`.  Raise Failed if the monotonic clock passes `until` first."""
        with self._turn:
            last = ledger.verified(self._entries_in_time(until))
            ledger.accounts(self._entries_in_time(until))
            names = self.streams()
            kept = {name: self._all(name, _HELD // len(names)) for name in names}
            for entry in self._entries_in_time(until):
                if entry.kind == "step":
                    told = entry.content
                    release = next(kept[told["stream"]], None)
                    if release is None or (release.step, release.digest) != (
                        told["step"], told["release"],
                    ):  # fmt: skip
                        raise _astray(told["stream"])
            for name, rest in kept.items():
                if next(rest, None) is not None:
                    raise _astray(name)
            return 0 if last is None else last.number

    def _entries_in_time(self, until: float) -> Iterator[Entry]:
        for entry in self._book.entries():
            if monotonic() > until:
                raise Failed("the store takes too long to verify: restart the service")
            yield entry

    def _all(self, name: str, numbers: int) -> Iterator[Published]:
        """All releases of a stream, read in pieces of this many numbers, or of one release."""
        after, most = 0, 1
        while piece := self.releases(name, after=after, most=most):
            yield from piece
            after = piece[-1].step
            most = max(1, min(_PIECE, numbers // (_ROW + len(piece[0].values))))

    def note(self, name: str) -> str:
        """A note that the service keeps for its next process, or an empty string."""
        with self._turn:
            rows = self._database.read("SELECT value FROM meta WHERE name = ?", f"note {name}")
        return str(rows[0][0]) if rows else ""

    def ping(self) -> None:
        """Raise Failed if the database does not respond."""
        with self._turn:
            self._database.read("SELECT 1")

    def check(self) -> None:
        """Raise Failed or Refused if the database or the state of a stream is damaged."""
        with self._turn:
            self._database.sound()
            for name in self.streams():
                Live.load(self._database, self._book, name)

    def backup(self, path: Path) -> None:
        """Copy all committed data to a new SQLite file.  For PostgreSQL use pg_dump."""
        with self._turn:
            self._database.backup(path)


def _astray(name: str) -> Failed:
    return Failed(f"the releases of stream {name!r} do not match the ledger")
