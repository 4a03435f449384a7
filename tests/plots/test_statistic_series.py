from datetime import date, timedelta

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hushfade as hf
from hushfade import InvalidValue
from hushfade.plots import statistic_series
from tests.plots.drawn import ONE, band, line, shown, words

MEAN = hf.Mean(low=0, high=60)
SEVERAL = hf.Quantiles([0.5, 0.9], 0, 60, bins=4)
BINS = hf.Histogram([0, 5, 15, 60])
STEPS = np.arange(1, 7)


def drawn(values, statistic=MEAN, times=STEPS, **more):
    """The figure of values with intervals of ± 2."""
    values = np.asarray(values, dtype=np.float64)
    ends = values - 2, values + 2
    return statistic_series(times, values, *ends, statistic=statistic, **more)


# Laws ----------------------------------------------------------------------------------------


def test_the_line_is_the_value_and_the_band_is_the_interval():
    values = np.array([10.0, 12.0, 11.0, 9.0, 14.0, 13.0])
    lower, upper = values - [1, 2, 3, 4, 5, 6], values + 1
    (axes,) = shown(statistic_series(STEPS, values, lower, upper, statistic=MEAN))
    assert_array_equal(line(axes, "released")[1], values)
    x, low, high = band(axes)
    assert_array_equal(x, STEPS)
    assert_array_equal(low, lower)
    assert_array_equal(high, upper)


def test_missing_values_leave_gaps_that_no_line_and_no_band_crosses():
    (axes,) = shown(drawn([10.0, 12.0, np.nan, np.nan, 14.0, 13.0]))
    stretches = [one.get_xdata().tolist() for one in axes.get_lines()]
    assert stretches == [[1, 2], [5, 6]]
    for area, ends in zip(axes.collections, stretches, strict=True):
        x = area.get_paths()[0].vertices[:, 0]
        assert [x.min(), x.max()] == ends


def test_a_single_value_between_gaps_is_visible():
    steps = np.arange(1, 61)  # too many for markers on each step
    values = np.where(steps == 30, 10.0, np.nan)
    (axes,) = shown(drawn(values, times=steps))
    (point,) = axes.get_lines()
    assert (point.get_xdata().tolist(), point.get_marker()) == ([30], "o")
    assert len(axes.collections) == 1


def test_the_legend_is_complete_if_a_key_has_no_values():
    values = np.full((6, 2), np.nan)
    values[:, 1] = 10.0
    figure = drawn(values, keys=["few", "many"])
    first, _ = shown(figure)
    (legend,) = figure.legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries == ["95 % interval, for each step separately", "released"]
    assert [text.get_text() for text in first.texts] == ["no values"]


def test_gaps_do_not_repeat_entries_of_the_legend():
    (legend,) = drawn([1, np.nan, 1, np.nan, 1, np.nan]).legends
    assert len(legend.get_texts()) == 2


def test_quantiles_are_lines_of_one_panel_for_each_key():
    values = np.arange(24.0).reshape(6, 4)  # two quantiles for each of two keys
    for place, axes in enumerate(shown(drawn(values, SEVERAL, keys=["a", "b"]))):
        assert_array_equal(line(axes, "median")[1], values[:, 2 * place])
        assert_array_equal(line(axes, "90th percentile")[1], values[:, 2 * place + 1])


def test_a_histogram_has_the_counts_of_the_last_step():
    values = np.arange(18.0).reshape(6, 3) - 16
    figure = drawn(values, BINS, truth=values + 1)
    (axes,) = shown(figure)
    assert [bar.get_height() for bar in axes.patches] == values[-1].tolist()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["[0, 5)", "[5, 15)", "[15, 60]"]
    assert_array_equal(line(axes, "truth")[1], values[-1] + 1)
    assert "at the last step" in figure.get_suptitle()


# Words ---------------------------------------------------------------------------------------


def test_the_title_states_label_interval_decay_and_guarantee():
    figure = drawn(
        np.ones(6),
        label="mean wait, minutes",
        decay=hf.SlidingWindow(length=7),
        guarantee=ONE,
        confidence=0.9,
    )
    assert figure.get_suptitle() == (
        "Released mean wait, minutes, with 90 % intervals\n"
        "window of 7 steps, epsilon = 1, delta = 0.000001"
    )


def test_dates_of_several_months_show_the_year_alone():
    spans = {40: "2026", 10: "2026-Mar"}
    for days, expected in spans.items():
        times = [date(2026, 3, 2) + timedelta(days=day) for day in range(days)]
        (axes,) = shown(drawn(np.ones(days), times=times))
        assert axes.xaxis.get_offset_text().get_text() == expected


def test_at_most_twelve_keys_are_drawn_and_the_figure_says_so():
    figure = drawn(np.ones((6, 14)), keys=[f"district {place}" for place in range(14)])
    assert len(shown(figure)) == 12
    assert "The first 12 of 14 keys." in words(figure)


# Errors --------------------------------------------------------------------------------------


def test_shapes_that_do_not_fit_are_errors():
    ones = np.ones(6)
    with pytest.raises(InvalidValue, match="lower must have one row per time, 6"):
        statistic_series(STEPS, ones, ones[:3], ones, statistic=MEAN)
    with pytest.raises(InvalidValue, match="values must have 2 columns, got 1"):
        statistic_series(STEPS, ones, ones, ones, statistic=SEVERAL)
    with pytest.raises(InvalidValue, match="truth must have 1 columns, got 2"):
        drawn(ones, truth=np.ones((6, 2)))
    with pytest.raises(InvalidValue, match="confidence"):
        drawn(ones, confidence=1.0)
