"""What may be read of a store, by its writer or beside it: releases, the ledger, budgets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import RLock

import numpy as np

from hushfade.check import Column
from hushfade.errors import Failed, Refused
from hushfade.planning.plan import Plan
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Loss
from hushfade.privacy.guarantee import Guarantee, epsilon_of
from hushfade.privacy.ledger import Entry
from hushfade.store import schema
from hushfade.store.database import Database
from hushfade.store.ledger_table import Book
from hushfade.store.live_streams import Live
from hushfade.store.open_store import connected

_PIECE = 1000  # rows that are read at a time


@dataclass(frozen=True)
class Published:
    """A release as it was committed: these bytes, whenever it is asked for."""

    stream: str
    step: int
    closed: int  # nanoseconds since 1970
    values: Column
    stddev: float

    @property
    def digest(self) -> str:
        """Of what was released, as the ledger has it."""
        content = np.append(self.values, self.stddev).astype("<f8").tobytes()
        return hashlib.sha256(content).hexdigest()


class Reader:
    """A store that is only read.  Threads take turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = RLock()
        self._book = Book(database)

    @classmethod
    def beside(cls, where: str | Path) -> Reader:
        """The store at the place, read beside the process that writes to it, if there is one."""
        database = connected(where, only_read=True)
        try:
            if schema.version(database) != schema.VERSION:
                raise Refused(f"the store must be of version {schema.VERSION}: open it once")
            return cls(database)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """End the connection."""
        with self._turn:
            self._database.close()

    def accounts(self) -> Mapping[str, Account]:
        """The budget of each dataset, and what was spent of it."""
        with self._turn:
            return self._book.accounts()

    def streams(self) -> list[str]:
        """The names of all streams, in the order they were added."""
        with self._turn:
            rows = self._database.read("SELECT name FROM streams ORDER BY stream")
            return [name for (name,) in rows]

    def epoch(self, name: str) -> int:
        """How often the stream was opened as a new epoch."""
        with self._turn:
            rows = self._database.read("SELECT epoch FROM streams WHERE name = ?", name)
        return int(rows[0][0])

    def plan(self, name: str) -> Plan:
        """The plan of a stream."""
        with self._turn:
            ((text,),) = self._database.read("SELECT plan FROM streams WHERE name = ?", name)
        return Plan.from_json(text)

    def guarantee(self, name: str) -> Guarantee:
        """The guarantee of all that a stream has published: after a new epoch, all composed."""
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
        """How many entries the ledger has, if it is whole and the releases are those it names.

        Cost: one pass through the ledger and the releases, a thousand of them in memory.
        """
        with self._turn:
            last = ledger.verified(self._book.entries())
            self._book.accounts()
            kept = {name: self._all(name) for name in self.streams()}
            for entry in self._book.entries():
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

    def _all(self, name: str) -> Iterator[Published]:
        """All releases of a stream, read in pieces."""
        after = 0
        while piece := self.releases(name, after=after, most=_PIECE):
            yield from piece
            after = piece[-1].step

    def check(self) -> None:
        """Failed or Refused, if the database or a stream's state is damaged."""
        with self._turn:
            self._database.sound()
            for name in self.streams():
                Live.load(self._database, name)

    def backup(self, path: Path) -> None:
        """A copy of what is committed, in a new SQLite file; PostgreSQL has its own way."""
        with self._turn:
            self._database.backup(path)


def _astray(name: str) -> Failed:
    return Failed(f"the releases of stream {name!r} must be those of the ledger")
