"""Means and other statistics from columns and frames, under the names that users know."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hushfade as hf
import hushfade.frames
from hushfade.frames.familiar import ewm_arguments

ONE = {"epsilon": 1.0, "delta": 1e-6}
BOUNDS = {"low": 0.0, "high": 10.0}
SEED = hf.UnsafeSeededNoise(1)
VALUES = np.random.default_rng(1).uniform(0, 10, 300)


def columns(decay, statistic, values=VALUES):
    """What a stream releases that takes one record per step."""
    plan = hf.plan(decay, hf.Guarantee(1, 1e-6), statistic=statistic)
    stream = plan.start(SEED)
    releases = [stream.step([value]) for value in values]
    ends = np.array([release.interval() for release in releases])
    return {
        "value": [release.value for release in releases],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "count": [release.parts["count"].value for release in releases],
    }


def check(found, wanted):
    assert list(found) == list(wanted)
    for name, column in wanted.items():
        # a row and many rows are computed by other operations of numpy
        assert_allclose(np.asarray(found[name]), column, rtol=1e-9, atol=1e-12, err_msg=name)


def test_means_are_those_of_a_stream_in_every_library():
    decay, mean = hf.Exponential(half_life=20), hf.Mean(**BOUNDS)
    wanted = columns(decay, mean)
    given = {**ONE, **BOUNDS, "half_life": 20, "noise": SEED}
    check(pd.Series(VALUES).hushfade.ewm_mean(**given), wanted)
    series = pl.Series("x", VALUES)
    check(series.hushfade.ewm_mean(**given).to_dict(as_series=False), wanted)
    frame = pl.DataFrame({"x": VALUES})
    found = frame.select(pl.col("x").hushfade.ewm_mean(**given)).unnest("x")
    check(found.to_dict(as_series=False), wanted)
    found = hushfade.frames.release(VALUES, **ONE, half_life=20, statistic=mean, noise=SEED)
    check(found, wanted)


def test_rolling_means_are_those_of_a_window():
    wanted = columns(hf.SlidingWindow(length=30), hf.Mean(**BOUNDS))
    given = {**ONE, **BOUNDS, "noise": SEED}
    check(pd.Series(VALUES).hushfade.rolling_mean(30, **given), wanted)
    check(pl.Series(VALUES).hushfade.rolling_mean(window=30, **given).to_dict(), wanted)


def test_the_smoothing_is_stated_as_in_pandas():
    """Without noise the weighted mean of a release is pandas' own."""
    series = pd.Series(VALUES)
    for given in ({"com": 9.0}, {"span": 19.0}, {"alpha": 0.1}, {"halflife": 6.5}):
        decay = ewm_arguments(given).get("decay") or hf.Exponential(half_life=6.5)
        weights = decay.weights(len(VALUES))[::-1]
        mean = np.average(VALUES, weights=weights)
        assert series.ewm(**given).mean().iloc[-1] == pytest.approx(mean, rel=1e-9)


def test_sums_under_familiar_names_are_releases():
    series, given = pd.Series(VALUES), {**ONE, **BOUNDS, "noise": SEED}
    same = series.hushfade.release(half_life=20, **given)
    assert series.hushfade.ewm_sum(half_life=20, **given).equals(same)
    same = series.hushfade.release(window=7, **given)
    assert series.hushfade.rolling_sum(7, **given).equals(same)


def test_keys_have_means_of_their_own():
    frame = pl.DataFrame({"x": VALUES, "k": ["a", "b", "a"] * 100})
    given = {**ONE, "statistic": hf.Mean(**BOUNDS), "half_life": 20, "noise": SEED}
    found = frame.hushfade.release(value="x", key="k", keys=["a", "b"], **given)
    plan = hf.plan(
        hf.Exponential(half_life=20), hf.Guarantee(1, 1e-6), statistic=hf.Mean(**BOUNDS),
        keys=["a", "b"],
    )  # fmt: skip
    stream, of = plan.start(SEED), {key: VALUES[frame["k"] == key] for key in ("a", "b")}
    wanted = []
    for step in range(200):
        records = {key: column[step : step + 1] for key, column in of.items()}
        wanted.append(stream.step(records).value)
    assert_allclose(found["value"], np.ravel(wanted), rtol=1e-9)
    lazy = frame.lazy().hushfade.release(value="x", key="k", keys=["a", "b"], **given).collect()
    assert lazy.equals(found)


