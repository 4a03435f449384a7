"""From totals to rows: a stream's releases with their times, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Signed
from hushfade.releases.files import Rows

if TYPE_CHECKING:
    from hushfade.records.calendar import Calendar
    from hushfade.stream.stream import Stream

_PIECE = 1 << 16  # releases at a time


def released(stream: Stream, totals: Signed, calendar: Calendar | None) -> Iterator[Rows]:
    """The releases of all steps of the totals, (n, lanes) on the grid, in pieces.

    Cost: that of `stream.run`.  The deviations are those of the plan, the same for all keys.
    """
    if not len(totals):
        return
    resolution, first = stream.plan.grid.resolution, stream.steps
    stddevs = stream.plan.stddevs(first + len(totals))[first:]
    rows = max(1, _PIECE // totals.shape[1])
    for start in range(0, len(totals), rows):
        part = totals[start : start + rows]
        values = stream.run(part * resolution)  # exact: a power of two, within 2^52
        steps = first + start + 1 + np.arange(len(part), dtype=np.int64)
        ends = None if calendar is None else calendar.ends(steps)
        yield Rows(steps, ends, values, stddevs[start : start + rows])


def released_live(
    stream: Stream, totals: Iterable[Signed], calendar: Calendar | None
) -> Iterator[Rows]:
    """The release of one step after the other, each as soon as its totals are there."""
    resolution = stream.plan.grid.resolution
    for row in totals:
        total = (row * resolution).tolist()
        release = stream.step_total(total[0] if stream.plan.grid.scalar else np.array(total))
        step = np.array([release.step], dtype=np.int64)
        ends = None if calendar is None else calendar.ends(step)
        values = np.atleast_2d(np.asarray(release.value, dtype=np.float64))
        yield Rows(step, ends, values, np.array([release.stddev]))
