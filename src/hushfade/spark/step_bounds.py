"""The step of a time, the end of a step, and the calendar period of a step, as Spark's expressions.

The driver computes the bounds of calendar steps and periods from the declaration, before Spark
reads a record.  Spark gets them as integers.  So neither the session's time zone nor a worker's
database of time zones has any effect.

Spark finds the place of a number among bounds by a join.  The range of the bounds is cut into slots
of equal width.  Each slot has the place of its first number and the few bounds that follow.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from hushfade.check import Signed
from hushfade.records.arrow import pa
from hushfade.records.calendar import Calendar, Timed
from hushfade.records.local_calendar import LocalCalendar

_DAY = 86_400 * 10**6  # the width of a slot of times, in microseconds
_FARTHEST = 1 << 62  # microseconds since 1970, where the number of steps is not declared


def microseconds(calendar: LocalCalendar) -> Signed:
    """The start of each calendar step, and the end of the last, in microseconds since 1970."""
    return calendar.begins // 1000  # exact: offsets of time zones are whole seconds


def longest_step(calendar: Timed) -> int:
    """The length of the longest step in microseconds."""
    if isinstance(calendar, Calendar):
        return calendar.every // 1000
    assert isinstance(calendar, LocalCalendar)
    return int(np.diff(microseconds(calendar)).max())


def with_steps(found: DataFrame, calendar: Timed) -> DataFrame:
    """The frame with `step`, from 0, and `end`, the end of the step; null outside the steps.

    `end` and the column `microseconds` of the frame are microseconds since 1970.
    """
    if isinstance(calendar, LocalCalendar):
        return _placed(found, "microseconds", microseconds(calendar), _DAY, ("step", "end"))
    assert isinstance(calendar, Calendar)
    start, every = calendar.start // 1000, calendar.every // 1000
    last = _FARTHEST if calendar.steps is None else start + calendar.steps * every
    # a difference is taken only inside the range: elsewhere it might overflow
    step = sql.when(
        _within("microseconds", start, last), sql.expr(f"(microseconds - {start}) div {every}")
    )
    return found.withColumn("step", step).withColumn(
        "end", sql.expr(f"(step + 1) * {every} + {start}")
    )


def with_periods(cells: DataFrame, firsts: Signed, steps: int) -> DataFrame:
    """The cells with `period`, the place of their step's calendar period among all periods.

    `firsts` has the first step of each period, from 0, and `steps` is the number of steps.
    """
    bounds = np.append(firsts, steps)
    return _placed(cells, "step", bounds, -(-steps // len(firsts)), ("period", "rest")).drop("rest")


def with_times(released: DataFrame, calendar: Timed) -> DataFrame:
    """The releases with `time`, the time at which each step closed; the first step is 1."""
    if isinstance(calendar, LocalCalendar):
        ends = microseconds(calendar)[1:]
        table = {"step": pa.array(range(1, len(ends) + 1), pa.int64()), "end": pa.array(ends)}
        known = released.sparkSession.createDataFrame(pa.table(table)).hint("broadcast")
        timed = released.join(known, "step")
        return timed.withColumn("time", sql.timestamp_micros("end")).drop("end")
    assert isinstance(calendar, Calendar)
    closed = sql.expr(f"{calendar.start // 1000} + step * {calendar.every // 1000}")
    return released.withColumn("time", sql.timestamp_micros(closed))


def slots(bounds: Signed, width: int) -> tuple[Signed, list[Signed]]:
    """Of each slot: the place of its first number, and all bounds after that place up to its end.

    The bounds rise; equal bounds have nothing between them.  The first slot begins at the first
    bound.  The last bound of a slot is the end of the last place in it.

    >>> places, following = slots(np.array([0, 7, 7, 25]), 10)
    >>> places.tolist(), [list(map(int, ends)) for ends in following]
    ([0, 2, 2], [[7, 7, 25], [25], [25]])
    """
    count = -(-int(bounds[-1] - bounds[0]) // width)
    begins = bounds[0] + np.arange(count, dtype=np.int64) * width
    places = np.searchsorted(bounds, begins, side="right").astype(np.int64) - 1
    stops = np.searchsorted(bounds, np.minimum(begins + width, bounds[-1]), side="left") + 1
    return places, [
        bounds[place + 1 : stop]
        for place, stop in zip(places.tolist(), stops.tolist(), strict=True)
    ]


def _placed(
    found: DataFrame, number: str, bounds: Signed, width: int, names: tuple[str, str]
) -> DataFrame:
    """The frame with the place of a column's number among bounds, and the next bound."""
    first, last = int(bounds[0]), int(bounds[-1])
    places, following = slots(bounds, width)
    table = {
        "slot": pa.array(range(len(places)), pa.int64()),
        "base": pa.array(places),
        "following": pa.array(following, pa.list_(pa.int64())),
    }
    known = found.sparkSession.createDataFrame(pa.table(table)).hint("broadcast")
    slot = sql.when(_within(number, first, last), sql.expr(f"({number} - {first}) div {width}"))
    passed = sql.expr(f"size(filter(following, bound -> bound <= {number}))")
    joined = found.withColumn("slot", slot).join(known, "slot", "left")
    return (
        joined.withColumn("passed", passed)
        .withColumn(names[0], sql.expr("base + passed"))
        .withColumn(names[1], sql.expr("get(following, passed)"))
        .drop("slot", "base", "following", "passed")
    )


def _within(number: str, first: int, last: int) -> Column:
    return sql.expr(f"{number} >= {first} and {number} < {last}")
