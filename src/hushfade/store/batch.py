"""Records of one stream, summed in integer units per lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.private import real_numbers
from hushfade.private.unit_sums import UnitSums, summed

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.private.grid import Grid


_NONE: Signed = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, repr=False)
class PersonRecords:
    """Records with their persons, in order of arrival, before the limits per person.

    `cells` has the place of each record's key, or 0.  `units` is what `Grid.units` returns: one
    number per record, or one row for vectors.  The store sums the records that count.
    """

    users: Sequence[str]
    cells: Signed
    units: Signed

    def sums(self, grid: Grid, counted: Any) -> tuple[Signed, Signed]:
        """The lanes of the counted records, each once, and the sum of the units in each lane."""
        return sums_by_lane(grid, self.cells[counted], self.units[counted])


@dataclass(frozen=True)
class Batch:
    """Records of one stream, summed in integer units per lane.  Senders number their batches.

    If the store enforces limits per person, `persons` has the records one by one, and `lanes` and
    `units` are empty.
    """

    stream: str
    sender: str
    sequence: int
    records: int
    lanes: Signed  # each at most once
    units: Signed
    step: int | None = None  # the step of the records; None: the open step
    persons: PersonRecords | None = field(default=None, repr=False)

    @classmethod
    def of_persons(
        cls,
        stream: str,
        plan: Plan,
        sender: str,
        sequence: int,
        records: Any,
        users: Sequence[str],
        *,
        keys: Sequence[str] | None = None,
        step: int | None = None,
    ) -> Batch:
        """The batch for a stream with enforced limits: value, person and key of each record.

        `records` is a list, in order of arrival.
        """
        grid = plan.grid
        if (keys is None) != (grid.keys is None):
            raise InvalidType("keys must be given if and only if the plan has keys")
        cells = np.zeros(len(users), dtype=np.int64)
        if keys is not None:
            try:
                cells = np.array([grid.lane_of[key] for key in keys], dtype=np.int64)
            except KeyError:
                raise InvalidValue("key must be one of the stream's keys") from None
        units = grid.units(records) if len(users) else cells
        if not len(users) == len(cells) == len(units):
            raise InvalidValue("records, users and keys must be equally many")
        persons = PersonRecords(tuple(users), cells, units)
        return cls(stream, sender, sequence, len(users), _NONE, _NONE, step, persons)

    @classmethod
    def of(
        cls,
        stream: str,
        plan: Plan,
        sender: str,
        sequence: int,
        records: Any,
        *,
        step: int | None = None,
    ) -> Batch:
        """The batch of records as `Stream.step` takes them, clipped and on the plan's grid.

        >>> import hushfade as hf
        >>> week, one = hf.SlidingWindow(length=7), hf.Guarantee(epsilon=1, delta=1e-6)
        >>> shares = hf.plan(week, one, statistic=hf.Share())
        >>> batch = Batch.of("late", shares, "gate 7", 1, [True, False, True])
        >>> batch.records, batch.lanes.tolist(), batch.units.tolist()
        (3, [0, 1], [2, 1])
        """
        grid = plan.grid
        totals = np.array([grid.record_sum(records)]) if grid.scalar else grid.record_sums(records)
        lanes = np.flatnonzero(totals)
        return cls(stream, sender, sequence, _count(grid, records), lanes, totals[lanes], step)


def sums_by_lane(grid: Grid, cells: Signed, units: Signed) -> tuple[Signed, Signed]:
    """The lanes of records, each once, and the sum of the units in each lane."""
    if not len(units):
        return _NONE, _NONE
    if grid.norm is not None:
        return np.arange(grid.lanes), summed(units, largest=grid.largest_unit)
    if grid.scalar:
        sum_of_all = summed(units, largest=grid.largest_unit)
        return np.zeros(1, dtype=np.int64), sum_of_all.reshape(1)
    lanes, added = grid.spread(cells, units)
    touched, places = np.unique(lanes, return_inverse=True)
    sums = UnitSums(len(touched), largest=grid.largest_unit)
    sums.add(places, added)
    return touched, sums.totals


def _count(grid: Grid, records: Any) -> int:
    """The number of records, which are valid."""
    if isinstance(records, Mapping):
        return sum(_count(grid, of_key) for of_key in records.values())
    if real_numbers.nothing(records):
        return 0
    units = grid.units(records)
    return len(np.atleast_2d(units)) if grid.norm is not None else units.size
