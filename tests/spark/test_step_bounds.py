"""Calendar steps and periods: the same records count in the same steps as on one machine."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import hushfade.frames as _frames
from hushfade import Exponential, Guarantee, Person, UnsafeSeededNoise, plan
from hushfade.errors import DroppedRecords
from hushfade.records.calendar import Calendar, calendar
from hushfade.records.local_calendar import Dates, LocalCalendar, Periods
from hushfade.spark import private_decaying_sums, streams
from hushfade.spark.bucket_steps import clock_of
from hushfade.spark.limits import PersonLimits
from hushfade.spark.step_bounds import microseconds, slots
from tests.spark.cases import in_hash_order, matrix
from tests.spark.conftest import Files, written

assert _frames  # pandas frames have an accessor from here on

BERLIN = ZoneInfo("Europe/Berlin")
FIRST, DAYS = date(2026, 3, 23), 224  # to 1 November: a day of 23 hours, and a day of 25
KEYS = ["a", "b"]
UNIT = Person(period="week Europe/Berlin", steps=3, apart=2, records_per_step=2)
DAILY = plan(
    Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6, protects=UNIT),
    keys=KEYS, low=0, high=4, resolution=1, every="day Europe/Berlin",
)  # fmt: skip
HOW = {"time": "at", "key": "key", "value": "amount", "user": "person"}
HOW |= {"start": "2026-03-23T00:00+01:00", "noise": UnsafeSeededNoise(3)}
LOOK_ALIKE = ["ann", "Ann", "ann ", "anna", "7", "07"]
COLUMNS = "at timestamp, key string, amount double, person string"


def midnight(day):
    return datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC)


def visits(first, days, count, seed):
    """Records near local midnights, many at one time, and in each hour of both long nights."""
    rng = np.random.default_rng(seed)
    near = [timedelta(microseconds=gap) for gap in (-1, 0, 1, 7_200_000_000, 82_800_000_000)]
    drawn = rng.integers(-1, days + 1, count).tolist(), rng.integers(0, len(near), count).tolist()
    times = [midnight(first + timedelta(day)) + near[gap] for day, gap in zip(*drawn, strict=True)]
    for changed in (date(2026, 3, 29), date(2026, 10, 25)):
        times += [midnight(changed) + timedelta(hours=hour) for hour in range(-2, 28)]
    found = {
        "at": pd.array(times, dtype="datetime64[us, UTC]"),
        "key": rng.choice([*KEYS, "other"], len(times)),
        "amount": rng.integers(0, 6, len(times)).astype(float),
        "person": rng.choice(LOOK_ALIKE, len(times)),
    }
    return pd.DataFrame(found)


def in_order(spark, found):
    """The order in which Spark applies limits per person, with the units and lanes of records."""
    days = found["at"].dt.tz_convert(BERLIN).dt.date
    ordered = in_hash_order(spark, found, DAILY, HOW["noise"].seed, days)
    lanes = ordered["key"].map({key: lane for lane, key in enumerate(KEYS)}).fillna(-1)
    return ordered.assign(lane=lanes, units=ordered["amount"].clip(0, 4) * (lanes >= 0))


def week_of(day):
    return day.isocalendar()[:2]


def by_hand(ordered, first, days, stretch=week_of, zone=BERLIN):
    """The totals by Python's own calendar, and limits per person in plain Python."""
    totals, used = np.zeros((days, len(KEYS))), {}
    for row in ordered.itertuples():
        day = row.at.to_pydatetime().astimezone(zone).date()
        step = (day - first).days
        if not 0 <= step < days:
            continue
        mine = used.setdefault((row.person, stretch(day)), {})
        if step not in mine and (len(mine) == 3 or any(step - other < 2 for other in mine)):
            continue
        mine[step] = mine.get(step, 0) + 1
        if mine[step] <= 2 and row.lane >= 0:
            totals[step, int(row.lane)] += row.units
    return totals


