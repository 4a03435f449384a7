"""A plan knows what a step is, and whatever uses it with another step is refused."""

import json
from datetime import timedelta

import pandas as pd
import polars as pl
import pytest

import hushfade as hf
import hushfade.frames
from hushfade.planning import plan_file, summary

assert hushfade.frames  # importing it registers the accessors

WEEK, ONE = hf.SlidingWindow(length=7), hf.Guarantee(epsilon=1, delta=0)
DAY = 86_400 * 10**9
DAILY = hf.plan(WEEK, ONE, every="1d", statistic=hf.Count())
MONTHLY = hf.plan(WEEK, ONE, every="month", statistic=hf.Count())
BY_ROWS = hf.plan(WEEK, ONE, every="rows", statistic=hf.Count())
PLAIN = hf.plan(WEEK, ONE, statistic=hf.Count())


def test_the_step_is_part_of_the_plan_its_digest_and_its_summary():
    for every in ("1d", "24h", timedelta(days=1), pd.Timedelta("1D")):
        assert hf.plan(WEEK, ONE, every=every, statistic=hf.Count()).digest == DAILY.digest
    assert len({DAILY.digest, BY_ROWS.digest, PLAIN.digest}) == 3
    assert ("step length", "1d") in summary.rows(DAILY)
    assert ("step length", "one row, regardless of time") in summary.rows(BY_ROWS)
    assert "step length" not in dict(summary.rows(PLAIN))
    for plan in (DAILY, BY_ROWS, PLAIN):
        again = hf.Plan.from_json(plan.to_json())
        assert (again.every, again.digest) == (plan.every, plan.digest)
    assert json.loads(PLAIN.to_json())["every"] is None


def test_another_step_is_refused():
    assert [DAILY.step_length(given) for given in (None, "24h")] == [DAY, DAY]
    assert [PLAIN.step_length(given) for given in (None, "1d", "rows")] == [None, DAY, None]
    assert BY_ROWS.step_length() is BY_ROWS.step_length("rows") is None
    assert [MONTHLY.step_length(given) for given in (None, "month")] == ["month UTC", "month UTC"]
    with pytest.raises(hf.InvalidValue, match="every must be 1d, the plan's step, got '1h'"):
        DAILY.step_length("1h")
    with pytest.raises(hf.InvalidValue, match="every must not be given: the plan's steps are rows"):
        BY_ROWS.step_length("1h")
    for plan, other in ((DAILY, "day"), (DAILY, "rows"), (MONTHLY, "month Europe/Vienna")):
        with pytest.raises(hf.InvalidValue, match=f"every must be {plan.every}, the plan's step"):
            plan.step_length(other)
    for every in ("soon", "1mo", "0h", ""):
        with pytest.raises(hf.InvalidValue, match="every must be"):
            hf.plan(WEEK, ONE, every=every)
    with pytest.raises(hf.InvalidType, match="every must be text"):
        hf.plan(WEEK, ONE, every=3600)


@pytest.mark.parametrize("every", ["24h", "1h ", 3600, "", "row"])
def test_a_forged_step_is_refused(every):
    document = json.loads(DAILY.to_json())
    document["every"] = every
    covered = {name: of for name, of in document.items() if name not in ("digest", "reported")}
    document["digest"] = plan_file._hashed(covered).hex()
    with pytest.raises((hf.InvalidValue, hf.InvalidType)):
        hf.Plan.from_json(json.dumps(document))


def test_frames_are_released_with_the_plan_s_step_only():
    times = pd.date_range("2026-01-01", periods=3, freq="D")
    frame = pd.DataFrame({"at": times, "v": [1, 0, 1]})
    window = {"time": "at", "start": "2026-01-01", "steps": 3}
    assert len(frame.hushfade.release_events(plan=DAILY, **window)) == 3
    assert len(frame.hushfade.release_events(plan=DAILY, every="24h", **window)) == 3
    with pytest.raises(hf.InvalidValue, match="every must be 1d"):
        frame.hushfade.release_events(plan=DAILY, every="1h", **window)
    with pytest.raises(hf.InvalidValue, match="a number of rows, not a length of time"):
        frame.hushfade.release_events(plan=BY_ROWS, **window)
    with pytest.raises(hf.InvalidType, match="every must be given"):
        frame.hushfade.release_events(plan=PLAIN, **window)
    column = frame.set_index("at")["v"]
    assert len(column.hushfade.release(plan=DAILY)) == 3
    hourly = column.set_axis(pd.date_range("2026-01-01", periods=3, freq="h"))
    with pytest.raises(hf.InvalidValue, match="the index must increase by every"):
        hourly.hushfade.release(plan=DAILY)  # hours are no days
    for plan in (BY_ROWS, PLAIN):
        assert len(hourly.hushfade.release(plan=plan, every="rows")) == 3
    with pytest.raises(hf.InvalidValue, match="every must be 1d, the plan's step, got 'rows'"):
        column.hushfade.release(plan=DAILY, every="rows")


