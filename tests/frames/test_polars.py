from decimal import Decimal
from functools import partial

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal

import hushfade.frames
from hushfade import InvalidType, InvalidValue, KeyedNoise, Refused, UnsafeSeededNoise, plan
from hushfade.frames.request import Request
from tests.frames.cases import DESCRIBED, KEYS, PLAN, RECORDS, SEEDED, expected
from tests.loops import for_each

assert hushfade.frames  # importing it registers the namespaces

ENGINES = ["in-memory", "streaming"]
STRUCT = pl.Struct({"value": pl.Float64, "stddev": pl.Float64})
MANY = 150_000  # rows: more than the streaming engine takes at a time
KEYED = plan(PLAN.decay, PLAN.guarantee, low=-1, high=2, keys=KEYS)


def keyed_noise():
    return KeyedNoise(bytes(range(32)), stream="polars")


@pytest.fixture
def runs(monkeypatch):
    """The lengths of the columns on which the mechanism ran."""
    found = []
    run = Request.run

    def counted(self, column):
        found.append(len(column.values))
        return run(self, column)

    monkeypatch.setattr(Request, "run", counted)
    return found


def grouped(n=60, groups=3, fill=0.0):
    keys = [f"k{row % groups}" for row in range(n)]
    return pl.DataFrame({"k": keys, "x": np.full(n, fill), "row": np.arange(n)})


# One column ------------------------------------------------------------------------------------


def test_an_expression_gives_the_streams_own_bits():
    frame = pl.DataFrame({"x": RECORDS})
    found = frame.select(pl.col("x").hushfade.release(**DESCRIBED, noise=SEEDED))
    assert found.schema == {"x": STRUCT}
    assert_array_equal(found["x"].struct.field("value"), expected(RECORDS))
    assert_array_equal(found["x"].struct.field("stddev"), PLAN.stddevs(40))
    totals = pl.DataFrame({"x": [1, 2, 3]})
    found = totals.select(r=pl.col("x").hushfade.release_totals(plan=PLAN, noise=SEEDED))
    assert_array_equal(found["r"].struct.field("value"), PLAN.start(SEEDED).run([1, 2, 3]))


