from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_index_equal

import hushfade.frames
from hushfade import (
    Count,
    InvalidType,
    InvalidValue,
    KeyedNoise,
    KeyFile,
    Refused,
    UnsafeSeededNoise,
    plan,
)
from tests.frames.cases import KEYS, PLAN, RECORDS, SEEDED, expected
from tests.loops import for_each
from tests.spark.cases import key_file

assert hushfade.frames  # importing it registers the accessors


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(40),
        pd.Index(np.arange(40)[::-1]),
        pd.Index(["same"] * 40),
        pd.date_range("2026-01-01", periods=40, freq="h"),
        pd.MultiIndex.from_product([["a", "b"], range(20)], names=["k", "t"]),
    ],
    ids=["range", "falling", "equal", "times", "levels"],
)
def test_the_index_is_kept_and_the_order_is_the_rows(index):
    found = pd.Series(RECORDS, index=index, name="x").hushfade.release(plan=PLAN, noise=SEEDED)
    assert_index_equal(found.index, index)
    assert_array_equal(found["value"], expected(RECORDS))


@for_each("dtype", [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64", "Int8", "Int64", "UInt8", "UInt64", "Float32", "Float64",
        "int8[pyarrow]", "int64[pyarrow]", "uint64[pyarrow]", "halffloat[pyarrow]",
        "float[pyarrow]", "double[pyarrow]",
    ])  # fmt: skip
def test_every_integer_and_float_is_a_number(dtype):
    series = pd.Series([1, 0, 2, 7], dtype=dtype)
    assert_array_equal(
        series.hushfade.release(plan=PLAN, noise=SEEDED)["value"], expected([1, 0, 2, 7])
    )


@for_each(
    "dtype",
    ["float32", "float64", "Int8", "UInt64", "Float64", "int64[pyarrow]", "double[pyarrow]"],
)
def test_a_null_is_refused_and_with_empty_steps_it_is_no_record(dtype):
    series = pd.Series([1, None, 2], dtype=dtype)
    with pytest.raises(InvalidValue, match="got 1 invalid, the first in row 1"):
        series.hushfade.release(plan=PLAN)
    with pytest.raises(InvalidValue, match="totals must not be null"):
        series.hushfade.release_totals(plan=PLAN)
    found = series.hushfade.release(plan=PLAN, noise=SEEDED, empty_steps=True)
    assert_array_equal(found["value"], expected([1, 0, 2]))


def test_a_frame_without_key_is_its_column():
    frame = pd.DataFrame({"x": RECORDS}, index=np.arange(40) + 7)
    found = frame.hushfade.release(value="x", plan=PLAN, noise=SEEDED)
    assert_array_equal(found["value"], expected(RECORDS))
    assert_index_equal(found.index, frame.index)
    totals = pd.DataFrame({"x": [1, 2]}).hushfade.release_totals(value="x", plan=PLAN, noise=SEEDED)
    assert_array_equal(totals["value"], PLAN.start(SEEDED).run([1, 2]))


@pytest.mark.parametrize("dtype", ["object", "str", "category", "string[pyarrow]"])
def test_declared_keys_are_all_released_whatever_occurs(dtype):
    frame = pd.DataFrame({"k": ["a", "b", "a"], "x": [1.0, 0.5, 2.0]}, index=[5, 5, 5])
    frame["k"] = frame["k"].astype(dtype)
    described = {"half_life": 5, "epsilon": 1, "delta": 1e-6, "low": -1, "high": 2}
    keyed = plan(PLAN.decay, PLAN.guarantee, low=-1, high=2, keys=KEYS)
    values = keyed.start(SEEDED).run(np.array([[0.5, 1, 0], [0, 2, 0]]))
    for method in ("release", "release_totals"):
        releasing = getattr(frame.hushfade, method)
        found = releasing(value="x", key="k", keys=KEYS, noise=SEEDED, **described)
        assert list(found.columns) == ["step", "k", "value", "stddev"]
        assert found["k"].tolist() == KEYS * 2
        assert found["step"].tolist() == [1, 1, 1, 2, 2, 2]
        assert_array_equal(found["value"], values.ravel())
        assert found["stddev"].tolist() == np.repeat(keyed.stddevs(2), 3).tolist()


def test_under_replace_declared_keys_have_the_noise_of_a_keyed_plan():
    """By hand: √2 of the largest, where another value within its key would need 1."""
    frame = pd.DataFrame({"k": ["a", "b"], "x": [1.0, 1.0]})
    said = {"half_life": 5, "epsilon": 1, "delta": 1e-6, "low": 0, "high": 1}
    said |= {"neighbours": "replace", "value": "x", "method": "square_root"}
    keyed = frame.hushfade.release(key="k", keys=["a", "b"], **said)
    alone = frame.hushfade.release(**said)
    # the noise is on a grid: rounding adds 1/12 of a unit², far below 1e-6 of it
    assert keyed["stddev"][0] == pytest.approx(np.sqrt(2) * alone["stddev"][0], rel=1e-6)


