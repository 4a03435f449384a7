"""Differentially private decaying sums and statistics on Apache Spark, from streams and tables.

    released = private_decaying_sums(
        events, plan, time="at", key="country", every="1h", start="2026-01-01Z",
        noise=KeyFile("/etc/hushfade/key", stream="visits"), lateness="10min",
    )

A streaming frame gives a streaming frame, a table gives a table.  The same records and key give the
same bits, whatever the order, the number of machines and repeated tasks.  They are the bits of
`plan.start(noise).run(totals)` on one machine.

    lineage         rejects frames that could differ when they are computed again
    frame_identity  a description of a frame that is the same in every session and on every machine
    record_codes    the integer that each record becomes
    step_bounds     the bounds of steps and calendar periods, which Spark joins with times
    cells           converts events to cells: step, lane, units
    limits          limits on the records and steps of one person
    streams         records, and a clock, which alone closes steps
    bucket_steps    the open and closed steps of a bucket of lanes, in Spark's state
    close_steps     releases the steps that the watermark has passed
    released_rows   the rows of a release: sums, or a statistic
    tables          all steps of a table, sealed before noise is drawn
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from pyspark.sql import DataFrame, Observation, SparkSession

from hushfade import check
from hushfade.crossing.key_file import KeyFile, travelling
from hushfade.crossing.noise_sources import UnsafeSeededNoise
from hushfade.errors import Failed, InvalidType, InvalidValue
from hushfade.planning.plan import Plan
from hushfade.records.batch import Columns, key_roles
from hushfade.records.calendar import Calendar, Timed, calendar, written
from hushfade.records.declared_columns import check_fit, may_leave_out
from hushfade.records.local_calendar import LocalCalendar
from hushfade.spark import lineage, streams, tables
from hushfade.spark.cells import Request, cells_of, check_columns, universe
from hushfade.spark.close_steps import Buckets
from hushfade.spark.limits import HashOrder, PersonLimits, of_table
from hushfade.spark.released_rows import Shown, columns
from hushfade.spark.step_bounds import with_times
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
    key: str | Sequence[str] | None = None,
    value: str | None = None,
    denominator: str | None = None,
    user: str | None = None,
    skip_empty: bool = False,
    lateness: str | timedelta | None = None,
    clock: DataFrame | None = None,
    buckets: int = 16,
    counts: str | Observation = "hushfade",
    confidence: float = 0.95,
    suppress_below: float | None = None,
) -> DataFrame:
    """Columns step, time, key, value, stddev, with one row per step and declared key.

    A plan with a statistic has the columns of its release files: value, lower, upper, count and
    count_stddev, and one row per step, key, and bin or quantile.  The interval from lower to upper
    has this `confidence`.  With `suppress_below` values are nan where the noisy count is below.
    `denominator` is the second column of a ratio.  Several columns of `key` form one key.

    Step t has the records from start + (t - 1)·every up to, not including, start + t·every; `time`
    is its end.  `every` may also be a calendar step such as "day Europe/Vienna".  It may be omitted
    if the plan has it.  A table needs `end` or `steps`.  A
    stream needs `lateness`: a step closes when the clock is this long past its end.  The clock is
    the driver's clock, or a streaming frame with a column `timestamp`, which must not depend on the
    records.

    `skip_empty` drops records of a table without a finite value, a time or a person; without it
    they stop the job.  A stream always drops them.

    A `KeyFile` serves one job under one name.  For a table hushfade computes the totals at once and
    records a keyed digest of them: it refuses other totals under the same name.  For a stream it
    records the sources and all operations on the records.

    Guarantee: the plan's guarantee, for adding or removing one record, or for replacing its value
    and key; with `user`, for the plan's unit of privacy: all records of one person, or those in one
    window or period.  In a stream it covers the records that arrive in time.
    """
    if not isinstance(plan, Plan):
        raise InvalidType("plan must be a Plan", got=type(plan).__name__)
    if not isinstance(df, DataFrame):
        raise InvalidType("df must be a Spark data frame", got=type(df).__name__)
    named = Columns(value, time, user=user, denominator=denominator, **key_roles(key))
    check_columns(df, named, plan.grid)
    lineage.check_repeatable(df, "the frame of events")
    days = _calendar(start, every, end, steps, plan)
    check_fit(plan, named, days, skip_empty=skip_empty)
    if df.isStreaming:
        if not may_leave_out(plan):
            raise InvalidValue(
                "a stream needs 0 between low and high if neighbours is replace: hushfade drops a "
                "record without a value, which then counts as 0"
            )
        skip_empty = True  # if a record stopped the query, it would decide about all later ones
    request = Request(plan.grid, named, days, check.count(buckets=buckets), skip_empty, counts)
    shown = _shown(plan, confidence, suppress_below)
    shared = Buckets(Mechanism.of(plan), travelling(noise), request.size, shown)
    limits = None
    if user is not None:
        limits = PersonLimits.of(plan.guarantee.protects, days)
    if df.isStreaming:
        released = streams.releases(df, request, shared, lateness, clock, limits)
        if isinstance(noise, KeyFile):  # when nothing else is refused, and before noise is drawn
            job = streams.job_digest(df, clock, request, limits)
            noise.claim(plan.digest, "spark stream", job)
        return _named(released, plan, days)
    if days.steps is None:
        raise InvalidType("end or steps must be given for a table, because no clock ends it")
    if lateness is not None or clock is not None:
        raise InvalidType("lateness and clock are for streams only: a table is complete")
    cells = cells_of(df, request)
    if limits is not None:
        order = HashOrder(shared.noise, shared.mechanism.digest)
        cells = of_table(cells, limits, days.steps, order).where("lane >= 0")
    return _named(tables.releases(cells, shared, request.filled, days.steps), plan, days)


def local_session(cores: int = 2, **settings: str) -> SparkSession:
    """A session on this machine with the settings for private sums; write _ for dots in names.

    Workers run this interpreter with its installed packages.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise Failed(
            "Java 17 or newer must be installed (on Debian: apt install default-jre-headless)"
        )
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
) -> Timed:
    length = plan.step_length(every)
    if length is None:
        raise InvalidType("every must be given: the length of a step, such as '1h'")
    last = None if end is None else written(end, "end")
    found = calendar(written(start, "start"), length, end=last, steps=steps)
    if not found.zoned:
        raise InvalidValue(
            "start must have a time zone, such as 2026-01-31Z, because Spark's times are instants"
        )
    if isinstance(found, Calendar) and (found.every % 1000 or found.start % 1000):
        raise InvalidValue("every and start must be whole microseconds, like Spark's times")
    if plan.horizon is None:
        return found
    assert isinstance(found, Calendar | LocalCalendar)
    if found.steps is None:
        return replace(found, steps=plan.horizon)
    if found.steps > plan.horizon:
        raise InvalidValue(f"steps must be within the plan's horizon {plan.horizon}")
    return found


def _named(released: DataFrame, plan: Plan, days: Timed) -> DataFrame:
    """The releases with the time at which each step closed, and the key's name."""
    timed, known = with_times(released, days), columns(plan.statistic)
    if plan.keys is None:
        return timed.select("step", "time", *known)
    named = timed.join(universe(released.sparkSession, plan.keys), "lane")
    return named.select("step", "time", "key", *known)


def _shown(plan: Plan, confidence: float, suppress_below: float | None) -> Shown:
    if plan.statistic is None:
        if suppress_below is not None:
            raise InvalidValue("must not be given for a sum", argument="suppress_below")
        return Shown()
    shown = Shown(confidence, suppress_below)
    shown.meaning(plan.statistic)  # raises here rather than on a worker
    return shown
