"""Tables and streams on a real Spark: the bits of one machine, whatever runs where and twice."""

import os
import time

import numpy as np
import pandas as pd
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as sql

from hushfade import Exponential, FreshNoise, Guarantee, NoDecay, UnsafeSeededNoise, plan
from hushfade.errors import HushfadeError
from hushfade.spark import KeyFile, private_decaying_sums
from tests.spark.cases import (
    COLUMNS,
    HOW,
    KEYS,
    PLAN,
    START,
    STEPS,
    events,
    key_file,
    keyed,
    matrix,
    on_one_machine,
)
from tests.spark.conftest import Files, read, written
from tests.spark.tries import RELEASED, failing_once

SEEDED = UnsafeSeededNoise(1)


# Tables --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noise(place):
    return KeyFile(key_file(place), stream="visits")


@pytest.fixture(scope="module")
def table(spark, place, noise):
    """A table's releases, by tasks that all failed once."""
    found = events()
    outside = found.head(2).assign(at=[START - pd.Timedelta("1us"), START + pd.Timedelta("12h")])
    frame = spark.createDataFrame(pd.concat([found.sample(frac=1, random_state=1), outside]))
    released = private_decaying_sums(frame, PLAN, steps=STEPS, noise=noise, buckets=3, **HOW)
    again = released.mapInPandas(failing_once(str(place)), RELEASED)
    return again.toPandas()


def test_a_table_gives_the_bits_of_one_machine_though_every_task_failed_once(table, place):
    assert list(place.glob("failed-*"))
    np.testing.assert_array_equal(matrix(table), on_one_machine(events(), keyed()))


def test_every_declared_key_is_released_at_every_step_with_its_time_and_deviation(table):
    assert len(table) == STEPS * len(KEYS)
    assert set(table["key"]) == set(KEYS)
    first = table[table["step"] == 1]
    assert set(first["time"]) == {pd.Timestamp("2026-01-01 01:00")}
    deviations = table.drop_duplicates("step").sort_values("step")["stddev"]
    np.testing.assert_allclose(deviations, PLAN.stddevs(STEPS), rtol=1e-12)


def test_a_record_without_a_value_stops_the_job_and_is_not_shown(spark):
    found = events(count=3)
    found.loc[1, "amount"] = np.nan
    frame = spark.createDataFrame(found)
    released = private_decaying_sums(frame, PLAN, steps=STEPS, noise=SEEDED, **HOW)
    with pytest.raises(PySparkException, match="finite numbers") as caught:
        released.collect()
    assert not any(repr(value) in str(caught.value) for value in found["amount"].dropna())


def test_records_without_a_time_are_refused_or_left_out_and_counted(spark):
    found = events(count=20)
    frame = spark.createDataFrame(found).unionByName(
        spark.createDataFrame([(None, "k0", 1.0, 3)], COLUMNS)
    )
    asked = {"steps": STEPS, "noise": SEEDED, **HOW}
    with pytest.raises(PySparkException, match="must not have nulls"):
        private_decaying_sums(frame, PLAN, **asked).collect()
    counts = Observation()
    released = private_decaying_sums(frame, PLAN, skip_empty=True, counts=counts, **asked)
    np.testing.assert_array_equal(matrix(released.toPandas()), on_one_machine(found, SEEDED))
    assert counts.get["empty"] == 1


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_was_left_out_is_told_where_nothing_is_left(spark, adaptive):
    found = events(count=6).assign(key="other")
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    counts, asked = Observation(), {"steps": STEPS, "noise": SEEDED, **HOW}
    released = private_decaying_sums(session.createDataFrame(found), PLAN, counts=counts, **asked)
    np.testing.assert_array_equal(matrix(released.toPandas()), on_one_machine(found, SEEDED))
    assert counts.get["other_keys"] == counts.get["records"] == 6


# Streams -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stream(spark, place, noise):
    """A stream's releases after all steps, by tasks that all failed once.

    Records come in any order as long as their steps are open, one of the last hour and one from
    the year 2100 in the first batch.  Then come three without a value or a time, one after the last
    step, and one too late.
    """
    files, found = Files(place), events().sample(frac=1, random_state=2)
    hours = (found["at"] - START) // pd.Timedelta("1h")
    early = (hours < 3) | (hours == 11)
    odd = found.head(1).assign(key="k0", amount=2.0)
    files.add(pd.concat([found[early], at(odd, "2100-01-01")]), START + pd.Timedelta("3h"))
    empty = pd.concat([odd.assign(amount=np.nan), odd.assign(amount=np.inf), odd.assign(at=pd.NaT)])
    files.add(pd.concat([found[~early & (hours % 2 == 0)], empty]), START + pd.Timedelta("6h"))
    files.add(found[~early & (hours % 2 == 1)], START + pd.Timedelta("7h"))
    files.add(at(odd, "2026-01-01T12:00"), START + pd.Timedelta("12h"))
    files.add(at(odd, "2026-01-01T00:10"), START + pd.Timedelta("18h"))
    released = private_decaying_sums(
        files.stream(spark), PLAN, steps=STEPS, buckets=4, lateness="6h",
        noise=KeyFile(noise.path, stream="visits", record=place / "stream.uses"),
        clock=files.clock(spark), **HOW,
    )  # fmt: skip
    again = released.mapInPandas(failing_once(str(place)), RELEASED)
    query = written(again, place)
    return spark.read.parquet(str(place / "released")).toPandas(), query.recentProgress


