"""A stream of events, released step by step as the clock advances.

Only a clock closes steps: a streaming frame of times, joined to the records, which alone has a
watermark.  The time of a record determines its step, and whether that step is still open.  It does
not move the watermark: no record makes another late, and the moment of a release does not reveal
that a record arrived.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql import types as kinds
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hushfade.check import Signed
from hushfade.crossing.key_file import KeyFile
from hushfade.duration import step_length
from hushfade.errors import InvalidType, InvalidValue
from hushfade.records.calendar import Calendar, Timed
from hushfade.records.local_calendar import LocalCalendar
from hushfade.spark import lineage
from hushfade.spark.cells import Request, cells_of
from hushfade.spark.close_steps import Buckets, Closing
from hushfade.spark.frame_identity import identity
from hushfade.spark.limits import LIMITED, HashOrder, Limiting, PersonLimits

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
_SETTINGS = tuple(  # which may give other records from the same source
    f"spark.sql.{name}"
    for name in ("session.timeZone", "ansi.enabled", "caseSensitive", "timestampType")
)


def releases(
    df: DataFrame,
    request: Request,
    buckets: Buckets,
    lateness: str | timedelta | None,
    clock: DataFrame | None,
    limits: PersonLimits | None,
) -> DataFrame:
    """The releases of each step when the clock is `lateness` past its end."""
    if lateness is None:
        raise InvalidType(
            "lateness must be given for a stream: how long a step waits for late records"
        )
    if request.calendar.start < 0:
        raise InvalidValue(
            "start must not be before 1970 for a stream, because Spark's watermark starts there"
        )
    session = df.sparkSession
    if session.conf.get(PROVIDER, None) != ROCKS:
        raise InvalidValue(f"{PROVIDER} must be {ROCKS}: timers need it")
    if session.conf.get(_NO_DATA, "true") != "true":
        raise InvalidValue(f"{_NO_DATA} must be true: steps would wait for records to close them")
    delay = -(-step_length(lateness, name="lateness") // 10**6)
    lineage.check_unmarked(df, "the frame of events")
    records, bond = cells_of(df, request), bound(df, request, buckets, limits)
    beats = _beats(ticking(session, silent=clock is not None), records)
    if clock is not None:
        lineage.check_unmarked(clock, "clock")
        lineage.check_apart(clock, df)
        beats = beats.unionByName(_beats(clock, records))
    # the clock comes first: a union has its first frame's watermark, and no other is declared
    timed = beats.withWatermark("at", f"{delay} milliseconds")
    found = timed.unionByName(records)
    if limits is not None:
        order = HashOrder(buckets.noise, buckets.mechanism.digest)
        found = _stateful(
            found.withColumn("bucket", sql.pmod("low", sql.lit(request.buckets))),
            Limiting(limits, request.calendar, bond, order),
            LIMITED, request.buckets, event_time="at",
        )  # fmt: skip
    return _stateful(
        found.withColumn("bucket", sql.expr(f"greatest(lane, 0) div {request.keys}")),
        Closing(buckets, request.calendar, bond), buckets.schema, request.filled,
    )  # fmt: skip


def bound(df: DataFrame, request: Request, buckets: Buckets, limits: PersonLimits | None) -> str:
    """A digest of the settings to which a checkpoint belongs.  It is not secret.

    A batch may run again after a restart with the same noise.  So the digest covers every setting
    that could change the totals of the same records.
    """
    noise = buckets.noise
    if isinstance(noise, KeyFile):  # its path may change
        drawn: object = (noise.stream, noise.epoch, noise.fingerprint)
    else:
        drawn = noise.identity
    said = _asked(df, request, limits) | {
        "plan": buckets.mechanism.digest.hex(),
        "noise": drawn,
        "buckets": (request.buckets, request.size, request.filled),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def job_digest(
    df: DataFrame, clock: DataFrame | None, request: Request, limits: PersonLimits | None
) -> bytes:
    """SHA-256 of the request and its sources, for the record of the noise key.  It is not secret.

    It covers the sources, all operations on the records, and the clock.  It cannot cover the
    content of the sources, nor how much of it a query has read.
    """
    job = _asked(df, request, limits) | {
        "frame": identity(df, "the frame of events"),
        "clock": None if clock is None else identity(clock, "clock"),
    }
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).digest()


def _asked(df: DataFrame, request: Request, limits: PersonLimits | None) -> dict[str, object]:
    """Steps, columns, settings and limits: everything that can change the totals."""
    named = request.columns.roles()
    return {
        "steps": _steps(request.calendar),
        "columns": {role: (name, str(df.schema[name].dataType)) for role, name in named.items()},
        "settings": {name: df.sparkSession.conf.get(name, None) for name in _SETTINGS},
        "limits": limits and _limits(limits),
    }


def _steps(calendar: Timed) -> tuple[object, ...]:
    """The steps as a checkpoint states them.

    Another database of time zones may give calendar steps other bounds, and so other totals.
    """
    if isinstance(calendar, LocalCalendar):
        return calendar.start, calendar.step, calendar.steps, _digest(calendar.begins)
    assert isinstance(calendar, Calendar)
    return calendar.start, calendar.every, calendar.steps


def _limits(declared: PersonLimits) -> tuple[object, ...]:
    """The limits as a checkpoint states them; the life of the stream is not named."""
    limits, renewed = declared.limits, tuple[object, ...]()
    if declared.firsts is not None:
        renewed = (declared.period, _digest(declared.firsts))
    elif limits.stretch != "stream":
        renewed = (limits.stretch,)
    return limits.records_per_step, limits.steps, limits.apart, *renewed


def _digest(bounds: Signed) -> str:
    return hashlib.sha256(bounds.astype("<i8").tobytes()).hexdigest()


def ticking(session: SparkSession, *, silent: bool = False) -> DataFrame:
    """The driver's clock: one row per batch with the time of the batch in the column timestamp.

    Spark records this time in its log of offsets, so it is the same when a batch runs again.  The
    clock always has a new row, so that Spark makes a batch at every trigger, even without records.
    A silent clock does only that.
    """
    paced = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
    beats = paced.option("numPartitions", 1).load().where("value < 0" if silent else "value >= 0")
    return beats.select(sql.current_timestamp().alias("timestamp"))


def _beats(clock: DataFrame, like: DataFrame) -> DataFrame:
    """Rows that move the watermark and count in no step."""
    field = clock.schema["timestamp"] if "timestamp" in clock.columns else None
    if field is None or not isinstance(field.dataType, kinds.TimestampType):
        raise InvalidType("clock must have a column 'timestamp' of type TIMESTAMP")
    nothing = sql.lit(-1).cast("bigint")
    said = {"at": sql.col("timestamp")}
    return clock.where("timestamp is not null").select(
        *(said.get(name, nothing).alias(name) for name in like.columns)
    )


def _stateful(
    found: DataFrame, processor: StatefulProcessor, schema: str, buckets: int, event_time: str = ""
) -> DataFrame:
    """The processor's output for each bucket.  All buckets exist from the first batch on."""
    waiting = found.sparkSession.range(buckets).select(sql.col("id").alias("bucket"))
    return found.groupBy("bucket").transformWithStateInPandas(
        processor,
        schema,
        "append",
        "EventTime",
        waiting.withColumn("since", sql.lit(0)).groupBy("bucket"),
        event_time,
    )
