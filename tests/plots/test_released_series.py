from datetime import date, datetime, timedelta
from statistics import NormalDist
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hushfade as hf
from hushfade import InvalidType, InvalidValue
from hushfade.plots import series
from hushfade.releases import files
from tests.loops import for_each
from tests.plots.drawn import DAILY, ONE, band, line, shown, words

START = datetime(2024, 3, 1)


def hours(n):
    return [START + timedelta(hours=place) for place in range(n)]


def noisy(n, keys=None):
    generator = np.random.default_rng(3)
    return generator.normal(scale=20, size=n if keys is None else (n, keys))


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_band_is_the_value_and_so_many_deviations_either_side(confidence):
    values, s = noisy(50), DAILY.stddevs(50)
    (axes,) = shown(series(np.arange(1, 51), values, s, confidence=confidence))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    x, low, high = band(axes)
    assert_array_equal(x, np.arange(1, 51))
    # the quantile of two libraries agrees to some 1e-15
    assert_allclose(low, values - z * s, rtol=1e-12, atol=1e-12)
    assert_allclose(high, values + z * s, rtol=1e-12, atol=1e-12)
    assert_array_equal(line(axes, "released")[1], values)


def test_the_band_is_the_interval_of_the_plan_for_every_law():
    """From normal errors the band of Laplace noise would be 8 % too narrow at the first step."""
    for law in ("laplace", "gaussian"):
        plan = hf.plan(hf.SlidingWindow(7), ONE, law=law)
        values, margins = plan.start(hf.UnsafeSeededNoise(1)).run(np.ones(9)), plan.margins(9)
        figure = series(np.arange(1, 10), values, lower=values - margins, upper=values + margins)
        _, low, high = band(shown(figure)[0])
        ends = np.array([plan.interval(step) for step in range(1, 10)])
        # the margin of one step and the margins of many agree to 0.1 %
        assert_allclose(low - values, ends[:, 0], rtol=1e-3)
        assert_allclose(high - values, ends[:, 1], rtol=1e-3)
        assert "assumed" not in words(figure)


def test_a_band_from_standard_deviations_says_what_it_assumes():
    figure = series(np.arange(1, 51), noisy(50), DAILY.stddevs(50))
    assert "Normal errors assumed" in words(figure)


@pytest.mark.parametrize("keys", [None, ("a", "b")])
@pytest.mark.parametrize("library", [pd, pl])
def test_a_file_of_releases_is_drawn_as_it_is(tmp_path, library, keys):
    plan = hf.plan(hf.SlidingWindow(7), ONE, law="laplace", keys=keys)
    totals = np.ones((9, len(keys)) if keys else 9)
    values = plan.start(hf.UnsafeSeededNoise(1)).run(totals).reshape(9, -1)
    hour, steps = 3600 * 10**9, np.arange(1, 10)
    for zoned in (None, False, True):
        meaning = files.Meaning(keys, zoned)
        ends = None if zoned is None else steps * hour
        rows = files.Rows(steps, ends, values, plan.stddevs(9), plan.errors)
        told = files.document(plan, meaning, steps={}, noise="fresh")
        with files.whole_file(tmp_path / "x.csv", meaning, "csv", told) as writer:
            writer.write(rows)
        panels = shown(series(library.read_csv(tmp_path / "x.csv")))
        assert [axes.get_title(loc="left") for axes in panels] == list(keys or [""])
        for place, axes in enumerate(panels):
            x, low, high = band(axes)
            assert_allclose(x, steps if zoned is None else steps / 24)
            assert_array_equal(line(axes, "released")[1], values[:, place])
            margins = plan.margins(9)
            assert_allclose(low, values[:, place] - margins, rtol=1e-12, atol=1e-9)
            assert_allclose(high, values[:, place] + margins, rtol=1e-12, atol=1e-9)


FRAME = pd.DataFrame({"step": [1, 1, 2, 2], "key": ["a", "b"] * 2, "value": 0.0, "lower": -1.0,
                      "upper": 1.0})  # fmt: skip


@for_each(
    ("frame", "more", "error", "match"),
    [
        (FRAME.drop(columns="lower"), {}, InvalidValue, "must have the columns"),
        (FRAME.drop(columns="step"), {}, InvalidValue, "must have the columns"),
        (FRAME.assign(quantile="0.5"), {}, InvalidValue, "use hf.plots.statistic_series"),
        (FRAME.iloc[:3], {}, InvalidValue, "every key at every step"),
        (FRAME.assign(step=[1, 2, 3, 4]), {}, InvalidValue, "the same time for all keys"),
        (FRAME.assign(time="noon"), {}, InvalidValue, "times in ISO 8601"),
        (FRAME.assign(value=np.nan), {}, InvalidValue, "values must be finite"),
        (FRAME, {"keys": ["a", "b"]}, InvalidType, "has the values, their ends and the keys"),
        ([1, 2, 3], {}, InvalidType, "or a frame of releases"),
    ],
)
def test_wrong_frames_are_refused(frame, more, error, match):
    with pytest.raises(error, match=match):
        series(frame, **more)


