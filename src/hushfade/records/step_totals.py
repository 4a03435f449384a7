"""The totals of all steps: each record becomes units of the grid, added to its step and key.

The order of the records does not matter, except to the limits per person.  hushfade drops and
counts records outside the declared steps, records with an undeclared key, records beyond a person's
limits, and records without a value.  The counts are as private as the data: they are for the
operator, not for publication.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidValue, Malformed
from hushfade.private.unit_sums import UnitSums
from hushfade.records import parse_columns as read
from hushfade.records.batch import Batch, Columns
from hushfade.records.calendar import Calendar, Order, RowOrder
from hushfade.records.limits import Bounding, Limits
from hushfade.records.parse_columns import Mask

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

LARGEST = 1 << 27  # totals of all steps and keys: a gigabyte
AHEAD = 1 << 10  # steps that may be open at once where their number is not declared


@dataclass
class Counts:
    """What became of the records.  Private."""

    records: int = 0
    outside: int = 0  # before the first or after the last step
    late: int = 0  # their step had closed
    over_limit: int = 0  # beyond a person's limits
    other_keys: int = 0  # of no declared key
    empty: int = 0  # without a value

    @property
    def counted(self) -> int:
        """Those that entered a total."""
        dropped = self.outside + self.late + self.over_limit + self.other_keys + self.empty
        return self.records - dropped


@dataclass(frozen=True, repr=False)
class Tally:
    """Totals in units, (steps, lanes), and what became of the records.  Private."""

    totals: Signed
    counts: Counts


_ZONES = {
    True: "times with a zone, or in numbers, are UTC: the start must have a zone, as 2026-01-31Z",
    False: "times have no zone, but the start has one, and the clock is UTC where lines come live",
}


class Reader:
    """Reads batches for one plan: which step, which key, how much, of whom.

    `closed` is how many steps have closed: a record of theirs comes too late.  Records without a
    time belong to the step after these, or to none before the first step has `started`.
    """

    def __init__(
        self,
        plan: Plan,
        columns: Columns,
        order: Order,
        *,
        time_unit: str | None = None,
        skip_empty: bool = False,
    ) -> None:
        check_fit(plan, columns, order, skip_empty=skip_empty)
        self._grid, self._columns, self._order = plan.grid, columns, order
        self._time_unit, self._skip_empty = time_unit, skip_empty
        said = plan.guarantee
        limits = Limits(said.records_per_step, said.participations, said.separation)
        self._bounding = None if columns.user is None else Bounding(limits)
        self._people = read.People()
        self._rows = 0
        self.closed = 0
        self.started = True
        self.counts = Counts()

    @property
    def lanes(self) -> int:
        """The number of totals per step."""
        return self._grid.lanes

    def sums(self, cells: int) -> UnitSums:
        """Sums of units for this many cells, all 0."""
        return UnitSums(cells, largest=self._grid.largest_unit)

    @property
    def steps(self) -> int:
        """How many steps the declared time or the rows so far have; the last may lack rows."""
        if isinstance(self._order, RowOrder):
            return -(-self._rows // self._order.rows)
        return self.closed if self._order.steps is None else self._order.steps

    def read(self, batch: Batch) -> tuple[Signed, Signed]:
        """The cell, step · lanes + lane, and the units of each record that counts.

        A record outside the steps is dropped first.  The limits of one person come next: they look
        at times only, so that another value or key never lets another record in.
        """
        places = self._places(batch)
        units, there = self._units(batch)
        lanes = self._lanes(batch)
        users = self._users(batch)
        # nothing is refused any more: what is counted and remembered changes from here on
        self._rows += batch.rows
        inside = places >= 0
        if self._order.steps is not None:
            inside &= places < self._order.steps
        elif isinstance(self._order, Calendar):
            inside &= places < self.closed + AHEAD
        kept = inside & (places >= self.closed)
        self.counts.records += batch.rows
        self.counts.outside += int(np.sum(~inside))
        self.counts.late += int(np.sum(inside & ~kept))
        if self._bounding is not None:
            rows = np.flatnonzero(kept)
            within = self._bounding.kept(users[rows], places[rows])
            self.counts.over_limit += int(np.sum(~within))
            kept[rows[~within]] = False
        self.counts.other_keys += int(np.sum(kept & (lanes < 0)))
        kept &= lanes >= 0
        self.counts.empty += int(np.sum(kept & ~there))
        kept &= there
        return (places * self._grid.lanes + lanes)[kept], units[kept]

    def _places(self, batch: Batch) -> Signed:
        if isinstance(self._order, RowOrder):
            rows = self._rows + np.arange(batch.rows, dtype=np.int64)
            return np.asarray(rows // self._order.rows)
        if not isinstance(self._order, Calendar) or self._columns.time is None:
            # a record belongs to the step that is open when it arrives
            return np.full(batch.rows, self.closed if self.started else -1, dtype=np.int64)
        times, zoned = read.times(batch, self._columns.time, unit=self._time_unit)
        if zoned != self._order.zoned and batch.rows:
            raise Malformed(f"{batch.place(0)}, column {self._columns.time!r}: {_ZONES[zoned]}")
        return self._order.places(times)

    def _units(self, batch: Batch) -> tuple[Signed, Mask]:
        if self._columns.value is None:
            unit = int(self._grid.units(1.0))
            return np.full(batch.rows, unit, dtype=np.int64), np.ones(batch.rows, dtype=np.bool_)
        values, there = read.numbers(batch, self._columns.value, skip_empty=self._skip_empty)
        return self._grid.units(values), there

    def _users(self, batch: Batch) -> Signed:
        if self._columns.user is None:
            return np.zeros(batch.rows, dtype=np.int64)
        return self._people.numbers(batch, self._columns.user)

    def _lanes(self, batch: Batch) -> Signed:
        if self._grid.keys is None:
            return np.zeros(batch.rows, dtype=np.int64)
        assert self._columns.key is not None
        return read.keys(batch, self._columns.key, self._grid.keys)


def check_fit(plan: Plan, columns: Columns, order: Order, *, skip_empty: bool) -> None:
    """Refuse what does not fit together, or would break the plan's guarantee."""
    grid = plan.grid
    if grid.norm is not None:
        raise InvalidValue("events have numbers: a plan for vectors does not fit")
    if (columns.key is None) != (grid.keys is None):
        raise InvalidValue("a key column and declared keys go together")
    if columns.time is not None and not isinstance(order, Calendar):
        raise InvalidValue("a time column needs steps of time")
    if isinstance(order, RowOrder):
        if columns.value is None:
            raise InvalidValue("rows in order need a column of values: else each step is the same")
        if plan.guarantee.neighbours != "replace":
            raise InvalidValue(
                "must be replace where the rows are the steps: removing a row would move all "
                "later ones",
                argument="neighbours",
            )
    replaced = skip_empty and plan.guarantee.neighbours == "replace"
    if replaced and not grid.low <= 0.0 <= grid.high:
        raise InvalidValue(
            "needs 0 between low and high where records are replaced: a value that becomes empty "
            "counts as 0",
            argument="skip_empty",
        )


def tally(batches: Iterable[Batch], reader: Reader) -> Tally:
    """The totals of all declared steps; in row order, of as many steps as there are rows for.

    Memory: 8 bytes per step and key, and the largest batch.
    """
    lanes = reader.lanes
    check_size(reader.steps, lanes)
    sums = reader.sums(max(reader.steps, 1) * lanes)
    for batch in batches:
        cells, units = reader.read(batch)
        top = int(cells.max(initial=-1)) + 1
        room = len(sums.totals)
        if top > room:
            check_size(-(-top // lanes), lanes)
            sums.grow(max(top, min(2 * room, LARGEST)))
        sums.add(cells, units)
    steps = reader.steps
    return Tally(sums.totals[: steps * lanes].reshape(steps, lanes), reader.counts)


def check_size(steps: int, lanes: int) -> None:
    """Refuse a table that does not fit into memory."""
    if not steps * lanes <= LARGEST:
        raise InvalidValue(
            f"steps × keys must be at most {LARGEST}",
            got=f"{steps} × {lanes}",
            remedy="use longer steps, or several runs with some of the keys each",
        )
