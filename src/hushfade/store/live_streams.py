"""A stream of the store in memory: its mechanism, and the totals of the open step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.check import Column, Signed
from hushfade.crossing import memory
from hushfade.errors import Failed, InvalidType, InvalidValue, Refused
from hushfade.planning.plan import Plan
from hushfade.private.unit_sums import overflow
from hushfade.records.blank_names import blank
from hushfade.store import persons
from hushfade.store.database import Database, Writable
from hushfade.stream import ownership, saved_state
from hushfade.stream.stream import Stream

if TYPE_CHECKING:
    from hushfade.crossing.key_file import KeyFile
    from hushfade.store.batch import Batch, PersonRecords
    from hushfade.store.ledger_table import Book


SENDERS = 100_000  # per stream and token: each is remembered until the stream ends
WINDOW = 1000  # the largest jump of a sender's sequence number
GATHERED = 1000  # batches of an open step, which are then replaced by their sum
_ERASED = 100_000  # batches that one statement erases


class Live:
    """The committed state of a stream, and the rows that each change writes.

    The database contains a saved state, the traces of later steps, and the batches of the open
    step.  Saving a newer state erases the traces, after as many steps as the private half
    remembers.  So the store keeps a total for at most twice the steps that the mechanism needs.
    """

    def __init__(self, number: int, name: str, plan: Plan, epoch: int, steps: int) -> None:
        self.number, self.name, self.plan, self.epoch, self.steps = number, name, plan, epoch, steps
        self.settings: dict[str, Any] = {}
        self.enforced: persons.Enforced | None = None  # None: limits per person are assumed
        self.totals: Signed = np.zeros(plan.grid.lanes, dtype=np.int64)
        self.records = 0
        self.senders: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self._owners: Counter[str] = Counter()  # the number of senders of each token
        self._stream: Stream | None = None  # None after the end, and without its noise key
        self.ended = True  # whether the stream accepts no further steps
        self._batches = 0
        self._traces = 0
        self._memory = memory.rows(plan.pair, plan.grid.lanes).past

    @property
    def from_files(self) -> bool:
        """Whether `hushfade run --store` feeds the stream from files."""
        return "files" in self.settings

    @classmethod
    def load(
        cls,
        database: Database,
        book: Book,
        name: str,
        *,
        again: bool = False,
        noise: KeyFile | None = None,
    ) -> Live:
        """The stream in the database.

        Raise Failed if its state does not match its releases, or its plan was not charged.  If it
        is loaded `again` after a failed transaction, steps that were not committed are withdrawn.
        Without the `noise` of a keyed stream, its state is checked, and no step can be closed.
        """
        rows = database.read(
            "SELECT stream, plan, settings, epoch, ended FROM streams WHERE name = ?", name
        )
        if not rows:
            raise InvalidValue("stream must exist in the store", got=repr(name))
        number, text, settings, epoch, ended = rows[0]
        ((steps,),) = database.read(
            "SELECT COALESCE(MAX(step), 0) FROM releases WHERE stream = ?", number
        )
        found = cls(number, name, plan_in(text), epoch, steps)
        book.check_charged(name, epoch, found.plan)
        found.settings = json.loads(settings)
        found.ended = bool(ended)
        if found.settings.get("persons") is True:
            order = persons.order_in(found.settings.get("times"))
            found.enforced = persons.Enforced.of(found.plan.guarantee.protects, order)
        if not ended:
            found._resume(database, again=again, noise=noise)
        for at, records, lanes, units in _paged(
            database,
            "SELECT number, records, lanes, units FROM batches WHERE stream = ? AND number > ?"
            " ORDER BY number LIMIT 100",
            number, 0,
        ):  # fmt: skip
            found._batches = at
            found._sum(records, _numbers(lanes), _numbers(units))
        found.senders = dict(
            _paged(
                database,
                "SELECT sender, sequence FROM senders WHERE stream = ? AND sender > ?"
                " ORDER BY sender LIMIT 10000",
                number, "",
            )
        )  # fmt: skip
        found._owners.update(map(_owner, found.senders))
        found.counts = dict(
            database.read("SELECT name, number FROM counts WHERE stream = ?", number)
        )
        return found

    def _resume(self, database: Database, *, again: bool, noise: KeyFile | None) -> None:
        ((state,),) = database.read("SELECT state FROM states WHERE stream = ?", self.number)
        if noise is None and self.from_files and self.settings["files"]["keyed"]:
            saved_state.read(bytes(state))  # raises if it is damaged
            return
        if again:
            ownership.withdraw(saved_state.read(bytes(state)).identity, self.steps)
        rows = _paged(
            database,
            "SELECT step, trace FROM traces WHERE stream = ? AND step > ? ORDER BY step LIMIT 10",
            self.number, 0,
        )  # fmt: skip
        traces = [bytes(trace) for _, trace in rows]
        self._stream = Stream.load(bytes(state), plan=self.plan, noise=noise, traces=traces)
        self._traces = len(traces)
        if self._stream.steps != self.steps:
            raise Failed(f"stream {self.name!r} must have a release for each step")

    def fits(self, batches: Sequence[Batch]) -> None:
        """Raise if a batch is invalid, before any change."""
        self.check_not_from_files()
        if self.ended:
            raise Refused(f"stream {self.name!r} has ended: add a new stream for later records")
        new = {batch.sender for batch in batches} - self.senders.keys()
        owners = Counter(map(_owner, new))
        if any(self._owners[owner] + count > SENDERS for owner, count in owners.items()):
            raise Refused(f"a token must have at most {SENDERS} senders per stream")
        grid = self.plan.grid
        for batch in batches:
            self._check_persons(batch)
            lanes, units = batch.lanes, batch.units
            if lanes.dtype != np.int64 or units.dtype != np.int64:
                raise InvalidType("lanes and units must be int64: quantise records by plan.grid")
            if lanes.ndim != 1 or lanes.shape != units.shape or len(np.unique(lanes)) < len(lanes):
                raise InvalidValue("lanes and units must be equally many, each lane once")
            if len(lanes) and not (lanes.min() >= 0 and lanes.max() < grid.lanes):
                raise InvalidValue(f"lanes must be in 0, ..., {grid.lanes - 1}")
            if batch.step is not None and not 1 <= batch.step <= self.steps + 1:
                raise Refused(f"step must not be beyond the open one, {self.steps + 1}")
            most = grid.largest_total
            if len(units) and not -most <= units.min() <= units.max() <= most:
                raise InvalidValue(f"units must be at most the plan's largest_total, {most}")
            if grid.statistic is not None and len(units) and units.min() < 0:
                raise InvalidValue("units of a statistic must not be negative: use plan.grid")

    def _check_persons(self, batch: Batch) -> None:
        """Raise unless each record has a person if and only if the store enforces limits."""
        if (batch.persons is None) != (self.enforced is None):
            if self.enforced is None:
                raise InvalidValue(
                    f"stream {self.name!r} does not enforce limits per person",
                    remedy="send records without persons",
                )
            raise InvalidValue(
                f"stream {self.name!r} enforces limits per person: each record needs its person"
            )
        if batch.persons is not None:
            if len(batch.lanes) or batch.records != len(batch.persons.users):
                raise InvalidValue("a batch with persons must have no other records")
            _check_records(self.plan, batch.persons)

    def check_not_from_files(self) -> None:
        """Raise if files feed the stream, so that nothing else may feed or close it."""
        if self.from_files:
            raise Refused(
                f"files feed stream {self.name!r}: send no records to it, and close its steps with "
                "hushfade run --store"
            )

    def admit(self, steps: int = 1) -> None:
        """Raise if the stream has ended or its horizon is reached, before any change."""
        if self.ended:
            raise Refused(f"stream {self.name!r} has ended: add a new stream for later records")
        horizon = self.plan.horizon
        if horizon is not None and self.steps + steps > horizon:
            raise Refused(
                f"steps must stay within the plan's horizon {horizon}",
                remedy="start a new stream for later records",
            )

    def accept(self, database: Database, batch: Batch) -> str:
        """'accepted', 'repeated', 'late' or 'ahead', with the rows to write."""
        last = self.senders.get(batch.sender, -1)
        late = batch.step is not None and batch.step <= self.steps
        if batch.sequence > last + WINDOW:
            return "ahead"
        if batch.sequence <= last:
            self.count(database, "repeated", batch.records)
            return "late" if late else "repeated"
        database.write(
            "INSERT INTO senders (stream, sender, sequence) VALUES (?, ?, ?)"
            " ON CONFLICT (stream, sender) DO UPDATE SET sequence = excluded.sequence",
            self.number, batch.sender, batch.sequence,
        )  # fmt: skip
        self._owners[_owner(batch.sender)] += batch.sender not in self.senders
        self.senders[batch.sender] = batch.sequence
        if late:
            self.count(database, "late", batch.records)
            return "late"
        lanes, units, records = batch.lanes, batch.units, batch.records
        if batch.persons is not None:
            lanes, units, records = self._counted(database, batch.persons)
        self._sum(records, lanes, units)
        self._batches += 1
        if self._batches % GATHERED == 0:  # else a long step would have rows without number
            self._erase_batches(database)
            records, lanes = self.records, np.flatnonzero(self.totals)
            units = self.totals[lanes]
        database.write(
            "INSERT INTO batches (stream, number, records, lanes, units) VALUES (?, ?, ?, ?, ?)",
            self.number, self._batches, records, _bytes(lanes), _bytes(units),
        )  # fmt: skip
        return "accepted"

    def _erase_batches(self, database: Writable) -> None:
        """Erase the batches of the open step, in statements of bounded size."""
        for last in range(_ERASED, self._batches + _ERASED, _ERASED):
            database.write(
                "DELETE FROM batches WHERE stream = ? AND number <= ?", self.number, last
            )

    def _counted(self, database: Database, given: PersonRecords) -> tuple[Signed, Signed, int]:
        """The sums of the records that count, and their number."""
        assert self.enforced is not None
        chosen = self.enforced.counted(database, self.number, self.steps + 1, given.users)
        lanes, units = given.sums(self.plan.grid, chosen)
        records = int(np.count_nonzero(chosen))
        if records < len(chosen):
            self.count(database, "over_limit", len(chosen) - records)
        return lanes, units, records

    def count(self, database: Database, name: str, number: int) -> None:
        """Count late or repeated records, or records beyond the limits per person."""
        self.counts[name] = self.counts.get(name, 0) + number
        database.write(
            "INSERT INTO counts (stream, name, number) VALUES (?, ?, ?)"
            " ON CONFLICT (stream, name) DO UPDATE SET number = excluded.number",
            self.number, name, self.counts[name],
        )  # fmt: skip

    def close(self, database: Writable, closed: int) -> tuple[Column, float]:
        """Close the step: its release, and all rows to write."""
        if self._stream is None:
            raise Refused(f"stream {self.name!r} has ended: add a new stream for later records")
        units = self.totals
        release = self._stream.step_lanes(units[0] if self.plan.grid.scalar else units)
        values = np.atleast_1d(np.asarray(release.value, dtype="<f8"))
        self._erase_batches(database)
        database.write(
            "INSERT INTO releases (stream, step, closed, stddev, value) VALUES (?, ?, ?, ?, ?)",
            self.number, release.step, closed, release.stddev, values.tobytes(),
        )  # fmt: skip
        if self._traces + 1 >= self._memory:
            self._traces = 0
            database.write(
                "UPDATE states SET steps = ?, state = ? WHERE stream = ?",
                release.step, self._stream.save(), self.number,
            )  # fmt: skip
            database.write("DELETE FROM traces WHERE stream = ?", self.number)
        else:
            self._traces += 1
            database.write(
                "INSERT INTO traces (stream, step, trace) VALUES (?, ?, ?)",
                self.number, release.step, self._stream.trace(),
            )  # fmt: skip
        self.steps = release.step
        self._blank()
        return values, release.stddev

    def forget(self, database: Database) -> bool:
        """Erase the persons that no further step needs; return whether a stretch is over."""
        return self.enforced is not None and self.enforced.forget(
            database, self.number, self.steps + 1
        )

    def end(self, database: Database) -> None:
        """End the stream, and erase its state, traces and open totals."""
        erase(database, self.number)
        self._blank()
        self.senders.clear()
        self._owners.clear()
        self.counts.clear()
        self._stream = None
        self.ended = True

    def _sum(self, records: int, lanes: Signed, units: Signed) -> None:
        """Add to the totals, which are cut at the plan's largest total.

        A refusal would reveal to the sender what others have sent.  Cutting a sum never increases
        the change that a record causes, so the guarantee holds.
        """
        most = self.plan.grid.largest_total  # the sum of two fits int64
        self.totals[lanes] = np.clip(self.totals[lanes] + units, -most, most)
        self.records += records

    def _blank(self) -> None:
        self.totals = np.zeros_like(self.totals)
        self.records = 0
        self._batches = 0


@lru_cache(64)
def plan_in(text: str) -> Plan:
    """The plan in a plan file.  Streams with the same plan share it."""
    return Plan.from_json(text)


def _check_records(plan: Plan, given: PersonRecords) -> None:
    """Raise unless the units of each record are what the plan's grid can return."""
    grid, cells, units = plan.grid, given.cells, given.units
    if not all(type(user) is str and not blank(user) for user in given.users):
        raise InvalidType("a record's person must be a string that is not blank")
    try:
        "".join(given.users).encode()
    except UnicodeEncodeError:  # its message contains the text
        raise InvalidValue("a record's person must be valid Unicode text") from None
    if cells.dtype != np.int64 or units.dtype != np.int64:
        raise InvalidType("cells and units must be int64: quantise records by plan.grid")
    shape = (len(cells), grid.width) if grid.norm is not None else (len(cells),)
    if len(given.users) != len(cells) or (len(cells) and units.shape != shape):
        raise InvalidValue("persons, cells and units must be equally many")
    keys = 1 if grid.keys is None else len(grid.keys)
    if len(cells) and not (cells.min() >= 0 and cells.max() < keys):
        raise InvalidValue(f"cells must be in 0, ..., {keys - 1}")
    if not len(cells) * grid.largest_unit <= grid.largest_total:
        raise overflow()
    if len(cells) and grid.statistic is None:
        low, high = (-grid.norm_unit, grid.norm_unit) if grid.norm is not None else grid.lane_units
        if not low <= units.min() <= units.max() <= high:
            raise InvalidValue("units must be within the plan's bounds: quantise by plan.grid")


def _paged(database: Database, sql: str, stream: int, after: Any) -> Iterator[tuple[Any, ...]]:
    """All rows of a stream, a few at a time, because each statement has a time limit.

    The query has the stream and the first column of the last row as its values.
    """
    while rows := database.read(sql, stream, after):
        yield from rows
        after = rows[-1][0]


def _owner(sender: str) -> str:
    """The token in a sender's name, or an empty string."""
    return sender.rpartition("\n")[0]


def erase(database: Database, number: int) -> None:
    """The statements that end the stream and erase its private data."""
    tables = ("batches", "traces", "states", "senders", "counts")
    persons.erase(database, number)
    for table in (*tables, "person_secrets", "sources"):
        database.write(f"DELETE FROM {table} WHERE stream = ?", number)
    database.write("UPDATE streams SET ended = 1 WHERE stream = ?", number)


def _bytes(numbers: Signed) -> bytes:
    return numbers.astype("<i8").tobytes()


def _numbers(data: bytes) -> Signed:
    return np.frombuffer(data, dtype="<i8").astype(np.int64)