def test_a_calendar_step_is_part_of_the_plan_as_it_is_declared():
    vienna = hf.plan(WEEK, ONE, every=" month  Europe/Vienna ", statistic=hf.Count())
    assert (MONTHLY.every, vienna.every) == ("month UTC", "month Europe/Vienna")
    assert hf.plan(WEEK, ONE, every="month UTC", statistic=hf.Count()).digest == MONTHLY.digest
    days = [hf.plan(WEEK, ONE, every=every, statistic=hf.Count()) for every in ("day", "week")]
    assert len({plan.digest for plan in (MONTHLY, vienna, DAILY, PLAIN, *days)}) == 6
    assert ("step length", "a calendar month (Europe/Vienna)") in summary.rows(vienna)
    for plan in (MONTHLY, vienna, *days):
        again = hf.Plan.from_json(plan.to_json())
        assert (again.every, again.digest) == (plan.every, plan.digest)
    twice = hf.Guarantee(1, 0, protects=hf.Person(steps=2))
    assert hf.plan(WEEK, twice, every="month").relation.step == "month UTC"


@pytest.mark.parametrize(
    "every",
    ["month Europe", "day Nowhere/Here", "day ../../etc/passwd", "week /UTC", "month UTC UTC",
     "day europe/vienna\n\0", "day " + "A" * 200, "months", "1 month", "Day UTC"],
)  # fmt: skip
def test_what_is_no_calendar_step_is_refused(every):
    with pytest.raises(hf.InvalidValue, match="every must"):
        hf.plan(WEEK, ONE, every=every)


def test_the_identity_of_a_calendar_step_needs_no_database_of_time_zones(monkeypatch):
    """A plan that names a zone is read where the zone is not known, and keeps its digest."""
    import zoneinfo

    vienna = hf.plan(WEEK, ONE, every="day Europe/Vienna")

    def unknown(name):
        raise zoneinfo.ZoneInfoNotFoundError(name)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", unknown)
    assert hf.Plan.from_json(vienna.to_json()).digest == vienna.digest
    assert hf.plan(WEEK, ONE, every="day").every == "day UTC"
    with pytest.raises(hf.InvalidValue, match="pip install tzdata"):
        hf.plan(WEEK, ONE, every="day Europe/Vienna")


def test_a_forged_calendar_step_is_refused():
    for every in ("month", "month  UTC", "day ../x", "day", "month UTC "):
        document = json.loads(MONTHLY.to_json())
        document["every"] = every
        covered = {name: of for name, of in document.items() if name not in ("digest", "reported")}
        document["digest"] = plan_file._hashed(covered).hex()
        with pytest.raises(hf.InvalidValue):
            hf.Plan.from_json(json.dumps(document))


def test_rows_without_times_are_steps_of_a_clock_only_if_that_is_declared():
    for plan, every in ((DAILY, "24h"), (MONTHLY, "month")):
        for data in ([1, 0, 1], pd.Series([1, 0, 1]), pl.Series([1, 0, 1])):
            with pytest.raises(hf.InvalidValue, match="every must be given: the plan's step is"):
                hushfade.frames.release(data, plan=plan)
            assert len(hushfade.frames.release(data, plan=plan, every=every)["value"]) == 3
            with pytest.raises(hf.InvalidValue, match="every must be given"):
                hushfade.frames.release_totals(data, plan=plan)
        frame = pl.DataFrame({"v": [1, 0, 1]})
        with pytest.raises(hf.InvalidValue, match="every must be given"):
            frame.lazy().hushfade.release(value="v", plan=plan)
        with pytest.raises(hf.InvalidValue, match="every must be given"):
            frame.select(pl.col("v").hushfade.release(plan=plan))
    for plan in (BY_ROWS, PLAIN):
        assert len(hushfade.frames.release([1, 0, 1], plan=plan)["value"]) == 3


def test_records_with_times_are_sorted_into_calendar_steps():
    times = pd.date_range("2026-01-01", periods=3, freq="MS")
    frame = pd.DataFrame({"at": times, "v": [1, 0, 1]})
    window = {"time": "at", "start": "2026-01-01", "steps": 3}
    assert frame.hushfade.release_events(plan=MONTHLY, **window)["time"].dt.day.tolist() == [1] * 3
    with pytest.raises(hf.InvalidValue, match="every must be a fixed length such as 1h here"):
        frame.set_index("at")["v"].hushfade.release(plan=MONTHLY)
    with pytest.raises(
        hf.InvalidValue, match="window must be a number of steps, such as 7, because a calendar"
    ):
        hushfade.frames.release([1], window="7d", every="month", epsilon=1, delta=0, low=0, high=1)
    made = {"window": 7, "every": "month", "epsilon": 1, "delta": 0, "low": 0, "high": 1}
    assert len(hushfade.frames.release([1, 0], **made)["value"]) == 2