def at(frame, time):
    return frame.assign(at=pd.Timestamp(time, tz="UTC"))


def test_a_stream_gives_the_bits_of_one_machine_in_any_order_though_every_task_failed_once(
    stream, table
):
    found, _ = stream
    np.testing.assert_array_equal(matrix(found), on_one_machine(events(), keyed()))
    np.testing.assert_array_equal(matrix(found), matrix(table))
    assert len(found) == STEPS * len(KEYS)


def test_a_record_of_a_closed_step_is_dropped_and_counted(stream):
    _, progress = stream
    dropped = [batch["stateOperators"][0]["numRowsDroppedByWatermark"] for batch in progress]
    assert sum(dropped) == 1
    observed = [batch["observedMetrics"]["hushfade"] for batch in progress]
    assert sum(counts["records"] for counts in observed) == 400 + 6
    assert sum(counts["outside"] for counts in observed) == 1
    assert sum(counts["ahead"] for counts in observed) == 1
    assert sum(counts["other_keys"] for counts in observed) == int(
        (events()["key"] == "other").sum()
    )


def test_a_record_without_a_value_or_a_time_stops_no_stream(stream):
    """If it did, one record would decide about the releases of all later steps."""
    found, progress = stream
    assert found["step"].max() == STEPS
    assert sum(batch["observedMetrics"]["hushfade"]["empty"] for batch in progress) == 3


def test_where_records_are_replaced_a_stream_needs_0_between_the_bounds(spark):
    said = Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
    far = plan(Exponential(half_life=5), said, low=5, high=6)
    with pytest.raises(HushfadeError, match="a stream needs 0 between low and high"):
        private_decaying_sums(rate(spark), far, lateness="1h", **ASKED)


def test_the_watermark_follows_the_clock_whatever_times_records_have(stream):
    _, progress = stream
    marks = {batch["batchId"]: batch["eventTime"].get("watermark") for batch in progress}
    assert [marks[batch] for batch in sorted(marks)] == [
        "1970-01-01T00:00:00.000Z",
        "2025-12-31T21:00:00.000Z",
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T01:00:00.000Z",
        "2026-01-01T06:00:00.000Z",
        "2026-01-01T12:00:00.000Z",
    ]


def test_steps_close_after_a_restart_without_waiting_for_a_record(spark, tmp_path):
    files = Files(tmp_path)
    files.add(events(), START + pd.Timedelta("13h"))
    released = private_decaying_sums(
        files.stream(spark), PLAN, steps=STEPS, noise=SEEDED, lateness="1h",
        clock=files.clock(spark), **HOW,
    )  # fmt: skip
    sink = released.writeStream.option("checkpointLocation", str(tmp_path / "kept"))
    for _ in range(
        2
    ):  # the batch that reads the clock; and one more, with nothing new in the files
        query = sink.trigger(once=True).start(str(tmp_path / "released"), format="parquet")
        query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "released")).toPandas()
    np.testing.assert_array_equal(matrix(found), on_one_machine(events(), SEEDED))


def test_without_another_clock_steps_close_by_the_drivers(spark, tmp_path):
    now = pd.Timestamp.now("UTC").floor("s")
    files, found = Files(tmp_path), events()
    shifted = found.assign(at=now - pd.Timedelta("24s") + (found["at"] - START) / 1800)
    files.add(shifted, now)  # all in the 24 seconds before, two seconds a step
    asked = HOW | {"start": now - pd.Timedelta("24s"), "every": "2s"}
    released = private_decaying_sums(
        files.stream(spark), PLAN, steps=STEPS, noise=SEEDED, lateness="1s", **asked
    )
    sink = released.writeStream.option("checkpointLocation", str(tmp_path / "kept"))
    query = sink.start(str(tmp_path / "released"), format="parquet")
    until = time.monotonic() + 240
    while query.isActive and time.monotonic() < until:
        progress = query.lastProgress
        marked = progress and pd.Timestamp(progress["eventTime"].get("watermark", 0), tz="UTC")
        if marked and marked > now:
            break
        time.sleep(0.2)
    query.stop()
    assert query.exception() is None
    back = shifted.assign(at=START + (shifted["at"] - now + pd.Timedelta("24s")) * 1800)
    expected = on_one_machine(back, SEEDED)
    found = spark.read.parquet(str(tmp_path / "released")).toPandas()
    np.testing.assert_array_equal(matrix(found), expected)


