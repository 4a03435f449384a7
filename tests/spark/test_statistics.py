"""Statistics on a real Spark: the integers and the releases of one machine."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Observation

import hushfade as hf
from hushfade.errors import HushfadeError
from hushfade.records.batch import Columns
from hushfade.spark import KeyFile, private_decaying_sums
from hushfade.spark.close_steps import Buckets
from hushfade.spark.record_codes import code_of
from hushfade.spark.tables import pieces
from hushfade.stream.partition import Mechanism
from tests.public.statistics.all_statistics import STATISTICS
from tests.spark.cases import START, STEPS, events, key_file, keyed
from tests.spark.conftest import Files, written

SEEDED = hf.UnsafeSeededNoise(3)
KEYS = ["a/x", "a/y", "b/x", "b/y"]  # b/y has no records
HOW = {"time": "at", "every": "1h", "start": "2026-01-01Z", "steps": STEPS}
COLUMNS = (
    "at timestamp, person bigint, amount double, below double, word string, truth boolean, "
    "first string, second string"
)


def planned(statistic, keys=KEYS, **unit):
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6, **unit)
    return hf.plan(hf.Exponential(half_life=5), guarantee, statistic=statistic, keys=keys)


def records(count=400):
    """Records at and between edges, at and beyond bounds, of declared and of other keys."""
    rng, found = np.random.default_rng(8), events(count=count)
    edges = rng.choice([-9.0, -2.0, 0.0, -0.0, 0.3, 4.0, 6.0, 60.0], count)
    amount = np.where(rng.random(count) < 0.5, edges, rng.uniform(-3, 7, count))
    return found[["at", "person"]].assign(
        amount=amount,
        below=rng.uniform(-1, 4, count),
        word=rng.choice(["yes", "no", "Yes", "yes ", ""], count),
        truth=rng.random(count) < 0.3,
        first=rng.choice(["a", "b", "c"], count, p=[0.6, 0.3, 0.1]),
        second=np.where(rng.random(count) < 0.5, "x", "y"),
    ).assign(second=lambda f: np.where(f["first"] == "b", "x", f["second"]))  # fmt: skip


def named(statistic):
    """The columns of a statistic's records."""
    if statistic.kind == "pairs":
        return {"value": "amount", "denominator": "below"}
    return {"value": {"truths": "truth", "texts": "word"}.get(statistic.kind, "amount")}


def values(statistic, frame):
    found = frame[list(named(statistic).values())].to_numpy()
    return found if statistic.kind == "pairs" else found[:, 0].tolist()


def totals(plan, frame):
    """By the grid of one machine, record by record."""
    x = np.zeros((STEPS, plan.grid.lanes), dtype=np.int64)
    steps = (frame["at"] - START) // pd.Timedelta("1h")
    key = frame["first"] + "/" + frame["second"]
    for step in range(STEPS):
        of_step = frame[steps == step]
        if plan.keys is None:
            x[step] = plan.grid.record_sums(values(plan.grid.statistic, of_step))
        else:
            of = {one: of_step[key[steps == step] == one] for one in plan.keys}
            x[step] = plan.grid.record_sums(
                {one: values(plan.grid.statistic, rows) for one, rows in of.items() if len(rows)}
            )
    return x


def check(released, plan, frame, noise):
    """The rows are the readings of the lanes that one machine releases."""
    readings = plan.readings(plan.start(noise).run_units(totals(plan, frame)))
    output = [] if plan.statistic.outputs is None else [plan.statistic.output_name]
    order = ["step", *(["key"] if plan.keys else []), *output]
    for name, labels in (("key", plan.keys), *((one, plan.statistic.outputs) for one in output)):
        if labels:
            released[name] = pd.Categorical(released[name], labels)
    found = released.sort_values(order)
    assert len(found) == readings.value.size
    assert not found.duplicated(order).any()
    outputs = len(plan.statistic.outputs or ("",))
    lower, upper = (end.ravel() for end in readings.interval(0.95))
    count = np.repeat(readings.count.ravel(), outputs)
    wanted = {"value": readings.value.ravel(), "count": count, "lower": lower, "upper": upper}
    for name in readings.derived:
        ends = readings.derived_interval(name, 0.95)
        wanted |= {f"{name}_lower": ends[0].ravel(), f"{name}_upper": ends[1].ravel()}
    for name, column in wanted.items():
        # the lanes have the same bits; numpy adds up pieces of a series in another order
        np.testing.assert_allclose(found[name], column, rtol=1e-9, atol=1e-9, err_msg=name)


# Integers ------------------------------------------------------------------------------------