def test_a_group_applied_is_a_stream_of_its_own():
    frame = pd.DataFrame({"k": ["a", "b"] * 20, "x": np.zeros(40)})
    found = frame.groupby("k")["x"].apply(lambda x: x.hushfade.release(plan=PLAN))
    assert len(set(found["value"].tolist())) == 40
    for k in ("a", "b"):
        assert found.loc[k].index.tolist() == frame.index[frame["k"] == k].tolist()
        assert_array_equal(found.loc[k]["stddev"], PLAN.stddevs(20))


def test_keyed_noise_gives_the_same_release_again():
    noise = KeyedNoise(bytes(range(32)), stream="pandas")
    series = pd.Series(RECORDS)
    first, second = (series.hushfade.release(plan=PLAN, noise=noise) for _ in range(2))
    assert_array_equal(first["value"], second["value"])


def test_a_key_file_gives_the_same_release_again_and_refuses_other_data(tmp_path):
    """A second group, or data with one record more, would get the same noise."""
    noise = KeyFile(key_file(tmp_path), stream="pandas")
    series = pd.Series(RECORDS)
    first, second = (series.hushfade.release(plan=PLAN, noise=noise) for _ in range(2))
    assert_array_equal(first["value"], second["value"])
    for other in (series[:-1], series + 0.25, series[::-1]):
        with pytest.raises(Refused, match="was used for other records or options"):
            other.hushfade.release(plan=PLAN, noise=noise)
    frame = pd.DataFrame({"k": ["a", "b"] * 20, "x": np.arange(40) % 3.0})
    groups = KeyFile(tmp_path / "key", stream="groups")
    with pytest.raises(Refused, match="was used for other records or options"):
        frame.groupby("k")["x"].apply(lambda x: x.hushfade.release(plan=PLAN, noise=groups))
    events = pd.DataFrame({"at": pd.to_datetime(["2026-01-01T00:10", "2026-01-01T01:10"])})
    asked = {
        "plan": PLAN, "every": "1h", "start": "2026-01-01", "steps": 3,
        "noise": KeyFile(tmp_path / "key", stream="events"),
    }  # fmt: skip
    first, second = (events.hushfade.release_events(time="at", **asked) for _ in range(2))
    assert_array_equal(first["value"], second["value"])
    with pytest.raises(Refused, match="was used for other records or options"):
        events[:1].hushfade.release_events(time="at", **asked)


@for_each(
    "series",
    [
        pd.Series([True]),
        pd.Series([True], dtype="boolean"),
        pd.Series([True], dtype="bool[pyarrow]"),
        pd.Series(["1"]),
        pd.Series(["1"], dtype="object"),
        pd.Series([1], dtype="object"),
        pd.Series([1], dtype="category"),
        pd.Series([Decimal(1)]),
        pd.Series([Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(4, 2))),
        pd.Series([1j]),
        pd.to_datetime(pd.Series(["2026-01-01"])),
        pd.Series(pd.arrays.SparseArray([1.0])),
        pd.Series([[1.0]]),
        pd.Series([], dtype="object"),
    ],
)
def test_other_types_must_be_cast_by_the_caller(series):
    for method in ("release", "release_totals"):
        with pytest.raises(InvalidType, match="cast it"):
            getattr(series.hushfade, method)(plan=PLAN)


def test_flags_are_counted_once_they_are_numbers():
    flags = pd.Series([True, False, True])
    count = {"window": 7, "epsilon": 1, "delta": 0, "statistic": Count()}
    with pytest.raises(InvalidType, match="cast it"):
        flags.hushfade.release(**count)
    found = flags.astype(int).hushfade.release(noise=UnsafeSeededNoise(1), **count)
    by_hand = flags.astype(int).hushfade.release(
        noise=UnsafeSeededNoise(1), window=7, epsilon=1, delta=0, low=0, high=1, resolution=1
    )
    pd.testing.assert_frame_equal(found, by_hand)
    with pytest.raises(InvalidValue, match="must not have bounds"):
        flags.astype(int).hushfade.release(high=3, **count)


def test_a_name_of_two_columns_is_refused():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(InvalidType, match="must be a Series"):
        frame.hushfade.release(value="x", plan=PLAN)


def test_keys_must_be_declared():
    frame = pd.DataFrame({"k": ["a", "b"], "x": [1.0, 1.0]})
    said = {"value": "x", "key": "k", "decay": PLAN.decay, "epsilon": 1, "delta": 1e-6}
    said |= {"low": 0, "high": 1}
    with pytest.raises(InvalidType, match="keys must be declared"):
        frame.hushfade.release(**said)
    with pytest.raises(InvalidValue, match="rows must belong to the declared keys, got 1"):
        frame.hushfade.release(keys=["a"], **said)
    with pytest.raises(InvalidValue, match="the given keys"):
        frame.hushfade.release(value="x", key="k", keys=["a", "b"], plan=PLAN)
