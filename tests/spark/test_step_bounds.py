"""Calendar steps and periods: the same records count in the same steps as on one machine."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
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
from hushfade.spark.limits import PersonLimits, first_of_each, taken
from hushfade.spark.step_bounds import microseconds, slots
from tests.spark.cases import matrix
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


def in_order(found):
    """By time, place of the key, and units: the order in which Spark applies limits per person."""
    lanes = found["key"].map({key: lane for lane, key in enumerate(KEYS)}).fillna(-1)
    units = found["amount"].clip(0, 4) * (lanes >= 0)
    return found.assign(lane=lanes, units=units).sort_values(["at", "lane", "units"])


def by_hand(found, first, days):
    """The totals by Python's own calendar, and limits per person in plain Python."""
    totals, used = np.zeros((days, len(KEYS))), {}
    for row in in_order(found).itertuples():
        day = row.at.to_pydatetime().astimezone(BERLIN).date()
        step = (day - first).days
        if not 0 <= step < days:
            continue
        mine = used.setdefault((row.person, day.isocalendar()[:2]), {})
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
    with pytest.warns(DroppedRecords):
        expected = in_order(found).hushfade.release_events(plan=DAILY, steps=DAYS, **HOW)
    np.testing.assert_array_equal(matrix(released, KEYS), matrix(expected, KEYS))
    totals = by_hand(found, FIRST, DAYS)
    np.testing.assert_array_equal(matrix(released, KEYS), DAILY.start(HOW["noise"]).run(totals))
    assert (totals != by_hand(found.assign(at=found["at"] + pd.Timedelta("1h")), FIRST, DAYS)).any()
    ends = pd.to_datetime(released.sort_values("step")["time"].unique()).tz_localize("Asia/Tokyo")
    assert [end.to_pydatetime() for end in ends] == [
        midnight(FIRST + timedelta(day + 1)) for day in range(DAYS)
    ]