# Refusals ------------------------------------------------------------------------------------

WITHOUT_KEYS = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6))
COUNTING = plan(NoDecay(), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, horizon=10)
DAILY = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, every="1d")
MONTHLY = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, every="month")
TABLE = {"steps": STEPS}
REFUSED = {
    "fresh noise": (TABLE | {"noise": FreshNoise()}, "drawn twice"),
    "a key that would travel": (TABLE | {"noise": keyed()}, "copy its key"),
    "no end": ({}, "end or steps must be given"),
    "a lateness for a table": (TABLE | {"lateness": "1h"}, "are for streams"),
    "a start without zone": (TABLE | {"start": "2026-01-01"}, "start must have a time zone"),
    "nanoseconds": (TABLE | {"every": "10ns"}, "whole microseconds"),
    "no such column": (TABLE | {"value": "sum"}, "value must be a column"),
    "a time that is text": (TABLE | {"time": "key"}, "must be TIMESTAMP, got STRING"),
    "a value that is text": (TABLE | {"value": "key"}, "must be numbers, got STRING"),
    "a key that is a number": (TABLE | {"key": "amount"}, "must be text or whole numbers"),
    "keys without a column": (TABLE | {"key": None}, "must be given together"),
    "a column without keys": (TABLE | {"plan": WITHOUT_KEYS}, "must be given together"),
    "beyond the horizon": (TABLE | {"plan": COUNTING}, "horizon 10"),
    "no buckets": (TABLE | {"buckets": 0}, "buckets must be an integer >= 1"),
    "a frame of pandas": (TABLE | {"df": events(count=1)}, "df must be a Spark data frame"),
    "no plan": (TABLE | {"plan": None}, "plan must be a Plan"),
    "another step than the plan's": (TABLE | {"plan": DAILY}, "every must be 1d, the plan's step"),
    "a start inside a month": (
        TABLE | {"plan": MONTHLY, "every": None, "start": "2026-01-02Z"},
        "start must be the beginning of a calendar month",
    ),
    "a local start": (
        TABLE | {"plan": MONTHLY, "every": None, "start": "2026-01-01"},
        "start must have a time zone",
    ),
    "no step": (TABLE | {"every": None}, "every must be given"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_fit_is_refused_before_anything_runs(spark, why):
    changed, message = REFUSED[why]
    frame = spark.createDataFrame([], COLUMNS)
    given = {"df": frame, "plan": PLAN, "noise": SEEDED, **HOW, **changed}
    with pytest.raises(HushfadeError, match=message):
        private_decaying_sums(**given)


ASKED = {"time": "at", "every": "1h", "start": "2026-01-01Z", "noise": SEEDED}


def rate(session):
    return session.readStream.format("rate").load().selectExpr("timestamp at", "value amount")


def test_a_stream_without_lateness_or_with_another_state_store_is_refused(spark):
    with pytest.raises(HushfadeError, match="lateness must be given"):
        private_decaying_sums(rate(spark), WITHOUT_KEYS, **ASKED)
    with pytest.raises(HushfadeError, match="lateness must be text"):
        private_decaying_sums(rate(spark), WITHOUT_KEYS, lateness=600, **ASKED)
    other = spark.newSession()
    other.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    )
    with pytest.raises(HushfadeError, match="RocksDB"):
        private_decaying_sums(rate(other), WITHOUT_KEYS, lateness="1h", **ASKED)


def test_a_stream_that_starts_before_1970_is_refused(spark):
    asked = ASKED | {"start": "1969-12-31T23:00Z"}
    with pytest.raises(HushfadeError, match="start must not be before 1970"):
        private_decaying_sums(rate(spark), WITHOUT_KEYS, lateness="1h", **asked)


def test_a_watermark_that_records_would_move_is_refused_however_deep_it_is(spark):
    marked = rate(spark).withWatermark("at", "1 hour")
    hidden = marked.selectExpr("at + interval 1 second at", "amount")
    deep = marked
    for number in range(20):
        deep = deep.withColumn(f"more{number}", sql.lit(number))
    spark.conf.set("spark.sql.maxPlanStringLength", "200")  # a plan's text may be cut
    for frame in (marked, hidden, deep, marked.dropDuplicatesWithinWatermark()):
        with pytest.raises(HushfadeError, match="must have no watermark"):
            private_decaying_sums(frame, WITHOUT_KEYS, lateness="1h", **ASKED)
    spark.conf.unset("spark.sql.maxPlanStringLength")
    clock = marked.withColumnRenamed("at", "timestamp")
    with pytest.raises(HushfadeError, match="clock must have no watermark"):
        private_decaying_sums(rate(spark), WITHOUT_KEYS, lateness="1h", clock=clock, **ASKED)


def test_a_frame_that_is_another_each_time_is_refused(spark):
    frame = spark.createDataFrame([], COLUMNS)
    frame.createOrReplaceTempView("visits")
    by_key, rest = frame.groupBy("key"), ["at", "amount", "person"]
    for odd in (
        frame.where("rand() < 0.5"),
        frame.withColumn("key", sql.uuid()),
        frame.limit(2),
        frame.sample(0.5, seed=1).where("amount > 0"),
        frame.where("person = (select person from visits limit 1)"),
        frame.where("exists (select 1 from visits tablesample (50 percent))"),
        frame.dropDuplicates(["person"]),
        by_key.agg(*(sql.first(name).alias(name) for name in rest)),
        by_key.agg(*(sql.max_by(name, "at").alias(name) for name in rest)),
        by_key.agg(*(sql.element_at(sql.collect_list(name), 1).alias(name) for name in rest)),
    ):
        with pytest.raises(HushfadeError, match="must be the same each time"):
            private_decaying_sums(odd, PLAN, steps=STEPS, noise=SEEDED, **HOW)
    same = frame.dropDuplicates().where("person in (select person from visits)")
    assert private_decaying_sums(same, PLAN, steps=STEPS, noise=SEEDED, **HOW).columns


@pytest.mark.parametrize("now", ["now()", "current_date()", "timestamp_seconds(unix_timestamp())"])
def test_a_table_that_changes_with_the_time_is_refused_and_a_stream_is_not(spark, now):
    frame = spark.createDataFrame([], COLUMNS)
    frame.createOrReplaceTempView("visits")
    for where in (f"at < {now}", f"person in (select person from visits where at < {now})"):
        with pytest.raises(HushfadeError, match="Write the time as a literal"):
            private_decaying_sums(frame.where(where), PLAN, steps=STEPS, noise=SEEDED, **HOW)
    recent = rate(spark).where(f"at < {now}")  # a batch's own time, which Spark writes down
    assert private_decaying_sums(recent, WITHOUT_KEYS, lateness="1h", **ASKED).isStreaming


def test_a_clock_that_is_no_stream_of_times_or_made_of_the_records_is_refused(spark, tmp_path):
    asked = {"lateness": "1h", **ASKED}
    with pytest.raises(HushfadeError, match="clock must be a streaming frame"):
        private_decaying_sums(rate(spark), WITHOUT_KEYS, clock=spark.range(3), **asked)
    files = Files(tmp_path)
    records, clock = files.stream(spark), files.clock(spark)
    odd = clock.withColumnRenamed("timestamp", "at")
    with pytest.raises(HushfadeError, match="clock must have a column 'timestamp'"):
        private_decaying_sums(records, WITHOUT_KEYS, clock=odd, **asked)
    reader, place = spark.readStream.schema("at timestamp"), tmp_path / "events"
    for again in (
        records,
        files.stream(spark),
        read(spark, place, "at timestamp"),
        reader.parquet(f"{place}/"),
        reader.json(place.as_uri()),
        reader.parquet(str(place / "*.parquet")),
        reader.parquet(str(tmp_path)),
    ):
        own = again.selectExpr("at timestamp")
        with pytest.raises(HushfadeError, match="clock must not be derived from the records"):
            private_decaying_sums(records, WITHOUT_KEYS, clock=own, **asked)
    assert private_decaying_sums(records, WITHOUT_KEYS, clock=clock, **asked).isStreaming


def test_batches_only_where_there_are_records_are_refused(spark):
    other = spark.newSession()
    other.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    with pytest.raises(HushfadeError, match="steps would wait for records"):
        private_decaying_sums(rate(other), WITHOUT_KEYS, lateness="1h", **ASKED)


def test_a_stream_may_go_on_for_ever(spark):
    found = private_decaying_sums(rate(spark), WITHOUT_KEYS, lateness="1h", **ASKED)
    assert found.isStreaming
    assert found.columns == ["step", "time", "value", "stddev"]


def test_workers_run_the_interpreter_of_the_session(spark):
    assert os.environ["PYSPARK_PYTHON"] == spark.sparkContext.pythonExec