@pytest.mark.parametrize("engine", ENGINES)
def test_lazily_is_eagerly(engine):
    frame = pl.DataFrame({"x": np.resize(RECORDS, MANY)})

    def release():
        return pl.col("x").hushfade.release(plan=PLAN, noise=keyed_noise())

    eager = frame.with_columns(r=release())
    lazy = frame.lazy().with_columns(r=release()).collect(engine=engine)
    assert_frame_equal(eager, lazy, check_exact=True)
    assert_frame_equal(
        frame["x"].hushfade.release(plan=PLAN, noise=keyed_noise()),
        eager["r"].struct.unnest(),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_one_use_in_a_query_is_one_run_on_the_whole_column(runs, engine):
    lazy = pl.LazyFrame({"x": np.zeros(MANY), "y": np.arange(MANY)})
    with_release = lazy.with_columns(r=pl.col("x").hushfade.release(plan=PLAN))
    after = {
        "itself": with_release,
        "its fields": with_release.unnest("r").select("value", "stddev"),
        "a filter": with_release.filter(pl.col("y") > 5),
        "first rows": with_release.head(3),
        "itself twice": pl.concat([with_release, with_release]),
        "a join": with_release.join(with_release, on="y"),
        "sorted": with_release.sort("y", descending=True),
    }
    for name, query in after.items():
        runs.clear()
        query.collect_schema()
        query.explain()
        assert runs == [], name
        query.collect(engine=engine)
        assert runs == [MANY], name


def test_a_column_that_is_not_asked_for_is_not_released(runs):
    lazy = pl.LazyFrame({"x": [1.0]}).with_columns(r=pl.col("x").hushfade.release(plan=PLAN))
    assert lazy.select("x").collect().shape == (1, 1)
    assert runs == []


def test_each_run_of_a_query_is_a_release_of_its_own():
    lazy = pl.LazyFrame({"x": np.zeros(30)}).select(pl.col("x").hushfade.release(plan=PLAN))
    values = [lazy.collect()["x"].struct.field("value") for _ in range(2)]
    assert len(set(pl.concat(values).to_list())) == 60


def test_no_rows_are_no_steps():
    frame = pl.DataFrame({"k": [], "x": []}, schema={"k": pl.String, "x": pl.Float64})
    release = pl.col("x").hushfade.release(plan=PLAN, noise=SEEDED)
    assert frame.select(release).schema == {"x": STRUCT}
    assert frame.select(release.over("k")).schema == {"x": STRUCT}
    assert frame.group_by("k").agg(release).schema == {"k": pl.String, "x": pl.List(STRUCT)}
    empty = frame.hushfade.release(value="x", key="k", keys=["a"], **DESCRIBED)
    assert empty.shape == (0, 4)
    assert len(pl.DataFrame({"x": [1.0]}).select(release)) == 1  # nothing was used up


# Groups ----------------------------------------------------------------------------------------


def over(frame, expr, engine):
    return frame.lazy().with_columns(r=expr.over("k")).collect(engine=engine)


def aggregated(frame, expr, engine):
    listed = frame.lazy().group_by("k").agg("x", "row", r=expr).collect(engine=engine)
    return listed.explode("x", "row", "r").sort("row")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", [over, aggregated])
def test_each_group_is_a_stream_of_its_own(by, engine):
    frame = grouped()
    found = by(frame, pl.col("x").hushfade.release(plan=PLAN), engine)
    assert found["row"].to_list() == frame["row"].to_list()
    assert len(set(found["r"].struct.field("value").to_list())) == 60  # no draw serves twice
    for part in found.partition_by("k"):
        assert_array_equal(part["r"].struct.field("stddev"), PLAN.stddevs(20))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", [over, aggregated])
def test_a_group_sees_its_own_rows_in_their_order(by, engine):
    """By hand: a window of 2 sums a row and the one before it in its group, three rows up.

    Rows are 2^20 apart and the noise has a standard deviation below 20, so the nearest multiple
    of 2^20 tells the sum.
    """
    frame = grouped().with_columns(x=pl.col("row") * 2**20)
    said = {"window": 2, "epsilon": 1, "delta": 1e-6, "low": 0, "high": 1}
    found = by(frame, pl.col("x").hushfade.release_totals(**said), engine)
    assert found["r"].struct.field("stddev").max() < 20
    rows = (found["r"].struct.field("value") / 2**20).round().to_list()
    assert rows == [0, 1, 2] + [row + row - 3 for row in range(3, 60)]


@for_each("engine", ENGINES)
@for_each("by", [over, aggregated])
@for_each("fill", [0.0, 1.0])
@for_each("noise", [UnsafeSeededNoise(1), keyed_noise()])
def test_noise_that_can_be_drawn_again_is_refused_for_groups(by, engine, fill, noise):
    """Equal groups too: whether groups are equal must not be what is told."""
    release = pl.col("x").hushfade.release(plan=PLAN, noise=noise)
    with pytest.raises(Refused, match="runs only once"):
        by(grouped(fill=fill), release, engine)


def test_one_expression_with_such_noise_does_not_serve_two_columns():
    frame = pl.DataFrame({"x": [1.0], "y": [0.0]})
    with pytest.raises(Refused, match="runs only once"):
        frame.select(pl.col("x", "y").hushfade.release(plan=PLAN, noise=keyed_noise()))
    release = pl.col("x").hushfade.release(plan=PLAN, noise=keyed_noise())
    frame.select(release)
    with pytest.raises(Refused, match="runs only once"):
        frame.select(release)


# Frames ----------------------------------------------------------------------------------------


@for_each("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b"])])
@for_each("method", ["release", "release_totals"])
def test_declared_keys_are_all_released_whatever_occurs(dtype, method):
    frame = pl.DataFrame({"k": ["a", "b", "a"], "x": [1.0, 0.5, 2.0]}).cast({"k": dtype})
    release = partial(getattr(frame.hushfade, method), value="x", key="k", keys=KEYS, noise=SEEDED)
    found = release(**DESCRIBED)
    assert found.schema == {
        "step": pl.Int64, "k": pl.String, "value": pl.Float64, "stddev": pl.Float64,
    }  # fmt: skip
    assert found["k"].to_list() == KEYS * 2
    values = KEYED.start(SEEDED).run(np.array([[0.5, 1, 0], [0, 2, 0]]))
    assert_array_equal(found["value"], values.ravel())
    assert_frame_equal(found, release(plan=KEYED), check_exact=True)


