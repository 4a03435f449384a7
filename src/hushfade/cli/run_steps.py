"""The steps of a run: by the clock, by rows, or by empty lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hushfade import duration
from hushfade.cli.options.parameters import naming_options
from hushfade.errors import InvalidValue
from hushfade.records import Arrival, Calendar, Columns, RowOrder
from hushfade.records.calendar import Order, calendar
from hushfade.records.faults import Faults
from hushfade.records.live_lines import Clock, check_start, current
from hushfade.records.time_columns import first_is_zoned, times
from hushfade.releases.files import times_written

if TYPE_CHECKING:
    from hushfade.cli.options.run import RunTimeOptions
    from hushfade.cli.run_source import Source

_RANGE = (
    "--time needs --start, and --end or --steps: if they came from the data, the releases would "
    "show when the first and the last record happened. Use --public-range if these times are public"
)
_NEEDS_TIME = ("every", "start", "end", "steps", "time_unit", "public_range")


def order_of(time: RunTimeOptions, source: Source) -> Calendar | RowOrder:
    """The steps of a run over whole files."""
    if time.time is None:
        for option in time.given(*_NEEDS_TIME[time.every == duration.ROWS :]):
            raise InvalidValue(f"{option} needs --time: without it the rows are the steps")
        with naming_options(time, rows="rows_per_step"):
            return RowOrder(time.rows_per_step)
    if time.rows_per_step != 1:
        raise InvalidValue("--rows-per-step and --time exclude each other")
    if time.step is None:
        raise InvalidValue("--time needs --every, the length of a step, such as 1h")
    if time.public_range:
        if time.given("start", "end", "steps"):
            raise InvalidValue("--public-range excludes --start, --end and --steps")
        return _public_range(time.step, source)
    if time.start is None or (time.end is None and time.steps is None):
        raise InvalidValue(_RANGE)
    if time.end is not None and time.steps is not None:
        raise InvalidValue("--end and --steps exclude each other: one follows from the other")
    with naming_options(time):
        return calendar(time.start, time.step, end=time.end, steps=time.steps)


def live_order(time: RunTimeOptions, source: Source, now: Clock) -> Calendar | Arrival:
    """The steps of a run over lines that arrive live."""
    if time.given("rows_per_step", "public_range", "end"):
        raise InvalidValue("--live excludes --rows-per-step, --public-range and --end")
    if time.step is None:
        if source.columns.time is not None or time.start is not None:
            raise InvalidValue("--live with --time or --start needs --every")
        return Arrival(time.steps)
    if time.start is None:
        open_step = current(time.step, now)
        return Calendar(open_step.start, open_step.every, True, time.steps)
    with naming_options(time):
        steps = calendar(time.start, time.step, steps=time.steps)
        if not steps.zoned:
            raise InvalidValue(
                "must have a zone if lines arrive live, such as 2026-01-31T12:00Z",
                argument="start",
            )
        check_start(steps, now)
    return steps


def _public_range(every: int, source: Source) -> Calendar:
    """From the step of the first record to the step of the last, at multiples of the length."""
    if None in source.paths:
        raise InvalidValue("--public-range reads the files twice, but standard input only once")
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
        raise InvalidValue("--public-range needs a record, but there is none")
    start = min(ends) // every * every
    return Calendar(start, every, zoned, (max(ends) - start) // every + 1)


def steps_document(order: Order, steps: int | None) -> dict[str, Any]:
    """The steps, as the companion file of the releases describes them."""
    import numpy as np

    if isinstance(order, RowOrder):
        return {"rows": order.rows, "count": steps}
    if isinstance(order, Arrival):
        return {"closed": "at an empty line", "count": steps}
    start = np.array([order.start]).astype("datetime64[ns]")
    return {
        "every": duration.shown(order.every),
        "start": str(times_written(start, order.zoned)[0]),
        "clock": "UTC" if order.zoned else "local",
        "count": steps,
    }
