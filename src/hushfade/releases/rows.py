"""Rows of releases from totals in units: values with their times, one piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Signed
from hushfade.public.statistic_release import StatisticRelease
from hushfade.releases.files import Rows
from hushfade.releases.statistic_rows import StatisticRows

if TYPE_CHECKING:
    from hushfade.records.calendar import Timed
    from hushfade.stream.stream import Stream

_PIECE = 1 << 16  # releases at a time


def released(stream: Stream, units: Signed, calendar: Timed | None) -> Iterator[Rows]:
    """The releases of all steps, in pieces, from their totals in units, (n, lanes).

    The cost is the cost of `stream.run_units`.  All keys have the standard deviations of the plan.
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
    stream: Stream, units: Iterable[Signed], calendar: Timed | None
) -> Iterator[Rows]:
    """The release of each step, as soon as its totals in units are available."""
    for row in units:
        release = stream.step_units(row[0] if stream.plan.grid.scalar else row)
        step = np.array([release.step], dtype=np.int64)
        ends = None if calendar is None else calendar.ends(step)
        values = np.atleast_2d(np.asarray(release.value, dtype=np.float64))
        yield Rows(step, ends, values, np.array([release.stddev]), stream.plan.errors)


# Statistics -----------------------------------------------------------------------------------


def released_rows(
    stream: Stream,
    units: Signed,
    calendar: Timed | None,
    *,
    suppress_below: float | None = None,
) -> Iterator[Rows | StatisticRows]:
    """The releases of all steps, in pieces, of a plan with a statistic or without."""
    for rows in released(stream, units, calendar):
        if stream.plan.statistic is None:
            yield rows
        else:
            readings = stream.plan.readings(rows.values, rows.steps, rows.stddevs)
            yield StatisticRows(readings, rows.ends, suppress_below)


def released_rows_live(
    stream: Stream,
    units: Iterable[Signed],
    calendar: Timed | None,
    *,
    suppress_below: float | None = None,
) -> Iterator[Rows | StatisticRows]:
    """The release of one step after the other, of a plan with a statistic or without."""
    if stream.plan.statistic is None:
        yield from released_live(stream, units, calendar)
        return
    for row in units:
        release = stream.step_units(row)
        assert isinstance(release, StatisticRelease)
        steps = release.readings.steps
        ends = None if calendar is None else calendar.ends(steps)
        yield StatisticRows(release.readings, ends, suppress_below)