def test_irregular_times_are_assigned_to_steps():
    rng = np.random.default_rng(2)
    at = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.uniform(0, 10, 300), unit="h")
    frame = pd.DataFrame({"at": at, "x": VALUES})
    given = {
        **ONE, **BOUNDS, "time": "at", "value": "x", "every": "1h", "start": "2026-01-01",
        "steps": 10, "half_life": "2h", "noise": SEED,
    }  # fmt: skip
    found = frame.hushfade.ewm_mean_by(**given)
    plan = hf.plan(
        hf.Exponential(half_life=2), hf.Guarantee(1, 1e-6), statistic=hf.Mean(**BOUNDS), every="1h"
    )
    stream, hours = plan.start(SEED), np.floor((at - at.normalize()) / pd.Timedelta("1h"))
    wanted = [stream.step(VALUES[hours == hour]).value for hour in range(10)]
    assert_allclose(found["value"], wanted, rtol=1e-9)
    other = pl.from_pandas(frame).hushfade.ewm_mean_by(**given)
    assert_allclose(other["value"], wanted, rtol=1e-9)
    assert len(frame.hushfade.ewm_sum_by(**given)) == 10


def test_records_with_times_have_the_names_of_either_library():
    at = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(300) * 7.3, unit="min")
    frame = pd.DataFrame({"at": at, "x": VALUES})
    given = {**ONE, **BOUNDS, "value": "x", "every": "1h", "start": "2026-01-01", "steps": 40,
             "noise": SEED}  # fmt: skip
    wanted = frame.hushfade.ewm_mean_by(time="at", half_life="2h", **given)
    other = pl.from_pandas(frame).hushfade
    for found in (
        frame.hushfade.ewm_mean_by(times="at", halflife="2h", adjust=True, **given),
        other.ewm_mean_by(by="at", half_life="2h", **given),
    ):
        assert_allclose(found["value"], wanted["value"])
    rolled = frame.hushfade.rolling_mean_by("7h", by="at", **given)
    same = frame.hushfade.release_events(
        time="at", window="7h", statistic=hf.Mean(**BOUNDS),
        **{name: one for name, one in given.items() if name not in BOUNDS},
    )  # fmt: skip
    assert rolled.equals(same)
    sums = other.rolling_sum_by(window_size="7h", by="at", min_samples=1, **given)
    assert_allclose(sums["value"], frame.hushfade.release_events(
        time="at", window="7h", **given)["value"])  # fmt: skip


def test_rows_with_irregular_times_are_no_steps_under_familiar_names():
    given = {**ONE, **BOUNDS, "noise": SEED}
    hours = pd.date_range("2026-01-01", periods=300, freq="h")
    regular = pd.Series(VALUES, index=hours)
    broken = regular.drop(hours[7])
    calls = {
        "ewm_mean_by": lambda s, **more: s.hushfade.ewm_mean(span=9, **given, **more),
        "ewm_sum_by": lambda s, **more: s.hushfade.ewm_sum(span=9, **given, **more),
        "rolling_mean_by": lambda s, **more: s.hushfade.rolling_mean(9, **given, **more),
        "rolling_sum_by": lambda s, **more: s.hushfade.rolling_sum(9, **given, **more),
    }
    for name, call in calls.items():
        with pytest.raises(hf.HushfadeError, match=f"the index must have equal steps.*use {name}"):
            call(broken)
        assert len(call(broken, every="rows")) == 299  # declared: a row is a step
        assert len(call(regular)) == 300
        assert len(call(pd.Series(VALUES, index=hours._with_freq(None)))) == 300
        months = pd.date_range("2000-01-31", periods=300, freq="ME")
        assert len(call(pd.Series(VALUES, index=months._with_freq(None)))) == 300
        assert len(call(regular.reset_index(drop=True))) == 300