@for_each("engine", ENGINES)
@for_each("method", ["release", "release_totals"])
@for_each("keys", [{}, {"key": "k", "keys": ["k0", "k1", "k2", "k3"]}])
def test_a_lazy_frame_is_the_frame_at_every_run(engine, method, keys):
    frame = grouped(fill=1.0)
    said = {"value": "x", **keys, **DESCRIBED, "noise": keyed_noise()}
    eager = getattr(frame.hushfade, method)(**said)
    lazy = getattr(frame.lazy().hushfade, method)(**said)
    assert lazy.collect_schema() == eager.schema
    for _ in range(2):
        assert_frame_equal(lazy.collect(engine=engine), eager, check_exact=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_follows_a_lazy_frames_release_does_not_choose_its_rows(runs, engine):
    lazy = pl.LazyFrame({"value": np.arange(50.0), "x": np.ones(50)})
    released = lazy.hushfade.release(value="x", plan=PLAN)
    released.collect_schema()
    assert runs == []
    released.filter(pl.col("value") > 2).head(1).select("stddev").collect(engine=engine)
    assert runs == [50]


def test_a_frame_without_key_is_its_column():
    found = pl.DataFrame({"x": RECORDS}).hushfade.release(value="x", plan=PLAN, noise=SEEDED)
    assert_array_equal(found["value"], expected(RECORDS))


# Types -----------------------------------------------------------------------------------------


@for_each("dtype", [
        pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64,
        pl.Float16, pl.Float32, pl.Float64,
    ])  # fmt: skip
def test_every_integer_and_float_is_a_number_and_its_null_is_not(dtype):
    whole = pl.Series([1, 0, 2, 7], dtype=dtype)
    assert_array_equal(
        whole.hushfade.release(plan=PLAN, noise=SEEDED)["value"], expected([1, 0, 2, 7])
    )
    holed = pl.Series("x", [1, None, 2], dtype=dtype)
    with pytest.raises(InvalidValue, match="got 1 invalid, the first in row 1"):
        holed.hushfade.release(plan=PLAN)
    with pytest.raises(InvalidValue, match="totals must not be null"):
        holed.hushfade.release_totals(plan=PLAN)
    found = holed.hushfade.release(plan=PLAN, noise=SEEDED, empty_steps=True)
    assert_array_equal(found["value"], expected([1, 0, 2]))
    with pytest.raises(InvalidValue, match="got 1 invalid, the first in row 1"):
        holed.to_frame().select(pl.col("x").hushfade.release(plan=PLAN))
    by_expression = holed.to_frame().select(
        pl.col("x").hushfade.release(plan=PLAN, noise=SEEDED, empty_steps=True)
    )
    assert_array_equal(by_expression["x"].struct.field("value"), expected([1, 0, 2]))


def test_nan_is_no_null():
    with pytest.raises(InvalidValue, match="records must be finite"):
        pl.Series([1.0, float("nan")]).hushfade.release(plan=PLAN, empty_steps=True)


@for_each(
    "series",
    [
        pl.Series([True]),
        pl.Series(["1"]),
        pl.Series([Decimal(1)]),
        pl.Series([1], dtype=pl.Int128),
        pl.Series([1], dtype=pl.UInt128),
        pl.Series([None]),
        pl.Series(["secret"], dtype=pl.Categorical),
        pl.Series(["secret"], dtype=pl.Enum(["secret"])),
        pl.Series([1], dtype=pl.Date),
        pl.Series([1], dtype=pl.Duration),
        pl.Series([[1.0]]),
        pl.Series([{"a": 1.0}]),
        pl.Series([b"1"]),
    ],
)
def test_other_types_must_be_cast_by_the_caller(series):
    for method in ("release", "release_totals"):
        with pytest.raises(InvalidType, match="cast it") as caught:
            getattr(series.hushfade, method)(plan=PLAN)
        assert "secret" not in str(caught.value)
        with pytest.raises(InvalidType, match="cast it"):
            series.to_frame("x").select(getattr(pl.col("x").hushfade, method)(plan=PLAN))


def test_a_wrong_argument_is_refused_before_any_data():
    with pytest.raises(InvalidType, match="low and high must be given"):
        pl.col("x").hushfade.release(half_life=2, epsilon=1, delta=1e-6)
    with pytest.raises(InvalidType, match="no argument named 'span'"):
        pl.LazyFrame({"x": [1]}).hushfade.release(value="x", span=2)
