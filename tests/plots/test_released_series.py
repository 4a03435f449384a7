from datetime import date, datetime, timedelta
from statistics import NormalDist
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hushfade import InvalidType, InvalidValue
from hushfade.plots import series
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


def test_margins_that_are_given_are_the_band():
    values, s = noisy(50), DAILY.stddevs(50)
    margins = np.linspace(1.0, 3.0, 50)
    _, low, high = band(shown(series(np.arange(1, 51), values, s, margins=margins))[0])
    assert_allclose(low, values - margins, rtol=1e-12, atol=1e-12)  # rounding
    assert_allclose(high, values + margins, rtol=1e-12, atol=1e-12)
    with pytest.raises(InvalidValue, match="margins must have one row per time, 50"):
        series(np.arange(1, 51), values, s, margins=margins[:3])
    with pytest.raises(InvalidValue, match="margins must be >= 0"):
        series(np.arange(1, 51), values, s, margins=-margins)


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
