"""Tables and streams on a real Spark: the bits of one machine, whatever runs where and twice."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException

from hushfade import Exponential, FreshNoise, Guarantee, NoDecay, UnsafeSeededNoise, plan
from hushfade.connect.spark import KeyFile, private_decaying_sums
from hushfade.errors import HushfadeError
from tests.connect.cases import (
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
from tests.connect.conftest import Files

pytestmark = pytest.mark.xdist_group("spark")
SEEDED = UnsafeSeededNoise(1)


def failing_once(place):
    """A stage that fails after its work is done, the first time that each task is tried."""

    def passed(batches):
        yield from batches
        found = TaskContext.get()
        if found.attemptNumber() == 0:
            number = f"{found.stageId()}-{found.partitionId()}"
            (Path(place) / f"failed-{number}").touch()
            raise RuntimeError("this task fails when it is done")

    return passed


RELEASED = "step bigint, time timestamp, key string, value double, stddev double"


# Tables --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(spark, place):
    """A table's releases, by tasks that all failed once."""
    found = events()
    outside = found.head(2).assign(at=[START - pd.Timedelta("1us"), START + pd.Timedelta("12h")])
    noise = KeyFile(key_file(place), stream="visits")
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


# Streams -------------------------------------------------------------------------------------

LATE = START + pd.Timedelta("10min")


@pytest.fixture(scope="module")
def stream(spark, place):
    """A stream's releases after all steps, out of order within six hours, by tasks that all
    failed once; then a record after the last step, and one that comes too late."""
    files, found = Files(place), events()
    halves = found["at"] < START + pd.Timedelta("6h")
    late = found.head(1).assign(at=LATE, key="k0", amount=2.0)
    files.add(found[halves].sample(frac=1, random_state=2))
    files.add(found[~halves].sample(frac=1, random_state=3))
    files.add(late.assign(at=START + pd.Timedelta("18h1s"), key="k5"))
    files.add(late)
    noise = KeyFile(place / "key", stream="visits")
    released = private_decaying_sums(
        files.stream(spark, COLUMNS), PLAN, steps=STEPS, noise=noise, buckets=4, watermark="6h",
        **HOW,
    )  # fmt: skip
    again = released.mapInPandas(failing_once(str(place)), RELEASED)
    sink = again.writeStream.option("checkpointLocation", str(place / "kept"))
    query = sink.trigger(availableNow=True).start(str(place / "released"), format="parquet")
    query.awaitTermination()
    return spark.read.parquet(str(place / "released")).toPandas(), query.recentProgress


def test_a_stream_gives_the_bits_of_one_machine_in_any_order_though_every_task_failed_once(
    stream, table
):
    found, _ = stream
    np.testing.assert_array_equal(matrix(found), on_one_machine(events(), keyed()))
    np.testing.assert_array_equal(matrix(found), matrix(table))
    assert len(found) == STEPS * len(KEYS)


def test_a_record_behind_the_watermark_is_dropped_and_counted(stream):
    _, progress = stream
    dropped = [batch["stateOperators"][0]["numRowsDroppedByWatermark"] for batch in progress]
    assert sum(dropped) == 1
    observed = [batch["observedMetrics"]["hushfade"] for batch in progress]
    assert sum(counts["records"] for counts in observed) == 400 + 2
    assert sum(counts["outside"] for counts in observed) == 1
    assert sum(counts["other_keys"] for counts in observed) == int(
        (events()["key"] == "other").sum()
    )


# Refusals ------------------------------------------------------------------------------------

WITHOUT_KEYS = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6))
COUNTING = plan(NoDecay(), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, horizon=10)
TABLE = {"steps": STEPS}
REFUSED = {
    "fresh noise": (TABLE | {"noise": FreshNoise()}, "drawn twice"),
    "a key that would travel": (TABLE | {"noise": keyed()}, "carry its key"),
    "no end": ({}, "end or steps must be given"),
    "a watermark for a table": (TABLE | {"watermark": "1h"}, "are for streams"),
    "a start without zone": (TABLE | {"start": "2026-01-01"}, "start must have a zone"),
    "nanoseconds": (TABLE | {"every": "10ns"}, "whole microseconds"),
    "no such column": (TABLE | {"value": "sum"}, "value must be a column"),
    "a time that is text": (TABLE | {"time": "key"}, "must be TIMESTAMP, got STRING"),
    "a value that is text": (TABLE | {"value": "key"}, "must be numbers, got STRING"),
    "a key that is a number": (TABLE | {"key": "amount"}, "must be text or whole numbers"),
    "keys without a column": (TABLE | {"key": None}, "declared keys go together"),
    "a column without keys": (TABLE | {"plan": WITHOUT_KEYS}, "declared keys go together"),
    "beyond the horizon": (TABLE | {"plan": COUNTING}, "horizon 10"),
    "no buckets": (TABLE | {"buckets": 0}, "buckets must be an integer >= 1"),
    "no plan": (TABLE | {"plan": None}, "plan must be a Plan"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_fit_is_refused_before_anything_runs(spark, why):
    changed, message = REFUSED[why]
    frame = spark.createDataFrame([], COLUMNS)
    given = {"df": frame, "plan": PLAN, "noise": SEEDED, **HOW, **changed}
    with pytest.raises(HushfadeError, match=message):
        private_decaying_sums(**given)


def test_a_stream_without_watermark_or_with_another_state_store_is_refused(spark):
    frame = spark.readStream.format("rate").load().selectExpr("timestamp at", "value amount")
    asked = {"time": "at", "every": "1h", "start": "2026-01-01Z", "noise": SEEDED}
    with pytest.raises(HushfadeError, match="watermark must be given"):
        private_decaying_sums(frame, WITHOUT_KEYS, **asked)
    other = spark.newSession()
    other.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    )
    frame = other.readStream.format("rate").load().selectExpr("timestamp at", "value amount")
    with pytest.raises(HushfadeError, match="RocksDB"):
        private_decaying_sums(frame, WITHOUT_KEYS, watermark="1h", **asked)


def test_a_stream_may_go_on_for_ever(spark):
    frame = spark.readStream.format("rate").load().selectExpr("timestamp at", "value amount")
    asked = {"time": "at", "every": "1h", "start": "2026-01-01Z", "noise": SEEDED}
    found = private_decaying_sums(frame, WITHOUT_KEYS, watermark="1h", **asked)
    assert found.isStreaming
    assert found.columns == ["step", "time", "value", "stddev"]


def test_workers_run_the_interpreter_of_the_session(spark):
    assert os.environ["PYSPARK_PYTHON"] == spark.sparkContext.pythonExec
