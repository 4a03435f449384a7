"""A stream's checkpoint is continued with what it began with, and with nothing else."""

import os
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from hushfade import Exponential, Guarantee, UnsafeSeededNoise, plan
from hushfade.records.batch import Columns
from hushfade.records.calendar import Calendar
from hushfade.records.limits import Limits
from hushfade.spark import KeyFile, private_decaying_sums
from hushfade.spark.cells import Request
from hushfade.spark.close_steps import Buckets
from hushfade.spark.limits import PersonLimits
from hushfade.spark.streams import bound
from hushfade.stream.partition import Mechanism
from tests.spark.cases import (
    COLUMNS,
    HOW,
    KEYS,
    PLAN,
    START,
    STEPS,
    events,
    matrix,
    on_one_machine,
)
from tests.spark.conftest import Files, written

SEEDED = UnsafeSeededNoise(8)
OTHER = plan(
    Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), keys=KEYS, low=-0.5, high=4
)
BEGUN = {"plan": PLAN, "steps": STEPS, "noise": SEEDED, "buckets": 4, **HOW}
CHANGED = {
    "another plan": {"plan": OTHER},
    "more buckets": {"buckets": 7},
}


@pytest.fixture(scope="module")
def begun(spark, place):
    """A stream after its first file, with the second one waiting."""
    files, found = Files(place), events()
    half = np.arange(len(found)) % 2 == 0
    files.add(found[half], START)
    written(asked(spark, files), place)
    files.add(found[~half], START + pd.Timedelta("12h1s"))
    return files


def asked(spark, files, **changed):
    return private_decaying_sums(
        files.stream(spark), clock=files.clock(spark), lateness="1s", **BEGUN | changed
    )


@pytest.mark.long
@pytest.mark.parametrize("why", CHANGED)
def test_a_checkpoint_is_not_continued_with_anything_else_and_nothing_is_added_to_it(
    spark, place, begun, tmp_path, why
):
    shutil.copytree(place / "kept", tmp_path / "kept")
    with pytest.raises(PySparkException, match="the checkpoint belongs to another plan"):
        written(asked(spark, begun, **CHANGED[why]), tmp_path)
    assert sorted(os.listdir(tmp_path / "kept" / "commits")) == sorted(
        os.listdir(place / "kept" / "commits")
    )
    assert not list((tmp_path / "released" / "_spark_metadata").glob("[0-9]*"))


@pytest.mark.long
def test_a_checkpoint_is_continued_with_the_same_and_may_skip_what_is_empty(
    spark, place, begun, tmp_path
):
    for name in ("kept", "released"):
        shutil.copytree(place / name, tmp_path / name)
    written(asked(spark, begun, skip_empty=True), tmp_path)
    found = spark.read.parquet(str(tmp_path / "released")).toPandas()
    np.testing.assert_array_equal(matrix(found), on_one_machine(events(), SEEDED))


class Frame:
    """As much of a frame as the bond looks at."""

    def __init__(self, columns=COLUMNS, **settings):
        self.schema = StructType.fromDDL(columns)
        self.sparkSession = SimpleNamespace(conf=settings)


@pytest.mark.usefixtures("spark")  # it parses the schema
def test_whatever_changes_the_totals_of_the_same_records_changes_the_bond():
    limits = PersonLimits(Limits(1, 2, 3))
    calendar = Calendar(0, 10**9, True, 12)
    columns = Columns("amount", "at", "key", "person")
    request = Request(PLAN.grid, columns, calendar, 4, False, "hushfade")
    buckets = Buckets(Mechanism.of(PLAN), SEEDED, request.size)
    others = [
        (request, buckets, None),
        (request, buckets, PersonLimits(Limits(1, 3, 3))),
        (request, buckets, PersonLimits(Limits(1, 2, 4))),
        (request, buckets, PersonLimits(Limits(2, 2, 3))),
        (request, buckets, PersonLimits(Limits(1, 1, 1, "step"))),
        (request, buckets, PersonLimits(Limits(1, 2, 3, "period"), "week", np.array([0, 5]))),
        (request, buckets, PersonLimits(Limits(1, 2, 3, "period"), "week", np.array([0, 6]))),
        (request, buckets, PersonLimits(Limits(1, 2, 3, "period"), "day", np.array([0, 5]))),
        (request, replace(buckets, noise=UnsafeSeededNoise(2)), limits),
        (request, replace(buckets, mechanism=Mechanism.of(OTHER)), limits),
        *(
            (replace(request, **change), buckets, limits)
            for change in (
                {"buckets": 7},  # ranges of the same size, other buckets of persons
                {"columns": replace(columns, value=None)},
                {"columns": replace(columns, user="key")},
                {"calendar": replace(calendar, start=10**9)},
                {"calendar": replace(calendar, every=2 * 10**9)},
                {"calendar": replace(calendar, steps=13)},
            )
        ),
    ]
    frames = [
        Frame(COLUMNS.replace("double", "decimal(10,0)")),
        Frame(COLUMNS.replace("bigint", "string")),
        Frame(**{"spark.sql.session.timeZone": "Asia/Tokyo"}),
        Frame(**{"spark.sql.ansi.enabled": "false"}),
        Frame(**{"spark.sql.caseSensitive": "true"}),
        Frame(**{"spark.sql.timestampType": "TIMESTAMP_NTZ"}),
    ]
    bonds = {
        bound(Frame(), request, buckets, limits),
        *(bound(Frame(), *other) for other in others),
        *(bound(frame, request, buckets, limits) for frame in frames),
    }
    assert len(bonds) == 1 + len(others) + len(frames)
    lenient = replace(request, skip_empty=True)  # of what did not fail the same counts
    assert bound(Frame(), lenient, buckets, limits) == bound(Frame(), request, buckets, limits)


@pytest.mark.usefixtures("spark")
def test_a_key_file_may_move_and_the_bond_stays():
    request = Request(PLAN.grid, Columns(None, "at"), Calendar(0, 10**9, True), 4, False, "h")
    bonds = {
        bound(
            Frame(),
            request,
            Buckets(
                Mechanism.of(PLAN), KeyFile(path, stream="s", epoch=epoch, fingerprint="0" * 32), 2
            ),
            None,
        )
        for path, epoch in (("/a/key", 0), ("/b/key", 0), ("/a/key", 1))
    }
    assert len(bonds) == 2