@for_each(
    ("more", "error", "match"),
    [
        ({}, InvalidType, "series needs lower and upper"),
        ({"lower": [0.0, 0.0]}, InvalidType, "series needs lower and upper"),
        ({"lower": [0.0], "upper": [1.0, 1.0]}, InvalidValue, "lower must have the shape"),
        ({"lower": [0.0, 2.0], "upper": [1.0, 1.0]}, InvalidValue, "lower must be at most upper"),
        ({"lower": [0.0, 0.0], "upper": [1.0, np.inf]}, InvalidValue, "upper must be finite"),
        (
            {"lower": [0.0, 0.0], "upper": [1.0, 1.0], "stddevs": [1.0, 1.0]},
            InvalidType,
            "stddevs cannot be combined",
        ),
    ],
)
def test_wrong_ends_are_refused(more, error, match):
    with pytest.raises(error, match=match):
        series([1, 2], [0.5, 0.5], **more)


def test_the_band_of_a_long_series_holds_every_interval():
    n = 50_000
    values, s = noisy(n), DAILY.stddevs(n)
    steps = np.arange(1.0, n + 1)
    (axes,) = shown(series(steps, values, s, confidence=0.9))
    z = NormalDist().inv_cdf(0.95)
    x, low, high = band(axes)
    assert len(x) <= 1200
    assert np.all(np.interp(steps, x, low) <= values - z * s + 1e-9)
    assert np.all(np.interp(steps, x, high) >= values + z * s - 1e-9)
    drawn = line(axes, "released")[1]
    assert len(drawn) <= 2400
    assert drawn.max() == values.max()
    assert drawn.min() == values.min()


def test_truth_is_drawn_only_when_given_and_says_that_it_is_public():
    values, s = noisy(30), DAILY.stddevs(30)
    without = series(hours(30), values, s)
    assert "truth" not in words(without)
    assert len(shown(without)[0].get_lines()) == 1
    given = series(hours(30), values, s, truth=values + 1)
    assert "truth (public data)" in words(given)
    assert_array_equal(line(shown(given)[0], "truth")[1], values + 1)


@for_each("keys", [1, 2, 3, 4, 5, 8, 9, 12])
def test_each_key_has_a_panel_with_its_own_values(keys):
    values, names = noisy(20, keys), [f"key {place}" for place in range(keys)]
    figure = series(np.arange(20), values, DAILY.stddevs(20), keys=names)
    panels = shown(figure)
    assert [axes.get_title(loc="left") for axes in panels] == names
    for place, axes in enumerate(panels):
        assert_array_equal(line(axes, "released")[1], values[:, place])
    below = [axes for axes in panels if axes.get_xlabel() == "step"]
    assert len(below) == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 8: 2, 9: 3, 12: 3}[keys]
    assert figure.get_supylabel() == "decayed sum"
    assert "keys." not in words(figure)


def test_beyond_twelve_keys_the_figure_says_what_is_left_out():
    figure = series(np.arange(5), noisy(5, 40), DAILY.stddevs(5))
    assert len(shown(figure)) == 12
    assert "The first 12 of 40 keys." in words(figure)


def test_panels_share_a_scale_unless_one_would_be_flat():
    values, s = noisy(30, 2), np.ones(30)
    alike = series(np.arange(30), values, s)
    first, second = shown(alike)
    assert first.get_ylim() == second.get_ylim()
    assert "own vertical scale" not in words(alike)
    apart = series(np.arange(30), values * [1, 1000], s)
    first, second = shown(apart)
    assert first.get_ylim() != second.get_ylim()
    assert "own vertical scale" in words(apart)


@pytest.mark.parametrize(
    "times",
    [
        hours(6),
        [date(2024, 3, 1) + timedelta(days=place) for place in range(6)],
        np.arange("2024-03-01", "2024-03-07", dtype="datetime64[D]"),
        pd.date_range("2024-03-01", periods=6, freq="h"),
        pl.Series(hours(6)),
    ],
    ids=lambda times: type(times).__name__,
)
def test_dates_of_every_kind_have_a_date_axis_from_the_first_to_the_last(times):
    (axes,) = shown(series(times, noisy(6), DAILY.stddevs(6)))
    x = line(axes, "released")[0]
    assert x[0] == (START - datetime(1970, 1, 1)).days
    assert np.all(np.diff(x) > 0)
    assert axes.get_xlabel() == "time"
    said = axes.xaxis.get_major_formatter()
    assert said.format_ticks(axes.get_xticks())
    assert "2024" in said.get_offset()


