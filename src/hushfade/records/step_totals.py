"""The totals of all steps: each record becomes units of the grid, added to its step and key.

The order of the records does not matter, except to the limits per person.  hushfade drops and
counts records outside the declared steps, records with an undeclared key, records beyond a person's
limits, records without a value, and malformed lines that arrive live.  The counts are as private as
the data: they are for the operator, not for publication.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column, Signed
from hushfade.errors import InvalidValue
from hushfade.private import integer_totals
from hushfade.private.unit_sums import UnitSums
from hushfade.public.statistics import Share
from hushfade.records import parse_columns as read
from hushfade.records.batch import Batch, Columns
from hushfade.records.calendar import Order, RowOrder, Timed
from hushfade.records.counts import Counts
from hushfade.records.declared_columns import check_fit, may_leave_out
from hushfade.records.faults import EMPTY, NO_VALUE, Faults
from hushfade.records.parse_columns import Mask
from hushfade.records.people import Names
from hushfade.records.persons import Persons
from hushfade.records.time_columns import check_unit, times
from hushfade.records.work_ahead import ahead

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

LARGEST = 1 << 27  # totals of all steps and keys: a gigabyte
AHEAD = 1 << 10  # the number of open steps, if the number of steps is not declared


@dataclass(frozen=True, repr=False)
class Tally:
    """Totals in units, (steps, lanes), and the counts of records.  Private.

    `by_source` has the counts of each file with records, by the number of the file.
    """

    totals: Signed
    counts: Counts
    by_source: Mapping[int, Counts]


@dataclass(frozen=True, repr=False)
class _Rows:
    """Parsed rows: step, lane, units and person.  Private.

    `places` is None if the order of the rows, or their arrival, determines their step.
    """

    places: Signed | None
    lanes: Signed
    units: Signed
    present: Mask  # which rows have a value
    names: Names | None
    source: int = 0  # the number of their file

    def __getitem__(self, chosen: Mask) -> _Rows:
        names = None if self.names is None else self.names[chosen]
        places = None if self.places is None else self.places[chosen]
        return _Rows(
            places, self.lanes[chosen], self.units[chosen], self.present[chosen], names, self.source
        )


class Reader:
    """Reads batches for one plan: the step, key, units and person of each record.

    `closed` is the number of closed steps: their records are late.  Records without a time belong
    to the step after these, or to no step before the first step has `started`.
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
        check_unit(time_unit)
        if time_unit is not None and isinstance(order, Timed) and not order.zoned:
            raise InvalidValue(
                "must have a time zone, such as 2026-01-31Z, because numeric times are UTC",
                argument="start",
            )
        self._grid, self._columns, self._order = plan.grid, columns, order
        self._time_unit, self._skip_empty = time_unit, skip_empty
        self._persons = None
        if columns.user is not None:
            self._persons = Persons(plan.guarantee.protects, order)
        self._rows = 0
        self.may_leave_out = may_leave_out(plan)
        self.closed = 0
        self.started = True
        self.continues = False  # earlier files have closed the steps before the first
        self.counts = Counts()
        self.first_fault: str | None = None  # of live lines
        self.stopped = 0  # totals of live steps that were cut at the plan's largest total

    @property
    def persons(self) -> Persons | None:
        """The limits per person; None without a column of persons."""
        return self._persons

    @property
    def lanes(self) -> int:
        """The number of totals per step."""
        return self._grid.lanes

    @property
    def largest_total(self) -> int:
        """The largest total per step and key that the plan supports, in units."""
        return self._grid.largest_total

    def sums(self, cells: int) -> UnitSums:
        """Sums of units for this many cells, all 0."""
        return UnitSums(cells, largest=self._grid.largest_unit)

    @property
    def steps(self) -> int:
        """The number of steps, declared or from the rows so far; the last may be incomplete."""
        if isinstance(self._order, RowOrder):
            return -(-self._rows // self._order.rows)
        return self.closed if self._order.steps is None else self._order.steps

    def close(self) -> None:
        """Close the oldest open step."""
        self.closed += 1
        if self._persons is not None:
            self._persons.close(self.closed)

    def read(self, batch: Batch) -> tuple[Signed, Signed]:
        """The cell, step · lanes + lane, and the units of each record that counts.

        Raise Malformed, and change nothing, if a row is malformed.
        """
        return self.counted(self.parsed(batch))

    def parsed(self, batch: Batch) -> _Rows:
        """The rows of a batch; raise Malformed if one is malformed.  The reader does not change.

        So a thread may parse later batches while another one counts earlier ones.
        """
        rows, faults = self._rows_of(batch)
        faults.check(batch.place)
        return rows

    def read_live(self, batch: Batch) -> tuple[Signed, Signed]:
        """The same, but drop and count malformed rows, without an effect on other persons.

        A row whose value or key is malformed uses up the limits of its person.  If it did not,
        another value would admit another record of that person.
        """
        rows, faults = self._rows_of(batch)
        wrong = faults.codes != 0
        if faults:
            self.reject(int(np.sum(wrong)), faults.first(batch.place))
            columns = self._columns
            time_and_person = {columns.time, columns.user}
            legible = ~faults.beyond(set(columns.roles().values()) - time_and_person)
            rows, wrong = rows[legible], wrong[legible]
        return self.counted(rows, wrong)

    def reject(self, records: int, fault: str) -> None:
        """Count malformed records; `fault` is the first of them in words."""
        self.first_fault = self.first_fault or fault
        self.counts.records += records
        self.counts.rejected += records

    def _rows_of(self, batch: Batch) -> tuple[_Rows, Faults]:
        """The rows and their faults.  The reader does not change."""
        columns, faults = self._columns, Faults(batch.rows, batch.faults)
        places = self._places(batch, faults)
        units, present = self._units(batch, faults)
        lanes, found = np.zeros(batch.rows, dtype=np.int64), None
        if self._grid.keys is not None:
            assert columns.key is not None
            keys = columns.key_columns()
            if len(keys) > 1:
                lanes, found_codes = read.joined_keys(batch, keys, self._grid.keys)
                for name, codes in found_codes.items():
                    faults.add(name, codes)
            else:
                lanes, codes = read.keys(batch, columns.key, self._grid.keys)
                faults.add(columns.key, codes)
        if columns.user is not None:
            found, codes = read.names(batch, columns.user)
            faults.add(columns.user, codes)
        return _Rows(places, lanes, units, present, found, batch.source), faults

    def counted(self, rows: _Rows, wrong: Mask | None = None) -> tuple[Signed, Signed]:
        """The cells and units of the rows that count.

        The reader first drops records outside the steps.  Then it applies the limits per person,
        which depend only on times, so that another value or key never admits another record.
        Rows that are `wrong` are counted as malformed already, and use up limits.
        """
        places, lanes, count = self._places_of(rows), rows.lanes, len(rows.lanes)
        if wrong is None:
            wrong = np.zeros(count, dtype=np.bool_)
        self._rows += count
        inside = places >= 0
        if self._order.steps is not None:
            inside &= places < self._order.steps
        elif isinstance(self._order, Timed):
            inside &= places < self.closed + AHEAD
        kept = inside & (places >= self.closed)
        self.counts.records += count - int(np.sum(wrong))
        late = inside & ~kept
        if self.continues:
            late |= places < 0
        self.counts.outside += int(np.sum(~inside & ~late & ~wrong))
        self.counts.late += int(np.sum(late & ~wrong))
        if self._persons is not None:
            assert rows.names is not None
            chosen = np.flatnonzero(kept)
            within = self._persons.kept(rows.names[chosen], places[chosen])
            self.counts.over_limit += int(np.sum(~within & ~wrong[chosen]))
            kept[chosen[~within]] = False
        kept &= ~wrong
        self.counts.other_keys += int(np.sum(kept & (lanes < 0)))
        kept &= lanes >= 0
        self.counts.empty += int(np.sum(kept & ~rows.present))
        kept &= rows.present
        groups = self._grid.lanes // self._grid.parts
        return self._grid.spread((places * groups + lanes)[kept], rows.units[kept])

    def _places_of(self, rows: _Rows) -> Signed:
        """The step of each row."""
        if rows.places is not None:
            return rows.places
        if isinstance(self._order, RowOrder):
            numbers = self._rows + np.arange(len(rows.lanes), dtype=np.int64)
            return np.asarray(numbers // self._order.rows)
        # a record belongs to the step that is open when it arrives
        return np.full(len(rows.lanes), self.closed if self.started else -1, dtype=np.int64)

    def _places(self, batch: Batch, faults: Faults) -> Signed | None:
        if not isinstance(self._order, Timed) or self._columns.time is None:
            return None
        name = self._columns.time
        found, codes = times(batch, name, unit=self._time_unit, zoned=self._order.zoned)
        faults.add(name, codes)
        return self._order.places(found)

    def _units(self, batch: Batch, faults: Faults) -> tuple[Signed, Mask]:
        name = self._columns.value
        statistic = self._grid.statistic
        if isinstance(statistic, Share) and statistic.of is not None:
            assert name is not None
            places, codes = read.keys(batch, name, (statistic.of,), role="value")
            present = ~read.nulls(batch.columns["value"])
            if not self._skip_empty:
                codes[~present & (codes == 0)] = NO_VALUE
            faults.add(name, codes)
            return (places == 0).astype(np.int64), present
        if name is None:
            unit = int(self._grid.units(1.0))
            return np.full(batch.rows, unit, dtype=np.int64), np.ones(batch.rows, dtype=np.bool_)
        values, present = self._numbers(batch, faults, name, "value")
        if self._columns.denominator is not None:
            other = self._columns.denominator
            below, also = self._numbers(batch, faults, other, "denominator")
            values, present = np.stack([values, below], axis=1), present & also
        return self._grid.units(values), present

    def _numbers(self, batch: Batch, faults: Faults, name: str, role: str) -> tuple[Column, Mask]:
        """The numbers of a column, 0 for those at fault, and which rows have one."""
        if isinstance(self._grid.statistic, Share):
            values, codes = read.truths(batch, name)
        else:
            values, codes = read.numbers(batch, name, role)
        present = codes != EMPTY
        codes[~present] = 0 if self._skip_empty else NO_VALUE
        faults.add(name, codes)
        if codes.any():
            values = np.where(codes == 0, values, 0.0)
        return values, present


def tally(batches: Iterable[Batch], reader: Reader, *, may_wait: bool = False) -> Tally:
    """The totals of all declared steps, or of all steps of rows.

    Threads read and parse batches in advance, unless reading `may_wait` for somebody's input.

    Raise if the plan does not support a total, before noise is drawn for any step.
    Memory: 8 bytes per step and key, and the largest batch.
    """
    lanes = reader.lanes
    check_size(reader.steps, lanes)
    sums = reader.sums(max(reader.steps, 1) * lanes)
    parsed = map(reader.parsed, batches) if may_wait else ahead(_parsed(batches, reader))
    by_source: dict[int, Counts] = {}
    for rows in parsed:
        before = replace(reader.counts)
        cells, units = reader.counted(rows)
        by_source.setdefault(rows.source, Counts()).add(reader.counts, before)
        top = int(cells.max(initial=-1)) + 1
        room = len(sums.totals)
        if top > room:
            check_size(-(-top // lanes), lanes)
            sums.grow(max(top, min(2 * room, LARGEST)))
        sums.add(cells, units)
    steps = reader.steps
    check_size(steps, lanes)
    sums.grow(steps * lanes)  # the last rows may have entered no total
    totals = sums.totals[: steps * lanes].reshape(steps, lanes)
    bounded = integer_totals.bounded(totals, reader.largest_total)
    return Tally(bounded, reader.counts, by_source)


def check_size(steps: int, lanes: int) -> None:
    """Raise if the totals do not fit into memory."""
    if not steps * lanes <= LARGEST:
        raise InvalidValue(
            f"steps × keys must be at most {LARGEST}",
            got=f"{steps} × {lanes}",
            remedy="use longer steps, or several runs with fewer keys each",
        )


def _parsed(batches: Iterable[Batch], reader: Reader) -> Iterator[_Rows]:
    with closing(ahead(batches)) as found:
        for batch in found:
            yield reader.parsed(batch)
