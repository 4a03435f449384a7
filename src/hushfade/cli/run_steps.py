"""The steps of a run: separated by the clock, by a number of rows, or by empty lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hushfade import duration
from hushfade.cli.options.parameters import naming_options
from hushfade.errors import InvalidValue
from hushfade.records import Arrival, Calendar, Columns, RowOrder, Timed
from hushfade.records.calendar import Order, calendar
from hushfade.records.faults import Faults
from hushfade.records.live_lines import Clock, check_start, current
from hushfade.records.local_calendar import Dates, LocalCalendar
from hushfade.records.time_columns import first_is_zoned, times
from hushfade.releases.files import times_written

if TYPE_CHECKING:
    from hushfade.cli.options.run import RunTimeOptions
    from hushfade.cli.run_source import Source

_RANGE = (
    "--time needs --start, and --end or --steps. Taking them from the data would reveal the times "
    "of the first and the last record. If these times are public, use --public-range"
)
_NEEDS_TIME = ("every", "start", "end", "steps", "time_unit", "public_range")


def order_of(time: RunTimeOptions, source: Source) -> Timed | RowOrder:
    """The steps of a run over complete files."""
    if time.time is None:
        for option in time.given(*_NEEDS_TIME[time.every == duration.ROWS :]):
            raise InvalidValue(f"{option} needs --time: without it a step is a number of rows")
        with naming_options(time, rows="rows_per_step"):
            return RowOrder(time.rows_per_step)
    if time.rows_per_step != 1:
        raise InvalidValue("--rows-per-step and --time cannot be combined")
    if time.step is None:
        raise InvalidValue("--time needs --every, the length of a step, such as 1h")
    if time.public_range:
        if time.given("start", "end", "steps"):
            raise InvalidValue("--public-range cannot be combined with --start, --end or --steps")
        return _public_range(time.step, source)
    if time.start is None or (time.end is None and time.steps is None):
        raise InvalidValue(_RANGE)
    if time.end is not None and time.steps is not None:
        raise InvalidValue("--end and --steps cannot be combined: each determines the other")
    with naming_options(time):
        return calendar(time.start, time.step, end=time.end, steps=time.steps)


def live_order(time: RunTimeOptions, source: Source, now: Clock) -> Timed | Arrival:
    """The steps of a run over lines that arrive live."""
    if time.given("rows_per_step", "public_range", "end"):
        raise InvalidValue(
            "--live cannot be combined with --rows-per-step, --public-range or --end"
        )
    if time.step is None:
        if source.columns.time is not None or time.start is not None:
            raise InvalidValue("--live with --time or --start needs --every")
        return Arrival(time.steps)
    if time.start is None:
        return current(time.step, now, time.steps)
    with naming_options(time):
        steps = calendar(time.start, time.step, steps=time.steps)
        if not steps.zoned:
            raise InvalidValue(
                "must have a time zone with --live, such as 2026-01-31T12:00Z",
                argument="start",
            )
        check_start(steps, now)
    return steps


def _public_range(every: int | str, source: Source) -> Timed:
    """The steps from the first to the last record, aligned to multiples of the step length."""
    if None in source.paths:
        raise InvalidValue(
            "--public-range cannot read the standard input: it reads every file twice"
        )
    name = source.columns.time
    assert name is not None
    ends: list[int] = []
    zoned: bool | None = None
    for batch in replace(source, columns=Columns(time=name)).batches():
        if not batch.rows:
            continue
        if zoned is None:  # the first record decides, and the others must agree
            zoned = first_is_zoned(batch, source.time_unit)
        found, codes = times(batch, name, unit=source.time_unit, zoned=zoned)
        Faults(batch.rows, (*batch.faults, (name, codes))).check(batch.place)
        ends += [int(found.min()), int(found.max())]
    if zoned is None:
        raise InvalidValue("--public-range needs at least one record, but the files have none")
    if isinstance(every, str):
        dates = Dates(every, zoned)
        first = dates.containing(min(ends))
        return LocalCalendar(dates, first, dates.containing(max(ends)) - first + 1)
    start = min(ends) // every * every
    return Calendar(start, every, zoned, (max(ends) - start) // every + 1)


def steps_document(order: Order, steps: int | None) -> dict[str, Any]:
    """The description of the steps for the companion file of the releases."""
    import numpy as np

    if isinstance(order, RowOrder):
        return {"rows": order.rows, "count": steps}
    if isinstance(order, Arrival):
        return {"closed": "at an empty line", "count": steps}
    start = np.array([order.start]).astype("datetime64[ns]")
    return {
        "every": order.step,
        "start": str(times_written(start, order.zoned)[0]),
        "clock": "UTC" if order.zoned else "local",
        "count": steps,
    }