def test_a_time_zone_is_named_and_kept():
    zone = ZoneInfo("Asia/Tokyo")
    times = [time.replace(tzinfo=zone) for time in hours(24)]
    (axes,) = shown(series(times, noisy(24), DAILY.stddevs(24)))
    assert axes.get_xlabel() == "time (Asia/Tokyo)"
    # midnight in Tokyo is 15 hours of the day before in UTC, where matplotlib counts
    assert_allclose(line(axes, "released")[0][0] % 1, 15 / 24, atol=1e-9)
    assert axes.get_xticklabels()[0].get_text() in ("Mar", "Mar-01")


# Known words ---------------------------------------------------------------------------------


def test_the_title_says_decay_epsilon_and_delta():
    figure = series(
        [1, 2], [3.0, 4.0], [1.0, 1.0], decay=DAILY.decay, guarantee=ONE, label="late departures"
    )
    title = figure.get_suptitle()
    assert "late departures" in title
    assert "half-life of 24 steps, epsilon = 1, delta = 0.000001" in title
    assert "95 % intervals" in title


# Edges ---------------------------------------------------------------------------------------


def test_one_step_has_a_band_that_is_seen():
    (axes,) = shown(series([7], [3.0], [1.0]))
    (bar,) = axes.collections
    ((bottom, top),) = bar.get_segments()
    z = NormalDist().inv_cdf(0.975)
    assert_allclose([bottom[1], top[1]], [3 - z, 3 + z], rtol=1e-12)
    assert axes.get_xlim() == (6, 8)


@pytest.mark.parametrize("scale", [1e-12, -1e3, 1e15, 1e300])
def test_small_and_huge_numbers_are_drawn(scale):
    (axes,) = shown(series([1, 2, 3], np.array([1.0, 2.0, 4.0]) * scale, np.ones(3)))
    low, high = axes.get_ylim()
    assert low < min(scale, 4 * scale) < max(scale, 4 * scale) < high


def test_names_are_shown_as_they_are_and_cut_when_long():
    keys = ["a $b$ _c", "x" * 200 + " end"]
    first, second = shown(series([1, 2], np.ones((2, 2)), np.ones(2), keys=keys))
    assert first.get_title(loc="left") == keys[0]
    assert len(second.get_title(loc="left")) == 100
    assert second.get_title(loc="left").endswith("x end")


# Refusals ------------------------------------------------------------------------------------


@for_each(
    ("change", "error", "match"),
    [
        ({"values": [1.0, np.nan, 2.0]}, InvalidValue, "values must be finite"),
        ({"values": [1.0, 2.0]}, InvalidValue, "values must have one row per time, 3, got 2"),
        ({"stddevs": [1.0, 2.0]}, InvalidValue, "stddevs must have one row per time, 3, got 2"),
        ({"stddevs": [1.0, np.nan, 1.0]}, InvalidValue, "stddevs must be finite"),
        ({"stddevs": [1.0, -1.0, 1.0]}, InvalidValue, "stddevs must be >= 0"),
        ({"truth": [1.0, 2.0]}, InvalidValue, "truth must have the shape"),
        ({"truth": [1.0, 2.0, np.inf]}, InvalidValue, "truth must be finite"),
        (
            {"keys": ["a", "b"]},
            InvalidValue,
            "keys must have one key per column of values, 1, got 2",
        ),
        ({"keys": "a"}, InvalidType, "keys must be a sequence of str"),
        ({"confidence": 1.0}, InvalidValue, "confidence must be in"),
        ({"confidence": np.nan}, InvalidValue, "confidence must be"),
        (
            {"times": [1, 3, 2]},
            InvalidValue,
            "times must not decrease, got an earlier one at index 2",
        ),
        ({"times": ["a", "b", "c"]}, InvalidType, "times must be step numbers or dates"),
        ({"times": [START, None, START]}, InvalidType, "got NoneType at index 1"),
        ({"times": [START, pd.NaT, START]}, InvalidType, "got NaTType at index 1"),
        ({"times": np.array(["2024", "NaT", "2025"], "M8[s]")}, InvalidValue, "NaT at index 1"),
        ({"times": [START, START, START.astimezone()]}, InvalidValue, "all have a time zone"),
        ({"times": np.array([], "M8[s]")}, InvalidValue, "times must not be empty"),
        ({"times": []}, InvalidValue, "times must not be empty"),
    ],
)
def test_wrong_arguments_are_refused(change, error, match):
    arguments = {"times": [1, 2, 3], "values": [1.0, 2.0, 3.0], "stddevs": [1.0, 1.0, 1.0]}
    with pytest.raises(error, match=match):
        series(**(arguments | change))
