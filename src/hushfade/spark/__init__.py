"""Private decaying sums on Apache Spark, from streams and from tables of events.

    released = private_decaying_sums(
        events, plan, time="at", key="country", every="1h", start="2026-01-01Z",
        noise=KeyFile("/etc/hushfade/key", stream="visits"), lateness="10min",
    )

A streaming frame gives a streaming frame, a table a table, with the same bits for the same records
and key, whatever the order, the number of machines, and what was run twice; and the bits of
`plan.start(noise).run(totals)` on one machine.

    lineage         rejects frames that could differ when they are computed again
    frame_identity  what a frame is, in every session and on every machine
    cells           events become cells: step, lane, units
    limits          limits on the records and steps of one person
    streams         records and a clock, which alone closes steps
    bucket_steps    the open and closed steps of a bucket of lanes, in Spark's state
    close_steps     releases the steps that the watermark has passed
    tables          all steps of a table, sealed before noise is drawn
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import date, timedelta

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from hushfade import check
from hushfade.crossing.key_file import KeyFile, travelling
from hushfade.crossing.noise_sources import UnsafeSeededNoise
from hushfade.duration import step_length
from hushfade.errors import Failed, InvalidType, InvalidValue
from hushfade.planning.plan import Plan
from hushfade.records.batch import Columns
from hushfade.records.calendar import Calendar, calendar, written
from hushfade.records.limits import Limits
from hushfade.records.step_totals import check_fit, may_leave_out
from hushfade.spark import lineage, streams, tables
from hushfade.spark.cells import Request, cells_of, check_columns, universe
from hushfade.spark.close_steps import Buckets
from hushfade.spark.limits import of_table
from hushfade.stream.partition import Mechanism

__all__ = ["KeyFile", "local_session", "private_decaying_sums"]

_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing"


def private_decaying_sums(
    df: DataFrame,
    plan: Plan,
    *,
    time: str,
    start: str | date,
    noise: KeyFile | UnsafeSeededNoise,
    every: str | timedelta | None = None,
    end: str | date | None = None,
    steps: int | None = None,
    key: str | None = None,
    value: str | None = None,
    user: str | None = None,
    skip_empty: bool = False,
    lateness: str | timedelta | None = None,
    clock: DataFrame | None = None,
    buckets: int = 16,
    counts: str | Observation = "hushfade",
) -> DataFrame:
    """Columns step, time, key, value, stddev: a row for each step and declared key.

    Step t has the records from start + (t - 1)·every up to, not including, start + t·every; `time`
    is its end.  `every` may be left out if the plan has it.  A table needs `end` or `steps`.  A
    stream needs `lateness`: a step closes when the clock is that far past its end.  The clock is
    the driver's, or a streaming frame with a column `timestamp`, which must not depend on the
    records.

    `skip_empty` leaves out the records of a table that have no finite value, no time or no person;
    without it they stop the job.  A stream always leaves them out.

    A `KeyFile` serves one job under one name.  For a table the totals are computed at once, and a
    digest of them under the key is recorded: other totals are refused under the same name.  For a
    stream the record has its sources and all that is done to the records.

    Guarantee: that of the plan: adding or removing one record, or replacing its value and key; with
    `user`, one person with all their records.  In a stream, of the records that came in time.
    """
    if not isinstance(plan, Plan):
        raise InvalidType("plan must be a Plan", got=type(plan).__name__)
    if not isinstance(df, DataFrame):
        raise InvalidType("df must be a data frame of Spark", got=type(df).__name__)
    columns = Columns(value, time, key, user)
    check_columns(df, columns)
    lineage.check_repeatable(df, "the frame of events")
    days = _calendar(start, every, end, steps, plan)
    check_fit(plan, columns, days, skip_empty=skip_empty)
    if df.isStreaming:
        if not may_leave_out(plan):
            raise InvalidValue(
                "a stream needs 0 between low and high where records are replaced: a record "
                "without a value is left out, and counts as 0"
            )
        skip_empty = True  # if a record stopped the query, it would decide about all later ones
    request = Request(plan.grid, columns, days, check.count(buckets=buckets), skip_empty, counts)
    shared = Buckets(Mechanism.of(plan), travelling(noise), request.size)
    limits = None
    if user is not None:
        unit = plan.guarantee
        limits = Limits(unit.records_per_step, unit.participations, unit.separation)
    if df.isStreaming:
        released = streams.releases(df, request, shared, lateness, clock, limits)
        if isinstance(noise, KeyFile):  # when nothing else is refused, and before noise is drawn
            job = streams.job_digest(df, clock, request, limits)
            noise.claim(plan.digest, "spark stream", job)
        return _named(released, plan, days)
    if days.steps is None:
        raise InvalidType("end or steps must be given for a table: it has no clock to end it")
    if lateness is not None or clock is not None:
        raise InvalidType("lateness and clock are for streams: a table is all there")
    cells = cells_of(df, request)
    if limits is not None:
        cells = of_table(cells, limits).where("lane >= 0")
    return _named(tables.releases(cells, shared, request.filled, days.steps), plan, days)


def local_session(cores: int = 2, **settings: str) -> SparkSession:
    """A session on this machine that is fit for private sums; settings with _ for the dots.

    Workers run this interpreter, with what is installed in it.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise Failed("Java 17 or newer must be installed: Debian's package is default-jre-headless")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = f"local[{check.count(cores=cores)}, 4]"  # a task is tried four times, as on a cluster
    builder = SparkSession.builder.master(master).appName("hushfade")
    builder = builder.config(streams.PROVIDER, streams.ROCKS).config(
        "spark.sql.session.timeZone", "UTC"
    )
    builder = builder.config(f"{_CHANGELOG}.enabled", "true")
    builder = builder.config("spark.sql.shuffle.partitions", str(cores))
    for name, said in settings.items():
        builder = builder.config(name.replace("_", "."), said)
    return builder.getOrCreate()


def _calendar(
    start: str | date,
    every: str | timedelta | None,
    end: str | date | None,
    steps: int | None,
    plan: Plan,
) -> Calendar:
    length = plan.step_length(None if every is None else step_length(every))
    if length is None:
        raise InvalidType("every must be given: a step's length, such as '1h'")
    last = None if end is None else written(end, "end")
    found = calendar(written(start, "start"), length, end=last, steps=steps)
    if not found.zoned:
        raise InvalidValue("start must have a zone, as 2026-01-31Z: Spark's times are instants")
    if found.every % 1000 or found.start % 1000:
        raise InvalidValue("every and start must be whole microseconds, as Spark's times are")
    if plan.horizon is None:
        return found
    if found.steps is None:
        return Calendar(found.start, found.every, found.zoned, plan.horizon)
    if found.steps > plan.horizon:
        raise InvalidValue(f"steps must be within the plan's horizon {plan.horizon}")
    return found


def _named(released: DataFrame, plan: Plan, days: Calendar) -> DataFrame:
    """The releases with the time at which each step closed, and the key's name."""
    closed = sql.timestamp_micros(sql.expr(f"{days.start // 1000} + step * {days.every // 1000}"))
    if plan.keys is None:
        return released.select("step", closed.alias("time"), "value", "stddev")
    named = released.join(universe(released.sparkSession, plan.keys), "lane")
    return named.select("step", closed.alias("time"), "key", "value", "stddev")
