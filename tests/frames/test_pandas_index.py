"""A DatetimeIndex and a declared step length must agree, because each row is a step."""

import numpy as np
import pandas as pd
import pytest

import hushfade.frames  # noqa: F401
from hushfade.errors import InvalidValue
from hushfade.frames.pandas import check_index

SAID = {"half_life": "3h", "epsilon": 1, "delta": 1e-6, "low": 0, "high": 1}
HOURS = pd.date_range("2026-01-01", periods=6, freq="h")
REGULAR = {
    "hours": HOURS,
    "hours in UTC": HOURS.tz_localize("UTC"),
    "hours over the end of summer time": pd.date_range(
        "2026-10-25", periods=6, freq="h", tz="Europe/Vienna"
    ),
    "in seconds": HOURS.as_unit("s"),
    "periods": HOURS.to_period("h"),
    "numbers": pd.RangeIndex(6),
    "text": pd.Index(list("fedcba")),
}
IRREGULAR = {
    "unsorted": HOURS[[0, 2, 1, 3, 4, 5]],
    "falling": HOURS[::-1],
    "a gap": HOURS[[0, 1, 2, 3, 4]].append(pd.DatetimeIndex(["2026-01-01T06:00"])),
    "repeated": HOURS[[0, 1, 1, 2, 3, 4]],
    "another step": pd.date_range("2026-01-01", periods=6, freq="D"),
    "a nanosecond off": HOURS[:5].append(HOURS[5:] + pd.Timedelta(1, "ns")),
    "missing": HOURS[:5].append(pd.DatetimeIndex([pd.NaT])),
    "periods with a gap": HOURS[:5].append(HOURS[5:] + pd.Timedelta("1h")).to_period("h"),
    "centuries": pd.DatetimeIndex(np.array([0, 10**12, 2, 3, 4, 5], dtype="datetime64[s]")),
}


@pytest.mark.parametrize("index", REGULAR.values(), ids=REGULAR)
def test_an_index_that_rises_by_a_step_is_accepted(index):
    series = pd.Series(1.0, index=index)
    assert len(series.hushfade.release(**SAID, every="1h")) == 6
    assert len(series.hushfade.release_totals(**SAID, every="1h")) == 6
    assert len(series.to_frame("x").hushfade.release(value="x", **SAID, every="1h")) == 6


@pytest.mark.parametrize("index", IRREGULAR.values(), ids=IRREGULAR)
def test_any_other_index_is_refused_and_points_to_events(index):
    series = pd.Series(1.0, index=index)
    words = "the index must increase by every from row to row.* use release_events"
    for release in (series.hushfade.release, series.hushfade.release_totals):
        with pytest.raises(InvalidValue, match=words):
            release(**SAID, every="1h")
    with pytest.raises(InvalidValue, match=words):
        series.to_frame("x").hushfade.release(value="x", **SAID, every="1h")


def test_rows_without_a_stated_length_are_steps_whatever_the_index():
    series = pd.Series(1.0, index=IRREGULAR["unsorted"])
    assert len(series.hushfade.release(**SAID | {"half_life": 3})) == 6


def test_a_day_of_summer_times_change_is_a_day():
    index = pd.date_range("2026-03-28", periods=4, freq="D", tz="Europe/Vienna")
    check_index(index, 86_400 * 10**9)
    check_index(index[:0], 1)


def test_the_rows_of_each_key_must_be_the_steps():
    frame = pd.DataFrame({"k": [*"abab"], "x": 1.0}, index=HOURS[[0, 0, 1, 1]])
    said = {**SAID, "value": "x", "key": "k", "keys": ["a", "b"], "every": "1h"}
    assert len(frame.hushfade.release(**said)) == 4
    late = frame.set_axis(HOURS[[0, 1, 1, 2]])  # b begins an hour later
    with pytest.raises(InvalidValue, match="the index must increase by every"):
        late.hushfade.release(**said)
    assert len(late.hushfade.release(**said | {"every": None, "half_life": 3})) == 4
