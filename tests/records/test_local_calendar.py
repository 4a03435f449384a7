"""Days, weeks and months of time zones, against zoneinfo itself, with changes of the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from hushfade.errors import InvalidValue
from hushfade.records.calendar import Calendar, RowOrder, calendar
from hushfade.records.local_calendar import Dates, LocalCalendar, Periods

HOUR = 3600 * 10**9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# zones whose clocks change by day, at midnight (both ways), by half an hour, and by a whole day
ZONES = (
    "UTC", "Europe/Vienna", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe",
    "Pacific/Apia", "Asia/Kathmandu",
)  # fmt: skip


def named(time, step):
    """The local day, week or month of a time, as zoneinfo has it."""
    unit, zone = step.split()
    local = (EPOCH + timedelta(microseconds=time // 1000)).astimezone(ZoneInfo(zone))
    if unit == "week":
        return local.isocalendar()[:2]
    return (local.year, local.month, local.day)[: 2 if unit == "month" else 3]


def test_times_share_a_step_if_and_only_if_they_share_a_date():
    rng = np.random.default_rng(1)
    start = int((datetime(2011, 10, 1, tzinfo=UTC) - EPOCH).total_seconds()) * 10**9
    times = np.sort(start + rng.integers(0, 200 * 24 * 4, 1500) * (HOUR // 4))  # quarters
    for zone in ZONES:
        for unit in ("day", "week", "month"):
            step = f"{unit} {zone}"
            dates = Dates(step, zoned=True)
            steps = LocalCalendar(dates, dates.containing(start), 300)
            places = steps.places(times)
            for one, other, a, b in zip(times, times[1:], places, places[1:], strict=False):
                same = named(int(one), step) == named(int(other), step)
                assert same == (a == b), (step, one, other)
            assert (steps.starts(places) <= times).all()
            assert (times < steps.starts(places + 1)).all()


def test_a_day_may_have_23_or_25_hours_and_is_one_step():
    days = calendar("2026-03-28T00:00+01:00", "day Europe/Vienna", end="2026-03-31T00:00+02:00")
    assert days.steps == 3
    assert np.diff(days.starts(np.arange(4))).tolist() == [24 * HOUR, 23 * HOUR, 24 * HOUR]
    autumn = calendar("2026-10-24T22:00Z", "day Europe/Vienna", steps=2)
    assert np.diff(autumn.starts(np.arange(3))).tolist() == [25 * HOUR, 24 * HOUR]
    assert autumn.end(1) == datetime(2026, 10, 25, 23, tzinfo=UTC)


def test_local_times_count_as_written():
    days = calendar("2026-03-28", "day Europe/Vienna", end="2026-03-31")
    assert np.diff(days.starts(np.arange(4))).tolist() == [24 * HOUR] * 3
    assert not days.zoned


def test_the_start_must_be_the_beginning_of_a_step():
    for start, step in (
        ("2026-01-01T00:00Z", "day Europe/Vienna"), ("2026-01-02", "month UTC"),
        ("2026-01-01", "week UTC"),
    ):  # fmt: skip
        with pytest.raises(InvalidValue, match="start must be the beginning of a calendar"):
            calendar(start, step, steps=3)
    with pytest.raises(InvalidValue, match="end must be the beginning"):
        calendar("2026-01-01", "month UTC", end="2026-03-02")
    with pytest.raises(InvalidValue, match="end must be after the start"):
        calendar("2026-01-01", "month UTC", end="2026-01-01")
    with pytest.raises(InvalidValue, match="cannot be combined"):
        calendar("2026-01-01", "month UTC", end="2026-03-01", steps=2)
    with pytest.raises(InvalidValue, match="before the year 2262"):
        calendar("2026-01-01", "month UTC", steps=12 * 300)


def test_a_step_belongs_to_the_period_in_which_it_begins():
    start = int((datetime(2026, 10, 24, 10, tzinfo=UTC) - EPOCH).total_seconds()) * 10**9
    for every in (HOUR, 5 * HOUR):
        order = Calendar(start, every, True, 60)
        places = np.arange(60)
        for period in ("day Europe/Vienna", "week UTC", "month Pacific/Apia"):
            numbers = Periods.of(period, order).of_steps(places)
            for step in range(59):
                begins = [start + (step + i) * every for i in (0, 1)]
                same = named(begins[0], period) == named(begins[1], period)
                assert same == (numbers[step] == numbers[step + 1])
    endless = Periods.of("day UTC", Calendar(start, HOUR, True))
    assert np.diff(endless.of_steps(np.array([0, 24, 24000]))).tolist() == [1, 999]
    with pytest.raises(InvalidValue, match="needs steps with times"):
        Periods.of("day UTC", RowOrder())
