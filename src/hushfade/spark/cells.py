"""Conversion of events to cells (step, lane, units) by Spark's own expressions.

`record_codes` makes one integer of each record.  Here it gets its step and the lane of its key.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql import types as kinds

from hushfade.errors import InvalidType, InvalidValue
from hushfade.private.grid import Grid
from hushfade.records.arrow import pa
from hushfade.records.batch import Columns
from hushfade.records.blank_names import BLANK
from hushfade.records.calendar import Timed
from hushfade.records.parse_columns import BETWEEN_KEYS
from hushfade.records.step_totals import AHEAD
from hushfade.spark.record_codes import Types, code_of, quoted, refused, value_types
from hushfade.spark.step_bounds import longest_step, with_steps

_BROADCAST = 1 << 20  # keys that are sent to every worker; more are joined by Spark's own choice
_NO_TIME = "the column of times must not have nulls: clean it, or use skip_empty"
_NO_USER = "the column of persons must not have nulls or blank names: clean it, or use skip_empty"
_LATEST = 9_183_110_400_000_000  # the year 2261, where pandas' nanoseconds end


@dataclass(frozen=True)
class Request:
    """The declared options for a frame of events."""

    grid: Grid
    columns: Columns
    calendar: Timed  # whole microseconds
    buckets: int  # of lanes, at most
    skip_empty: bool
    counts: str | Observation

    @property
    def keys(self) -> int:
        """The number of keys per bucket: bucket b has keys from b·keys up to (b + 1)·keys."""
        return -(-self._every_key // self.buckets)

    @property
    def size(self) -> int:
        """The number of totals per bucket and step: all parts of a key are in one bucket."""
        return self.keys * self.grid.parts

    @property
    def filled(self) -> int:
        """The number of buckets with keys."""
        return -(-self._every_key // self.keys)

    @property
    def _every_key(self) -> int:
        return self.grid.lanes // self.grid.parts


def check_columns(df: DataFrame, columns: Columns, grid: Grid) -> None:
    """Raise if a column is missing, or has an ambiguous type."""
    names: Types = (kinds.StringType, kinds.IntegralType), "text or whole numbers"
    allowed: dict[str, Types] = {
        "time": ((kinds.TimestampType,), "TIMESTAMP"),
        "value": value_types(grid),
        "denominator": ((kinds.NumericType,), "numbers"),
        "user": names,
    }
    columns.check_names()
    for role, name in columns.roles().items():
        if name not in df.columns:
            raise InvalidValue("must be a column of the frame", argument=role, got=repr(name))
        wanted, words = allowed.get(role, names)
        found = df.schema[name].dataType
        if not isinstance(found, wanted):
            raise InvalidType(
                f"column {name!r} must be {words}",
                got=found.simpleString().upper(),
                remedy="cast it",
            )


def cells_of(df: DataFrame, request: Request) -> DataFrame:
    """Columns step, lane, units, microseconds, with one row per record that counts; steps from 0.

    `lane` is the place of the key among the declared keys.  `units` is what the record adds to the
    total of its key, or its code if a statistic spreads it over several totals: see `Grid.spread`.

    The conversion drops and counts records without a time or a value, outside the declared steps,
    with an undeclared key, and in a stream records more than 1024 steps ahead of the batch's clock.
    Whether it drops a record depends only on that record, the clock and the declaration.  With a
    column of persons, `high` and `low` are 128 bits of a digest of the person.  Records inside the
    steps that do not count have lane -1: they use up the person's limits.  In a stream `at` is the
    end of the step, which Spark compares with its watermark.
    """
    columns, calendar = request.columns, request.calendar
    found = df.select(
        _time(request).alias("microseconds"),
        code_of(request.grid, columns, skip_empty=request.skip_empty).alias("units"),
        *_key(request),
        *_person(request),
    )
    found = with_steps(_with_lanes(found, request), calendar)
    ahead = sql.lit(False)
    if df.isStreaming:  # the clock is in the log of offsets: the same when a batch runs again
        clock = sql.unix_micros(sql.current_timestamp())
        ahead = sql.col("microseconds") > clock + sql.lit(
            min(AHEAD * longest_step(calendar), 1 << 61)
        )
    found = found.withColumn("ahead", ahead)
    whole = sql.col("microseconds").isNotNull()
    if columns.user is not None:
        whole &= sql.col("low").isNotNull()
    allowed = whole & ~sql.col("ahead")
    inside, known, there = (sql.col(name).isNotNull() for name in ("step", "lane", "units"))
    watched = found.observe(
        request.counts,
        sql.count(sql.lit(1)).alias("records"),
        sql.count_if(whole & sql.col("ahead")).alias("ahead"),
        sql.count_if(allowed & ~inside).alias("outside"),
        sql.count_if(allowed & inside & ~known).alias("other_keys"),
        sql.count_if(~whole | (allowed & inside & known & ~there)).alias("empty"),
    )
    counted = allowed & inside & known & there
    end = sql.expr(f"least(coalesce(end, {_LATEST}), {_LATEST})")
    return watched.where(counted if columns.user is None else allowed & inside).select(
        *([sql.timestamp_micros(end).alias("at")] if df.isStreaming else []),
        "step",
        sql.when(counted, sql.col("lane")).otherwise(-1).cast("bigint").alias("lane"),
        sql.when(counted, sql.col("units")).otherwise(0).cast("bigint").alias("units"),
        "microseconds",
        *([] if columns.user is None else ["high", "low"]),
    )


def universe(session: SparkSession, keys: tuple[str, ...]) -> DataFrame:
    """The declared keys and their lanes."""
    lanes = pa.array(range(len(keys)), pa.int64())
    found = session.createDataFrame(pa.table({"key": pa.array(keys, pa.string()), "lane": lanes}))
    return found.hint("broadcast") if len(keys) <= _BROADCAST else found


def _with_lanes(found: DataFrame, request: Request) -> DataFrame:
    if request.grid.keys is None:
        return found.withColumn("lane", sql.lit(0).cast("bigint"))
    return found.join(universe(found.sparkSession, request.grid.keys), "key", "left")


def _key(request: Request) -> list[Column]:
    """The key of each record; null if a part of it is null, as in files."""
    parts = [sql.col(quoted(n)).cast("string") for n in request.columns.key_columns().values()]
    between = [part for one in parts for part in (sql.lit(BETWEEN_KEYS), one)][1:]
    return [] if not parts else [sql.concat(*between).alias("key")]


def _time(request: Request) -> Column:
    """Microseconds since 1970."""
    assert request.columns.time is not None
    at = sql.unix_micros(sql.col(quoted(request.columns.time)))
    return at if request.skip_empty else sql.coalesce(at, refused(_NO_TIME, "bigint"))


def _person(request: Request) -> list[Column]:
    """The person of a record as 128 bits of SHA-256, so that nobody can merge two persons."""
    if request.columns.user is None:
        return []
    name = sql.col(quoted(request.columns.user)).cast("string")
    name = sql.when(~name.rlike(rf"\A{BLANK}\z"), name)  # null for a blank name
    if not request.skip_empty:
        name = sql.coalesce(name, refused(_NO_USER, "string"))
    digest = sql.sha2(name, 256)
    # each half in 64 bits: what a digest gives is as good as random, so a quick hash keeps it so
    halves = (sql.substring(digest, place, 32) for place in (1, 33))
    high, low = (sql.when(half.isNotNull(), sql.xxhash64(half)) for half in halves)
    return [high.alias("high"), low.alias("low")]
