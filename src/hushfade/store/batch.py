"""Records of one stream, summed in integer units per lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.check import Signed
from hushfade.private import real_numbers

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.private.grid import Grid


@dataclass(frozen=True)
class Batch:
    """Records of one stream, summed in integer units per lane.  Senders number their batches."""

    stream: str
    sender: str
    sequence: int
    records: int
    lanes: Signed  # each at most once
    units: Signed
    step: int | None = None  # the step of the records; None: the open step

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


def _count(grid: Grid, records: Any) -> int:
    """The number of records, which are valid."""
    if isinstance(records, Mapping):
        return sum(_count(grid, of_key) for of_key in records.values())
    if real_numbers.nothing(records):
        return 0
    units = grid.units(records)
    return len(np.atleast_2d(units)) if grid.norm is not None else units.size
