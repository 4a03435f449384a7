"""From totals in units to rows: a stream's releases with their times, a piece at a time."""

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


def released(stream: Stream, units: Signed, calendar: Calendar | None) -> Iterator[Rows]:
    """The releases of all steps, in pieces, from their totals in units, (n, lanes).

    The cost is that of `stream.run_units`.  The standard deviations are the plan's, the same for
    all keys.
    """
    if not len(units):
        return
    first = stream.steps
    stddevs = stream.plan.stddevs(first + len(units))[first:]
    rows = max(1, _PIECE // units.shape[1])
    for start in range(0, len(units), rows):
        part = units[start : start + rows]
        values = stream.run_units(part)
        steps = first + start + 1 + np.arange(len(part), dtype=np.int64)
        ends = None if calendar is None else calendar.ends(steps)
        yield Rows(steps, ends, values, stddevs[start : start + rows], stream.plan.errors)


def released_live(
    stream: Stream, units: Iterable[Signed], calendar: Calendar | None
) -> Iterator[Rows]:
    """The release of one step after the other, each as soon as its totals in units are there."""
    for row in units:
        release = stream.step_units(row[0] if stream.plan.grid.scalar else row)
        step = np.array([release.step], dtype=np.int64)
        ends = None if calendar is None else calendar.ends(step)
        values = np.atleast_2d(np.asarray(release.value, dtype=np.float64))
        yield Rows(step, ends, values, np.array([release.stddev]), stream.plan.errors)