def test_expressions_give_the_codes_of_the_grid(spark):
    """Every statistic, in one job; also numbers next to edges, and quantiles with many bins."""
    frame, grids = records(), {name: planned(one).grid for name, one in STATISTICS.items()}
    wide = hf.Quantiles([0.5], -3, 7, bins=5000)
    grids["many bins"] = planned(wide).grid
    near = np.array(wide.edges)[::13]
    near = np.concatenate([near, np.nextafter(near, -9), np.nextafter(near, 9)])[: len(frame)]
    frame["amount"] = np.where(np.arange(len(frame)) % 2, frame["amount"], near[: len(frame)])
    asked = [
        code_of(grid, Columns(**named(grid.statistic)), skip_empty=False) for grid in grids.values()
    ]
    found = spark.createDataFrame(frame).select(*asked).collect()
    for (name, grid), column in zip(grids.items(), zip(*found, strict=True), strict=True):
        wanted = grid.units(values(grid.statistic, frame))
        assert list(column) == wanted.tolist(), name


def test_whole_numbers_are_truths_and_texts(spark):
    frame = spark.createDataFrame([(0, 7), (1, 8)], "truth int, word bigint")
    share, of = planned(hf.Share()).grid, planned(hf.Share(of="7")).grid
    found = frame.select(
        code_of(share, Columns(value="truth"), skip_empty=False),
        code_of(of, Columns(value="word"), skip_empty=False),
    ).collect()
    assert [tuple(row) for row in found] == [(0, 1), (1, 0)]


# Releases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["variance", "share of a text", "ratio", "quantiles"])
def test_a_table_releases_what_one_machine_releases(spark, name):
    statistic, frame = STATISTICS[name], records()
    keys = None if name == "quantiles" else KEYS
    plan = planned(statistic, keys)
    asked = HOW | named(statistic) | ({} if keys is None else {"key": ["first", "second"]})
    released = private_decaying_sums(
        spark.createDataFrame(frame), plan, noise=SEEDED, buckets=3, **asked
    )
    check(released.toPandas(), plan, frame, SEEDED)


def test_a_table_with_a_key_is_sealed_and_refuses_other_totals(spark, tmp_path):
    noise, frame = KeyFile(key_file(tmp_path), stream="delays"), records(60)
    plan = planned(hf.Mean(low=-2, high=6))
    asked = HOW | {"value": "amount", "key": ["first", "second"], "noise": noise}
    released = private_decaying_sums(spark.createDataFrame(frame), plan, **asked)
    check(released.toPandas(), plan, frame, keyed("delays"))
    other = frame.assign(amount=frame["amount"] + np.eye(1, len(frame))[0])  # one record
    with pytest.raises(HushfadeError, match="other records"):
        private_decaying_sums(spark.createDataFrame(other), plan, **asked)


def test_a_stream_with_limits_releases_what_a_table_releases(spark, tmp_path):
    """Quantiles on two levels: several totals per record, after the limits of each person."""
    statistic, frame = STATISTICS["quantiles on two levels"], records()
    plan = planned(statistic, protects=hf.Person(steps=3, records_per_step=2))
    asked = HOW | {"value": "amount", "key": ["first", "second"], "noise": SEEDED, "user": "person"}
    table = private_decaying_sums(spark.createDataFrame(frame), plan, buckets=3, **asked)
    files = Files(tmp_path)
    half = frame["at"] < START + pd.Timedelta("6h")
    files.add(frame[half].sample(frac=1, random_state=2), START + pd.Timedelta("6h"))
    files.add(frame[~half].sample(frac=1, random_state=3), START + pd.Timedelta("19h"))
    stream = private_decaying_sums(
        files.stream(spark, COLUMNS), plan, buckets=2, lateness="6h", clock=files.clock(spark),
        **asked,
    )  # fmt: skip
    written(stream, tmp_path)
    rows = ["step", "key", "quantile"]
    live = spark.read.parquet(str(tmp_path / "released")).toPandas().sort_values(rows)
    whole = table.toPandas().sort_values(rows)
    assert len(live) == STEPS * len(KEYS) * 3
    for column in ("value", "count"):
        np.testing.assert_allclose(live[column], whole[column], rtol=1e-9, atol=1e-9)
    unlimited = plan.readings(plan.start(SEEDED).run_units(totals(plan, frame)))
    count = whole[whole["quantile"] == "0.5"].pivot(index="step", columns="key", values="count")
    assert (count.to_numpy() != unlimited.count).any()  # the limits bite


def test_few_records_are_suppressed_and_the_confidence_is_the_callers(spark):
    frame, plan = records(), planned(hf.Mean(low=-2, high=6))
    asked = HOW | {"value": "amount", "key": ["first", "second"], "noise": SEEDED}
    table = spark.createDataFrame(frame)
    wide = private_decaying_sums(table, plan, confidence=0.999, **asked).toPandas()
    some = private_decaying_sums(table, plan, suppress_below=20, **asked).toPandas()
    few = some["count"] < 20
    assert few.any()
    assert not few.all()
    assert (some[["value", "lower", "upper"]].isna().all(axis=1) == few).all()
    both = wide.merge(some, on=["step", "key"])
    both = both[both["value_y"].notna()]
    assert (both["lower_x"] <= both["lower_y"]).all()
    assert (both["upper_x"] >= both["upper_y"]).all()


