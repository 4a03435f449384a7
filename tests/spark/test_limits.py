"""Limits of one person: the same records count in a file, in a table and in a stream."""

import numpy as np
import pandas as pd
import pytest
from pyspark.errors import PySparkException

import hushfade.frames as _frames
from hushfade import Exponential, Guarantee, Person, SlidingWindow, UnsafeSeededNoise, plan
from hushfade.errors import DroppedRecords
from hushfade.records.limits import Bounding, Limits
from hushfade.spark import KeyFile, private_decaying_sums
from hushfade.spark.limits import HashOrder, first_of_each, taken
from tests.spark.cases import (
    COLUMNS,
    HOW,
    KEYS,
    START,
    STEPS,
    events,
    in_hash_order,
    key_file,
    matrix,
)  # fmt: skip
from tests.spark.conftest import Files, written
from tests.spark.tries import RELEASED, failing_once

assert _frames  # pandas frames have an accessor from here on

LIMITED = plan(
    Exponential(half_life=5),
    Guarantee(epsilon=1, delta=1e-6, protects=Person(steps=3, apart=2, records_per_step=2)),
    keys=KEYS, low=-0.5, high=2,
)  # fmt: skip
SEEDED = UnsafeSeededNoise(6)


@pytest.fixture(scope="module")
def expected(spark):
    """By the frames' own limits, which take records in the order of the rows."""
    found = events()
    steps = (found["at"] - START) // pd.Timedelta("1h")
    ordered = in_hash_order(spark, found, LIMITED, SEEDED.seed, steps)
    with pytest.warns(DroppedRecords):
        released = ordered.hushfade.release_events(
            plan=LIMITED, steps=STEPS, user="person", noise=SEEDED, **HOW
        )
    with pytest.warns(DroppedRecords):
        every = ordered.hushfade.release_events(plan=LIMITED, steps=STEPS, noise=SEEDED, **HOW)
    assert (matrix(released) != matrix(every)).any()  # the limits bite
    return matrix(released)


def test_a_table_keeps_what_a_sorted_file_keeps(spark, expected):
    frame = spark.createDataFrame(events().sample(frac=1, random_state=7))
    asked = {"steps": STEPS, "user": "person", "noise": SEEDED, "buckets": 3}
    released = private_decaying_sums(frame, LIMITED, **asked, **HOW)
    np.testing.assert_array_equal(matrix(released.toPandas()), expected)


@pytest.fixture(scope="module")
def stream(spark, tmp_path_factory):
    """A stream of two files, in a session whose clock is Tokyo's; every task failed once."""
    place = tmp_path_factory.mktemp("limits")
    files, found = Files(place), events()
    halves = found["at"] < START + pd.Timedelta("6h")
    files.add(found[halves].sample(frac=1, random_state=2), START + pd.Timedelta("6h"))
    files.add(found[~halves].sample(frac=1, random_state=3), START + pd.Timedelta("12h"))
    files.add(found.head(0), START + pd.Timedelta("18h1s"))
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    again = limited(session, files).mapInPandas(failing_once(str(place)), RELEASED)
    written(again, place)
    return place, files


def limited(session, files, **changed):
    given = {"user": "person", "noise": SEEDED, "buckets": 2, "steps": STEPS, **HOW, **changed}
    return private_decaying_sums(
        files.stream(session), LIMITED, lateness="6h", clock=files.clock(session), **given
    )


def test_a_stream_keeps_what_a_sorted_file_keeps_in_any_zone_though_every_task_failed_once(
    spark, stream, expected
):
    place, _ = stream
    assert list(place.glob("failed-*"))
    found = spark.read.parquet(str(place / "released")).toPandas()
    np.testing.assert_array_equal(matrix(found), expected)


def test_with_fewer_buckets_of_persons_a_checkpoint_is_refused(spark, stream):
    place, files = stream
    files.add(events().head(3), START + pd.Timedelta("19h"))
    with pytest.raises(PySparkException, match="the checkpoint belongs to another plan"):
        written(limited(spark, files, buckets=1), place)


def test_records_of_nobody_are_refused_or_left_out(spark, expected):
    nobody = [(START.to_pydatetime(), "k0", 2.0, name) for name in ("", None)]
    frame = spark.createDataFrame(events().astype({"person": str})).unionByName(
        spark.createDataFrame(nobody, COLUMNS.replace("bigint", "string"))
    )
    asked = {"steps": STEPS, "user": "person", "noise": SEEDED, **HOW}
    with pytest.raises(PySparkException, match="must not have nulls or blank names"):
        private_decaying_sums(frame, LIMITED, **asked).collect()
    released = private_decaying_sums(frame, LIMITED, skip_empty=True, **asked)
    np.testing.assert_array_equal(matrix(released.toPandas()), expected)


