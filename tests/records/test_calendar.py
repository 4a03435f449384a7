from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.errors import InvalidType, InvalidValue
from hushfade.records.calendar import Calendar, RowOrder, calendar, instant

HOUR = 3600 * 10**9


@settings(deadline=None, derandomize=True)
@given(
    st.integers(-(2**60), 2**60),
    st.integers(1, 2**50),
    st.lists(st.integers(-(2**60), 2**60), min_size=1),
)
def test_a_time_lies_in_its_step(start, every, times):
    found = Calendar(start, every, zoned=True).places(np.array(times))
    for time, step in zip(times, found.tolist(), strict=True):
        assert step == (max((time - start) // every, -1) if time >= start else -1)


def test_the_farthest_times_stay_in_order():
    farthest = np.array([-(2**63), 2**63 - 1])
    for start in farthest.tolist():
        assert Calendar(start, 1, zoned=True).places(farthest).tolist() == [
            0 if start < 0 else -1, 2**62 if start < 0 else 0,
        ]  # fmt: skip
    with pytest.raises(InvalidValue, match="before the year 2262"):
        calendar("2262-01-01", 86400 * 10**9, steps=365)


def test_the_end_of_a_step_is_the_start_of_the_next():
    hours = calendar("2026-01-01", HOUR, end="2026-01-02")
    assert hours.steps == 24
    assert hours.end(1) == datetime(2026, 1, 1, 1)
    assert hours.places(np.array([instant("2026-01-01T01:00", name="x")[0]])).tolist() == [1]
    assert hours.ends(np.array([24])).tolist() == [instant("2026-01-02", name="x")[0]]


@pytest.mark.parametrize(
    ("text", "when"),
    [("2026-01-31", datetime(2026, 1, 31)), ("2026-01-31 12:00", datetime(2026, 1, 31, 12)),
     ("2026-01-31T12:00:00.5", datetime(2026, 1, 31, 12, 0, 0, 500_000)),
     ("2026-01-31Z", datetime(2026, 1, 31, tzinfo=UTC)),
     ("2026-01-31T12:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
     ("2026-01-31T12:00+01:00", datetime(2026, 1, 31, 11, tzinfo=UTC))],
)  # fmt: skip
def test_known_instants(text, when):
    zone = when.tzinfo
    exact = (when - datetime(1970, 1, 1, tzinfo=zone)) // timedelta(microseconds=1) * 1000
    assert instant(text, name="x") == (exact, zone is not None)


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026", "31.1.2026", "2026-02-30", "9999-01-01", "2026-01-0\udcb5", "\ud800"],
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InvalidValue, match="start must be a time"):
        instant(text, name="start")


def test_calendars_that_do_not_fit_are_refused():
    with pytest.raises(InvalidValue, match="whole number of steps after the start"):
        calendar("2026-01-01", HOUR, end="2026-01-01T01:30")
    with pytest.raises(InvalidValue, match="whole number of steps after the start"):
        calendar("2026-01-01", HOUR, end="2025-01-01")
    with pytest.raises(
        InvalidValue, match="end must have a time zone if and only if the start has one"
    ):
        calendar("2026-01-01", HOUR, end="2026-01-02T00:00Z")
    with pytest.raises(InvalidValue, match="cannot be combined"):
        calendar("2026-01-01", HOUR, end="2026-01-02", steps=3)
    with pytest.raises(InvalidValue):
        calendar("2026-01-01", HOUR, steps=0)
    with pytest.raises(InvalidValue, match="every must be an integer >= 1, got 0"):
        calendar("2026-01-01", 0, end="2026-01-02")
    with pytest.raises(InvalidType):
        RowOrder(1.5)