def test_pieces_of_a_table_add_up_every_code_of_every_key(monkeypatch):
    """Without Spark: sorted cells in small batches, with a few steps per piece."""
    monkeypatch.setattr("hushfade.spark.close_steps._PIECE", 60)
    for name, statistic in STATISTICS.items():
        frame, plan = records(), planned(statistic)
        grid = plan.grid
        keys = frame["first"] + "/" + frame["second"]
        cells = pd.DataFrame(
            {
                "step": (frame["at"] - START) // pd.Timedelta("1h"),
                "lane": keys.map({key: lane for lane, key in enumerate(KEYS)}),
                "units": grid.units(values(statistic, frame)),
            }
        ).dropna().astype(np.int64)  # fmt: skip
        counted = cells.groupby(["step", "lane", "units"]).size().reset_index(name="times")
        size = 2 * grid.parts
        buckets = Buckets(Mechanism.of(plan), SEEDED, size)
        counted.insert(0, "bucket", counted["lane"] // 2)
        marks = pd.DataFrame({"bucket": [0, 1], "step": -1, "lane": [0, 2], "units": 0, "times": 1})
        rows = pd.concat([marks, counted]).sort_values(["bucket", "step"])
        batches = pa.RecordBatch.from_pandas(rows, preserve_index=False)
        small = [batches.slice(at, 7) for at in range(0, len(rows), 7)]
        found = np.zeros((STEPS, grid.lanes), dtype=np.int64)
        for piece in pieces(small, buckets, STEPS):
            lanes = slice(piece.part.first, piece.part.first + piece.part.lanes)
            found[piece.step : piece.step + len(piece.totals), lanes] = piece.totals
        np.testing.assert_array_equal(found, totals(plan, frame), err_msg=name)


# Errors --------------------------------------------------------------------------------------


def test_wrong_columns_are_refused_with_a_remedy(spark):
    frame = spark.createDataFrame(records(3))
    mean, share, text = (
        planned(one, None) for one in (hf.Mean(0, 1), hf.Share(), hf.Share(of="a"))
    )
    ratio = planned(STATISTICS["ratio"], None)
    for plan, asked, words in (
        (mean, {"value": "word"}, "column 'word' must be numbers, got STRING.*cast it"),
        (mean, {}, "a statistic needs a column of values"),
        (mean, {"value": "amount", "denominator": "below"}, "a ratio, and only for a ratio"),
        (share, {"value": "word"}, "column 'word' must be BOOLEAN, or numbers that are 0 or 1"),
        (text, {"value": "amount"}, "column 'amount' must be text or whole numbers"),
        (ratio, {"value": "amount"}, "a ratio, and only for a ratio"),
        (ratio, {"value": "amount", "denominator": "word"}, "column 'word' must be numbers"),
        (planned(hf.Mean(0, 1)), {"value": "amount", "key": "first"}, None),
        (mean, {"value": "amount", "confidence": 1.5}, "confidence must be in"),
        (mean, {"value": "amount", "key": list("abcd")}, "key must be one to three columns"),
    ):
        if words is None:  # keys with a slash may be the text of one column
            private_decaying_sums(frame, plan, noise=SEEDED, **HOW, **asked)
            continue
        with pytest.raises(HushfadeError, match=words):
            private_decaying_sums(frame, plan, noise=SEEDED, **HOW, **asked)
    plain = hf.plan(hf.Exponential(half_life=5), hf.Guarantee(1, 1e-6))
    with pytest.raises(HushfadeError, match="suppress_below must not be given for a sum"):
        private_decaying_sums(frame, plain, noise=SEEDED, suppress_below=3, **HOW)


def test_a_record_that_is_no_truth_stops_a_table_or_is_left_out(spark):
    frame = records(20).assign(truth=[2, *[1, 0] * 9, 1])
    plan, counts = planned(hf.Share(), None), Observation()
    asked = HOW | {"value": "truth", "noise": SEEDED}
    with pytest.raises(PySparkException, match="true or false, or 1 or 0"):
        private_decaying_sums(spark.createDataFrame(frame), plan, **asked).collect()
    released = private_decaying_sums(
        spark.createDataFrame(frame), plan, skip_empty=True, counts=counts, **asked
    )
    check(released.toPandas(), plan, frame[frame["truth"] < 2], SEEDED)
    assert counts.get["empty"] == 1