def test_of_records_at_one_time_no_value_is_preferred(spark):
    """1000 people with a 0 and a 1 at midnight: the limit of one record keeps each for about half.

    The seed is fixed, and 6 standard deviations of a fair choice are 95 people.
    """
    one = plan(
        SlidingWindow(1), Guarantee(epsilon=1e6, delta=1e-6, protects=Person()), keys=["a", "b"]
    )
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    rows = spark.range(4000).selectExpr(
        "timestamp'2026-01-01' as at", "id div 4 as person", "cast(id % 2 as double) as amount",
        "if(id % 4 < 2, 'a', 'b') as key",
    )  # fmt: skip
    given = HOW | {"every": "1d", "steps": 1, "user": "person"}
    released = [
        private_decaying_sums(frame, one, noise=SEEDED, **given).orderBy("key").toPandas()["value"]
        for frame in (rows, rows.repartition(5).orderBy("amount", "key", "person"))
    ]
    for found in released:  # of every person one of (a, 0), (a, 1), (b, 0), (b, 1) counts
        assert found.sum() == pytest.approx(500, abs=95)
        assert found[0] == pytest.approx(250, abs=83)
    np.testing.assert_array_equal(released[0], released[1])


# Without Spark -------------------------------------------------------------------------------


class ByTime:
    """An order that tests know by hand."""

    def places(self, high, low, at, lane, units):
        return at


@pytest.mark.parametrize("separation", [1, 3])
@pytest.mark.parametrize("steps", [1, 4, 100])
@pytest.mark.parametrize("most", [1, 2])
def test_step_by_step_the_same_records_count_as_in_a_file_in_order(most, steps, separation):
    rng = np.random.default_rng(5)
    limits = Limits(most, steps, separation)
    persons, places = rng.integers(0, 30, 600), np.sort(rng.integers(0, 25, 600))
    expected = Bounding(limits).kept(persons, places)
    record = np.dtype([(name, "<i8") for name in ("high", "low", "at", "lane", "units")])
    used = np.empty(0, np.dtype([(name, "<i8") for name in ("high", "low", "count", "last")]))
    kept = []
    for step in range(25):
        rows = np.flatnonzero(places == step)
        records = np.zeros(len(rows), dtype=record)
        records["high"], records["low"], records["at"] = -persons[rows] % 4, persons[rows], rows
        few = first_of_each(rng.permutation(records), most, ByTime())
        used, counted = taken(used, few, step, limits)
        kept.extend(few["at"][counted].tolist())
    assert sorted(kept) == np.flatnonzero(expected).tolist()
    assert len(used) == len(np.unique(persons))


def test_records_of_the_same_place_have_an_order_too():
    """Otherwise a task that runs again could choose other records."""
    record = np.dtype([(name, "<i8") for name in ("high", "low", "at", "lane", "units")])
    rows = [(1, 1, 9, 2, 5), (1, 1, 9, 2, 4), (1, 1, 9, 0, 8), (1, 1, 10, 0, 0), (0, 2, 11, 1, 1)]
    found = first_of_each(np.array(rows, dtype=record), 2, ByTime())
    assert found.tolist() == [(0, 2, 11, 1, 1), (1, 1, 9, 0, 8), (1, 1, 9, 2, 4)]


def test_each_key_plan_and_person_has_an_order_of_its_own(tmp_path):
    """A value that comes first for one person does not come first for all."""
    content = [np.repeat(np.arange(100), 2), np.zeros(200), np.zeros(200), np.zeros(200)]
    columns = [column.astype(np.int64) for column in content] + [np.tile([0, 1], 100)]
    file = KeyFile(key_file(tmp_path), stream="visits")
    orders = [
        HashOrder(noise, digest).places(*columns).reshape(100, 2)
        for noise, digest in (
            (file, bytes(32)), (file, bytes([1]) * 32), (SEEDED, bytes(32)),
            (KeyFile(file.path, stream="others"), bytes(32)),
        )
    ]  # fmt: skip
    for places in orders:  # by a fair coin once in 10^9 outside
        assert 20 < np.sum(places[:, 0] < places[:, 1]) < 80
    assert len({places.tobytes() for places in orders}) == 4
    again = HashOrder(file, bytes(32)).places(*columns).reshape(100, 2)
    np.testing.assert_array_equal(again, orders[0])
