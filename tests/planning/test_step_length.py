"""A plan knows what a step is, and whatever uses it with another step is refused."""

import json
from datetime import timedelta

import pandas as pd
import pytest

import hushfade as hf
import hushfade.frames
from hushfade.planning import plan_file, summary

assert hushfade.frames  # importing it registers the accessors

WEEK, ONE = hf.SlidingWindow(length=7), hf.Guarantee(epsilon=1, delta=0)
DAY, HOUR = 86_400 * 10**9, 3600 * 10**9
DAILY = hf.plan(WEEK, ONE, every="1d", statistic=hf.Count())
BY_ROWS = hf.plan(WEEK, ONE, every="rows", statistic=hf.Count())
PLAIN = hf.plan(WEEK, ONE, statistic=hf.Count())


def test_the_step_is_part_of_the_plan_its_digest_and_its_summary():
    for every in ("1d", "24h", timedelta(days=1), pd.Timedelta("1D")):
        assert hf.plan(WEEK, ONE, every=every, statistic=hf.Count()).digest == DAILY.digest
    assert len({DAILY.digest, BY_ROWS.digest, PLAIN.digest}) == 3
    assert ("a step", "1d") in summary.rows(DAILY)
    assert ("a step", "a row, whatever time has passed") in summary.rows(BY_ROWS)
    assert "a step" not in dict(summary.rows(PLAIN))
    for plan in (DAILY, BY_ROWS, PLAIN):
        again = hf.Plan.from_json(plan.to_json())
        assert (again.every, again.digest) == (plan.every, plan.digest)
    assert "every" not in json.loads(PLAIN.to_json())


def test_another_step_is_refused():
    assert [DAILY.step_length(given) for given in (None, DAY)] == [DAY, DAY]
    assert [PLAIN.step_length(given) for given in (None, DAY)] == [None, DAY]
    assert BY_ROWS.step_length() is None
    with pytest.raises(hf.InvalidValue, match="every must be 1d, the plan's step, got '1h'"):
        DAILY.step_length(HOUR)
    with pytest.raises(hf.InvalidValue, match="every must not be given: the plan's steps are rows"):
        BY_ROWS.step_length(HOUR)
    for every in ("soon", "1mo", "0h", ""):
        with pytest.raises(hf.InvalidValue, match="every must be"):
            hf.plan(WEEK, ONE, every=every)
    with pytest.raises(hf.InvalidType, match="every must be text"):
        hf.plan(WEEK, ONE, every=3600)


@pytest.mark.parametrize("every", ["24h", "1h ", None, 3600, "", "row"])
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
    with pytest.raises(hf.InvalidValue, match="steps are rows, not times: use release"):
        frame.hushfade.release_events(plan=BY_ROWS, **window)
    with pytest.raises(hf.InvalidType, match="every must be given"):
        frame.hushfade.release_events(plan=PLAIN, **window)
    column = frame.set_index("at")["v"]
    assert len(column.hushfade.release(plan=DAILY)) == 3
    hourly = column.set_axis(pd.date_range("2026-01-01", periods=3, freq="h"))
    with pytest.raises(hf.InvalidValue, match="the index must rise by every"):
        hourly.hushfade.release(plan=DAILY)  # hours are no days
    for plan in (BY_ROWS, PLAIN):
        assert len(hourly.hushfade.release(plan=plan, every="rows")) == 3
    with pytest.raises(hf.InvalidValue, match="every must be 1d, the plan's step, got 'rows'"):
        column.hushfade.release(plan=DAILY, every="rows")
