"""On Spark a key's stream and epoch serve one job: the driver records it before any noise."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as sql

from hushfade import Exponential, Guarantee, plan
from hushfade.crossing.key_file import for_totals
from hushfade.errors import InvalidValue, Refused
from hushfade.spark import KeyFile, private_decaying_sums, tables
from hushfade.spark.frame_identity import identity
from tests.spark.cases import (
    COLUMNS,
    HOW,
    KEYS,
    PLAN,
    STEPS,
    events,
    key_file,
    keyed,
    matrix,
    on_one_machine,
    totals,
)
from tests.spark.conftest import Files

ROOT = Path(__file__).parents[2]


def asked(frame, noise, **changed):
    return private_decaying_sums(
        frame, **({"plan": PLAN, "steps": STEPS, **HOW} | changed), noise=noise
    )


@pytest.fixture
def noise(tmp_path):
    return KeyFile(key_file(tmp_path), stream="visits")


def recorded(noise):
    return [json.loads(line) for line in Path(noise.record).read_text().splitlines()]


# Tables --------------------------------------------------------------------------------------


def test_the_same_table_again_is_released_again_and_any_other_job_is_refused(
    spark, tmp_path, noise
):
    folder = tmp_path / "events"
    spark.createDataFrame(events()).write.parquet(str(folder))
    frame = spark.read.parquet(str(folder))
    first = asked(frame, noise)
    (line,) = recorded(noise)
    assert (line["plan"], line["kind"]) == (PLAN.digest.hex(), "table")
    assert Path(noise.record).stat().st_mode & 0o777 == 0o600
    again = asked(frame, noise, buckets=5)  # how lanes are cut changes no bit
    np.testing.assert_array_equal(matrix(first.toPandas()), matrix(again.toPandas()))
    # nor does the place of the same records, or their order
    shuffled = spark.createDataFrame(events().sample(frac=1, random_state=3))
    np.testing.assert_array_equal(
        matrix(first.toPandas()), matrix(asked(shuffled, noise).toPandas())
    )
    assert recorded(noise) == [line]

    other = plan(Exponential(half_life=3), Guarantee(1, 1e-6), low=0, high=3, keys=KEYS)
    with pytest.raises(Refused, match="was used for another plan: give this job another stream"):
        asked(frame, noise, plan=other)
    with pytest.raises(Refused, match="was used for other records or options"):
        asked(frame, noise, steps=STEPS - 1)
    for changed in ({"stream": "others"}, {"stream": "visits", "epoch": 1}):
        asked(frame, KeyFile(tmp_path / "key", **changed), steps=STEPS - 1)
    assert len(recorded(noise)) == 3


def test_a_table_with_any_other_total_is_refused_under_the_same_name(spark, tmp_path, noise):
    """A filter, rows in memory, files that were overwritten: the difference would be exact."""
    found = events(count=60)
    folder = tmp_path / "events"
    folder.mkdir()
    found.to_parquet(folder / "a.parquet")
    frame = spark.read.schema(COLUMNS).parquet(str(folder))
    asked(frame, noise)
    counted = found[found["key"].isin(KEYS)].index[0]
    without = found.drop(index=counted)
    changed = found.copy()
    changed.loc[counted, "amount"] += 1.0 if changed.loc[counted, "amount"] < 0.5 else -1.0
    for other in (
        frame.where(sql.col("key") != found.loc[counted, "key"]),
        frame.where("amount < 1"),
        frame.unionByName(frame.where(f"key = '{KEYS[0]}'")),
        spark.createDataFrame(without),
        spark.createDataFrame(changed),
        spark.createDataFrame([], COLUMNS),
    ):
        with pytest.raises(Refused, match="was used for other records or options"):
            asked(other, noise)
    without.to_parquet(folder / "a.parquet")  # the same file with one record less
    with pytest.raises(Refused, match="was used for other records or options"):
        asked(spark.read.schema(COLUMNS).parquet(str(folder)), noise)
    assert len(recorded(noise)) == 1


def test_a_table_that_changes_before_it_is_released_gets_no_noise(spark, tmp_path, monkeypatch):
    """Where the totals are computed again, as after the loss of a machine."""
    monkeypatch.setattr(tables, "_kept", lambda frame: frame)
    noise, folder = KeyFile(key_file(tmp_path), stream="visits"), tmp_path / "events"
    folder.mkdir()
    events().to_parquet(folder / "a.parquet")
    frame = spark.read.schema(COLUMNS).parquet(str(folder))
    released = asked(frame, noise)
    np.testing.assert_array_equal(matrix(released.toPandas()), on_one_machine(events(), keyed()))
    events(seed=5).to_parquet(folder / "a.parquet")
    with pytest.raises(PySparkException, match="must not change after its noise was claimed"):
        released.where("step > 0").collect()  # a plan of its own, which reads the file again


def test_a_tables_totals_are_computed_once_and_observed_at_once(spark, tmp_path, noise):
    found, counts = events(), Observation()
    folder = tmp_path / "events"
    folder.mkdir()
    found.to_parquet(folder / "a.parquet")
    frame = spark.read.schema(COLUMNS).parquet(str(folder))
    released = asked(frame, noise, counts=counts)
    assert counts.get["records"] == len(found)
    (folder / "a.parquet").unlink()  # they are kept
    np.testing.assert_array_equal(matrix(released.toPandas()), on_one_machine(found, keyed()))


def test_a_checkpoint_directory_keeps_the_totals_where_machines_are_lost(spark, tmp_path, noise):
    context = spark.sparkContext
    assert context.getCheckpointDir() is None
    context.setCheckpointDir(str(tmp_path / "kept"))
    try:
        released = asked(spark.createDataFrame(events()), noise)
        assert list((tmp_path / "kept").rglob("part-*"))
        np.testing.assert_array_equal(
            matrix(released.toPandas()), on_one_machine(events(), keyed())
        )
    finally:
        set_to_none = getattr(context._jsc.sc(), "checkpointDir_$eq")
        set_to_none(context._jvm.scala.Option.empty())


def test_the_driver_needs_no_key_and_a_place_for_the_record(spark, tmp_path):
    frame, path = spark.createDataFrame(events()), key_file(tmp_path)
    elsewhere = {"stream": "visits", "fingerprint": keyed().fingerprint.hex()}
    with pytest.raises(Refused, match="cannot be used without a record"):
        asked(frame, KeyFile(path, record=tmp_path / "nowhere" / "uses", **elsewhere))
    asked(frame, KeyFile(path, record=tmp_path / "uses", **elsewhere))
    assert (tmp_path / "uses").read_text().count("\n") == 1


def test_a_table_on_spark_and_the_same_totals_here_are_one_job(spark, noise):
    asked(spark.createDataFrame(events()), noise)
    x = totals(events())
    source = for_totals(noise, PLAN.digest, x)
    np.testing.assert_array_equal(
        PLAN.start(source).run_units(x), on_one_machine(events(), keyed())
    )
    assert len(recorded(noise)) == 1
    x[3, 2] += 1
    with pytest.raises(Refused, match="was used for other records or options"):
        for_totals(noise, PLAN.digest, x)


# Streams -------------------------------------------------------------------------------------

LIVE = {"steps": STEPS, "lateness": "1h"}


def test_another_source_filter_or_clock_is_refused_for_a_stream(spark, tmp_path, noise):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Files(tmp_path / "one"), Files(tmp_path / "two")
    first = one.stream(spark)
    asked(first, noise, **LIVE)
    asked(one.stream(spark), noise, **LIVE)
    asked(one.stream(spark), noise, **LIVE | {"lateness": "2h"}, skip_empty=True, buckets=3)
    paced = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 7)
    asked(paced.parquet(str(one.places["events"])), noise, **LIVE)
    (line,) = recorded(noise)
    assert line["kind"] == "spark stream"
    for other in (
        two.stream(spark),
        first.where("key <> 'k1'"),
        first.where("key <> 'k2'"),
        first.withColumn("amount", sql.expr("amount * 2")),
        first.unionByName(two.stream(spark)),
        spark.readStream.schema(COLUMNS).json(str(one.places["events"])),
        paced.option("pathGlobFilter", "*.parquet").parquet(str(one.places["events"])),
    ):
        with pytest.raises(Refused, match="was used for other records or options"):
            asked(other, noise, **LIVE)
    with pytest.raises(Refused, match="was used for other records or options"):
        asked(first, noise, clock=one.clock(spark), **LIVE)
    with pytest.raises(Refused, match="was used for other records or options"):
        asked(spark.createDataFrame(events()), noise)  # a table under the name of a stream
    assert recorded(noise) == [line]


def test_what_cannot_be_identified_is_refused_for_a_stream(spark, tmp_path, noise):
    stream = Files(tmp_path).stream(spark)
    known = spark.createDataFrame([("k0",), ("k1",)], "key string")
    double = sql.udf(lambda amount: 2 * amount, "double")
    for other, found in (
        (stream.join(known, "key"), "Found: LogicalRDD. Write rows in memory to files first"),
        (stream.join(spark.createDataFrame(pd.DataFrame({"key": ["k0"]})), "key"), "LocalRelation"),
        (stream.withColumn("amount", double("amount")), "Found: PythonUDF. Apply functions before"),
        (stream.mapInPandas(lambda rows: rows, COLUMNS), "Found: MapInPandas"),
    ):
        with pytest.raises(InvalidValue, match=found):
            asked(other, noise, **LIVE)
    assert not Path(noise.record).exists()


def frames(session, place):
    """Frames that differ, each in one respect; by name."""
    place.mkdir(exist_ok=True)
    stream = session.readStream.schema(COLUMNS).option("path", str(place)).format("csv").load()
    stream.createOrReplaceTempView("visits")
    return {
        "plain": stream,
        "a filter": stream.where("key <> 'k1'"),
        "a literal": stream.where("key <> 'k2'"),
        "a literal like a column's number": stream.where("key <> 'k#2'"),
        "another such": stream.where("key <> 'k#3'"),
        "a number": stream.where("amount > 1"),
        "the same as text": stream.where("amount > '1'"),
        "cast": stream.withColumn("amount", sql.expr("cast(key as double)")),
        "try_cast": stream.withColumn("amount", sql.expr("try_cast(key as double)")),
        "a view": session.sql("select * from visits where amount > 1"),
        "a subquery": session.sql(
            "with v as (select * from visits) select * from v where amount > 1"
        ),
        "columns in turn": stream.withColumn("person", sql.expr("person + cast(amount as bigint)")),
        "the other way": stream.withColumn("person", sql.expr("cast(amount as bigint) + person")),
        "a union": stream.unionByName(stream.where("amount > 1")),
        "a function of arrays": stream.where(sql.exists(sql.array("key"), lambda k: k == "k1")),
        "another function": stream.where(sql.exists(sql.array("key"), lambda k: k == "k2")),
        "an option": session.readStream.schema(COLUMNS).option("sep", ";").csv(str(place)),
        "another path": session.readStream.schema(COLUMNS).csv(str(place.parent)),
        "rate": session.readStream.format("rate").load(),
        "faster": session.readStream.format("rate").option("rowsPerSecond", 7).load(),
    }


def test_frames_that_differ_have_different_identities_and_no_secret_is_in_one(spark, tmp_path):
    found = {
        name: json.dumps(identity(frame, name), sort_keys=True)
        for name, frame in frames(spark, tmp_path / "events").items()
    }
    assert len(set(found.values())) == len(found)
    again = frames(spark, tmp_path / "events")
    for name, frame in again.items():
        assert json.dumps(identity(frame, name), sort_keys=True) == found[name], name
    kafka = {"kafka.bootstrap.servers": "a:1", "kafka.sasl.jaas.config": "hunter2"}
    reader = spark.readStream.format("rate").options(**kafka, password="hunter2")
    text = json.dumps(identity(reader.load(), "it"))
    assert "a:1" in text
    assert "hunter2" not in text


@pytest.mark.slow
def test_another_session_gives_a_frame_the_same_identity(spark, tmp_path):
    script = (
        "import sys, json, pathlib; from hushfade.spark import local_session;"
        "from hushfade.spark.frame_identity import identity;"
        "from tests.spark.cases import QUIET; from tests.spark.test_key_record import frames;"
        "session = local_session(1, **QUIET); session.range(7).count();"
        "session.sparkContext.setLogLevel('OFF');"
        "print(json.dumps({n: identity(f, n) for n, f in"
        " frames(session, pathlib.Path(sys.argv[1])).items()}))"
    )
    made = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "events")],
        cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = json.loads(made.stdout.splitlines()[-1])
    for name, frame in frames(spark, tmp_path / "events").items():
        assert identity(frame, name) == theirs[name], name