def test_events_have_keys_of_several_columns():
    rng = np.random.default_rng(5)
    at = pd.date_range("2026-01-01", periods=300, freq="min")
    frame = pd.DataFrame(
        {"at": at, "x": VALUES, "d": rng.choice(["n", "s"], 300), "r": rng.choice(["+", "-"], 300)}
    )
    keys = ["n/+", "n/-", "s/+", "s/-"]
    given = {
        **ONE, "time": "at", "value": "x", "every": "1h", "start": "2026-01-01", "steps": 5,
        "half_life": 2, "statistic": hf.Mean(**BOUNDS), "keys": keys, "noise": SEED,
    }  # fmt: skip
    found = frame.hushfade.release_events(key=["d", "r"], **given)
    joined = frame.assign(k=frame["d"] + "/" + frame["r"])
    assert found.equals(joined.hushfade.release_events(key="k", **given))
    other = pl.from_pandas(frame).hushfade.release_events(key=["d", "r"], **given)
    assert_allclose(other["value"], found["value"])
    for wrong in (["d"] * 2, [], list("abcd")):
        with pytest.raises(hf.HushfadeError, match="key must"):
            frame.hushfade.release_events(key=wrong, **given)


def test_shares_read_booleans_numbers_and_words():
    truth = VALUES < 3
    at = pd.date_range("2026-01-01", periods=300, freq="min")
    given = {
        **ONE, "time": "at", "value": "x", "every": "1h", "start": "2026-01-01", "steps": 5,
        "half_life": 2, "statistic": hf.Share(), "noise": SEED,
    }  # fmt: skip
    forms = (truth, truth.astype(int), truth.astype(float), np.where(truth, "true", "false"))
    found = [pd.DataFrame({"at": at, "x": x}).hushfade.release_events(**given) for x in forms]
    assert all(one.equals(found[0]) for one in found)
    for wrong in (VALUES, np.where(truth, "yes", "no"), np.where(truth, 1, 2)):
        with pytest.raises(hf.HushfadeError, match="must be true or false, or 1 or 0"):
            pd.DataFrame({"at": at, "x": wrong}).hushfade.release_events(**given)


def test_columns_of_booleans_release_shares_and_nothing_else():
    truth = VALUES < 3
    given = {**ONE, "window": 20, "statistic": hf.Share(), "noise": SEED}
    expected = pd.Series(truth.astype(int)).hushfade.release(**given)["value"]
    arrow = pd.Series(truth, dtype="bool[pyarrow]")
    for column in (pd.Series(truth), arrow, pl.Series(truth), truth, truth.tolist()):
        assert_array_equal(hushfade.frames.release(column, **given)["value"], expected)
        with pytest.raises(hf.HushfadeError, match=r"integers|numbers|bool"):
            hushfade.frames.release(column, **{**given, "statistic": hf.Count()})
    holes = pd.Series([True, None, False], dtype="boolean")
    assert len(holes.hushfade.release(**given, empty_steps=True)) == 3


def test_events_have_a_row_for_each_quantile():
    at = pd.date_range("2026-01-01", periods=300, freq="min")
    frame = pd.DataFrame({"at": at, "x": VALUES})
    found = frame.hushfade.release_events(
        time="at", value="x", every="1h", start="2026-01-01", steps=5, half_life=2, **ONE,
        statistic=hf.Quantiles([0.5, 0.9], 0, 10, bins=16),
    )  # fmt: skip
    assert found["quantile"].tolist() == ["0.5", "0.9"] * 5


def test_what_does_not_fit_is_refused():
    series, given = pd.Series(VALUES), {**ONE, **BOUNDS}
    for wrong in (
        lambda: series.hushfade.ewm_mean(half_life=3, **ONE),
        lambda: series.hushfade.ewm_mean(**given),
        lambda: series.hushfade.ewm_mean(half_life=3, span=3, **given),
        lambda: series.hushfade.ewm_mean(half_life=3, times=series, **given),
        lambda: series.hushfade.ewm_mean(span=0.5, **given),
        lambda: series.hushfade.ewm_mean(span=5, adjust=False, **given),
        lambda: series.hushfade.rolling_mean(5, center=True, **given),
        lambda: series.hushfade.rolling_mean(5, window_size=5, **given),
        lambda: series.hushfade.rolling_mean(**given),
        lambda: series.to_frame("x").hushfade.ewm_mean_by(value="x", half_life=3, **given),
        lambda: series.hushfade.ewm_mean(alpha=1.0, **given),
        lambda: series.hushfade.release(half_life=3, statistic=hf.Histogram([0, 1, 2]), **ONE),
        lambda: series[:2].hushfade.release(half_life=3, statistic=hf.Ratio(1, 1, 1), **ONE),
        lambda: series.hushfade.release_totals(half_life=3, statistic=hf.Share(), **ONE),
    ):
        with pytest.raises(hf.HushfadeError):
            wrong()