@pytest.fixture(scope="module")
def elsewhere(spark):
    """A session in another zone, far from the calendar's."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return session


def test_a_table_counts_by_the_days_and_weeks_of_the_declared_zone(elsewhere):
    found = visits(FIRST, DAYS, 2000, seed=8)
    frame = elsewhere.createDataFrame(found.sample(frac=1, random_state=1), COLUMNS)
    released = private_decaying_sums(frame, DAILY, steps=DAYS, buckets=2, **HOW).toPandas()
    ordered = in_order(elsewhere, found)
    with pytest.warns(DroppedRecords):
        expected = ordered.hushfade.release_events(plan=DAILY, steps=DAYS, **HOW)
    np.testing.assert_array_equal(matrix(released, KEYS), matrix(expected, KEYS))
    totals = by_hand(ordered, FIRST, DAYS)
    np.testing.assert_array_equal(matrix(released, KEYS), DAILY.start(HOW["noise"]).run(totals))
    assert (totals != by_hand(ordered, FIRST, DAYS, zone=UTC)).any()  # the zone matters
    assert (totals != by_hand(ordered, FIRST, DAYS, date.toordinal)).any()  # and so do the limits
    ends = pd.to_datetime(released.sort_values("step")["time"].unique()).tz_localize("Asia/Tokyo")
    assert [end.to_pydatetime() for end in ends] == [
        midnight(FIRST + timedelta(day + 1)) for day in range(DAYS)
    ]


def test_a_stream_counts_by_the_days_and_weeks_of_the_declared_zone(elsewhere, tmp_path):
    """Five days from Friday on: a week ends inside them, after the day of 25 hours."""
    first, days = date(2026, 10, 23), 5
    found = visits(first, days, 150, seed=9)
    files, half = Files(tmp_path), found["at"] < midnight(first + timedelta(2))
    files.add(found[half].sample(frac=1, random_state=2), midnight(first + timedelta(2)))
    files.add(found[~half].sample(frac=1, random_state=3), midnight(first + timedelta(days + 1)))
    files.add(found.head(0), midnight(first + timedelta(days + 1, 1)))
    how = HOW | {"start": "2026-10-23T00:00+02:00"}
    released = private_decaying_sums(
        files.stream(elsewhere, COLUMNS), DAILY, lateness="1d", clock=files.clock(elsewhere),
        buckets=2, **how,
    )  # fmt: skip
    written(released, tmp_path)
    values = matrix(elsewhere.read.parquet(str(tmp_path / "released")).toPandas(), KEYS)
    ordered = in_order(elsewhere, found)
    totals = by_hand(ordered, first, days)
    np.testing.assert_array_equal(values, DAILY.start(HOW["noise"]).run(totals))
    assert (totals != by_hand(ordered, first, days, lambda day: 0)).any()  # the limits are renewed


# Without Spark -------------------------------------------------------------------------------

CALENDARS = [
    calendar("2026-10-01T00:00+02:00", "day Europe/Berlin", steps=60),
    calendar("2026-02-01T00:00+01:00", "month Europe/Berlin", steps=12),
    calendar("2026-03-22T23:00Z", "week Europe/Berlin", steps=40),
    calendar("2011-12-20T10:00Z", "day Pacific/Apia", steps=20),  # a date was skipped
    calendar("2018-10-30T03:00Z", "day America/Sao_Paulo", steps=20),  # a midnight was skipped
]


def test_slots_find_the_step_and_its_end_at_every_bound():
    for steps in CALENDARS:
        bounds = microseconds(steps)
        for width in (86_400 * 10**6, 10**9 + 7, 10**13):
            places, following = slots(bounds, width)
            for time in {int(b) + gap for b in bounds for gap in (-1, 0, 1)}:
                if not bounds[0] <= time < bounds[-1]:
                    continue
                slot = (time - int(bounds[0])) // width
                passed = int(np.sum(following[slot] <= time))
                step = int(steps.places(np.array([time * 1000]))[0])
                assert places[slot] + passed == step, (steps.step, width, time)
                assert following[slot][passed] == bounds[step + 1], (steps.step, width, time)


def test_a_calendar_step_closes_exactly_at_its_end():
    for steps in CALENDARS:
        clock, ends = clock_of(steps), microseconds(steps)[1:] // 1000
        for closed, end in enumerate(ends.tolist()):
            assert clock.timer(closed) == end - 1
            assert clock.ended(end - 1) <= closed < clock.ended(end)
        assert clock.timer(len(ends)) is None
        assert clock.ended(0) == 0
        assert clock.ended(int(ends[-1]) * 9) == len(ends)


def test_periods_begin_with_the_first_step_that_begins_in_them():
    hours = Calendar(0, 7 * 3600 * 10**9, True, 500)
    for order in (hours, *CALENDARS):
        for period in ("day Europe/Berlin", "week UTC", "month Asia/Tokyo"):
            periods, unit = Periods.of(period, order), Person(period=period, steps=1)
            numbers = periods.of_steps(np.arange(order.steps))
            firsts = [0, *(np.flatnonzero(np.diff(numbers)) + 1)]
            assert periods.first_steps().tolist() == firsts, (order.step, period)
            limits = PersonLimits.of(unit, order)
            for step in range(order.steps):
                since = limits.since(step)
                assert numbers[since] == numbers[step], (order.step, period, step)
                assert since == 0 or numbers[since - 1] < numbers[step], (order.step, period, step)


def test_months_of_berlin_have_these_lengths_in_hours():
    lengths = np.diff(microseconds(CALENDARS[1])) // (3600 * 10**6)
    days = [28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31]
    clocks = [0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]  # March loses an hour, October gains one
    assert lengths.tolist() == [24 * day + hour for day, hour in zip(days, clocks, strict=True)]


def test_other_bounds_of_steps_or_periods_are_another_job():
    """As after an update of the time zones: the same noise must not meet other totals."""
    dates = Dates("day Europe/Berlin", True)
    steps = LocalCalendar(dates, dates.containing(CALENDARS[0].start), 60)
    moved = LocalCalendar(dates, steps.first, 60)
    moved.__dict__["begins"] = steps.begins + 3600 * 10**9 * (np.arange(61) == 40)
    assert streams._steps(steps) == streams._steps(CALENDARS[0])
    assert streams._steps(steps) != streams._steps(moved)
    hours = Calendar(steps.start, 3600 * 10**9, True, 1500)
    assert streams._steps(hours) == (steps.start, 3600 * 10**9, 1500)  # as in older checkpoints
    known = [streams._limits(PersonLimits.of(unit, hours)) for unit in (
        Person(period="week Europe/Berlin", steps=2), Person(period="week UTC", steps=2),
        Person(period="day UTC", steps=2), Person(within=2), Person(steps=2),
    )]  # fmt: skip
    assert len(set(known)) == len(known)
    assert known[3:] == [(1, 1, 1, "step"), (1, 2, 1)]  # as in older checkpoints
