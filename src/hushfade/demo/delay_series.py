"""The mean delay of departures and its 90th percentile, by day and airport, under one guarantee.

Both are about the departures of the last 7 days.  A cancelled departure has no delay and is left
out.  `plan_together` divides the guarantee between both series.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property

import numpy as np

from hushfade import duration
from hushfade.check import Matrix
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.decays import SlidingWindow
from hushfade.demo.flights import AIRPORTS, GUARANTEE, departures
from hushfade.planning.joint_plans import JointPlan, plan_together
from hushfade.planning.plan import Plan
from hushfade.planning.series import Series as PlannedSeries
from hushfade.public.statistics import Mean, Quantiles, Statistic
from hushfade.records import Columns, Reader, Timed, tables, tally
from hushfade.records.arrow import Table
from hushfade.records.calendar import calendar
from hushfade.releases.rows import released_rows
from hushfade.releases.statistic_rows import StatisticRows

DAYS = 7
# Declared without looking at the data: half an hour early to almost four hours late, in bins of 4
# minutes.  The bounds end in .5, so no whole minute is an edge.
LOW, HIGH, BINS = -31.5, 224.5, 64
PERCENTILE = 0.9
_NAMES = ("mean delay", "90th percentile of the delay")
WEIGHTS = (1.0, 9.0)  # a percentile needs more of the guarantee than a mean


@dataclass(frozen=True)
class DelaySeries:
    """A released statistic of each airport by day, and the true values of these public data."""

    name: str
    plan: Plan
    calendar: Timed
    rows: tuple[StatisticRows, ...]  # all days, in pieces
    truth: Matrix  # (days, airports)

    @cached_property
    def released(self) -> tuple[Matrix, Matrix, Matrix]:
        """Value, and lower and upper end of the 95 % interval, (days, airports)."""
        pieces = zip(*(rows.series(0.95) for rows in self.rows), strict=True)
        value, lower, upper = (np.concatenate(piece) for piece in pieces)
        return value, lower, upper

    @property
    def ends(self) -> list[datetime]:
        """The end of each day."""
        return [self.calendar.end(day + 1) for day in range(len(self.truth))]

    @property
    def inside(self) -> float:
        """The share of the intervals that contain the true value."""
        _, lower, upper = self.released
        return float(np.mean((lower <= self.truth) & (self.truth <= upper)))

    @property
    def half_width(self) -> float:
        """Half of the median width of an interval after the first week, in minutes."""
        _, lower, upper = self.released
        return float(np.median((upper - lower)[DAYS:])) / 2.0


@dataclass(frozen=True)
class Delays:
    """Both series, and their joint plan."""

    joint: JointPlan
    mean: DelaySeries
    percentile: DelaySeries


def delays(noise: NoiseSource | None = None) -> Delays:
    """The mean delay and the 90th percentile of each airport: one record is one departure."""
    joint = _plans()
    flights = departures()
    truths = _truth(flights)
    mean, percentile = (
        _released(name, plan, flights, truth, noise)
        for name, plan, truth in zip(_NAMES, joint.plans, truths, strict=True)
    )
    return Delays(joint, mean, percentile)


@cache
def _plans() -> JointPlan:
    statistics: tuple[Statistic, Statistic] = (
        Mean(LOW, HIGH),
        Quantiles([PERCENTILE], LOW, HIGH, bins=BINS, levels=2),
    )
    week, keys = SlidingWindow(length=DAYS), tuple(AIRPORTS)
    return plan_together(
        [
            PlannedSeries(decay=week, statistic=statistic, keys=keys, every="1d", name=name)
            for name, statistic in zip(_NAMES, statistics, strict=True)
        ],
        GUARANTEE,
        weights=WEIGHTS,
    )


def _released(
    name: str, plan: Plan, flights: Table, truth: Matrix, noise: NoiseSource | None
) -> DelaySeries:
    columns = Columns(value="delay", time="hour", key="origin")
    year = calendar("2013-01-01", duration.nanoseconds("1d"), end="2014-01-01")
    reader = Reader(plan, columns, year, skip_empty=True)
    totals = tally(tables(flights, columns), reader).totals
    pieces = released_rows(plan.start(noise), totals, year)
    rows = tuple(piece for piece in pieces if isinstance(piece, StatisticRows))
    return DelaySeries(name, plan, year, rows, truth)


def _truth(flights: Table) -> tuple[Matrix, Matrix]:
    """The mean and the percentile of the delays of the last 7 days, both (days, airports)."""
    flown = flights.filter(flights["delay"].is_valid())
    days = flown["hour"].to_numpy().astype("datetime64[D]")
    day = (days - np.datetime64("2013-01-01")).astype(np.int64)
    origin = np.asarray(flown["origin"].to_numpy(), dtype=np.str_)
    delay = np.clip(flown["delay"].to_numpy().astype(np.float64), LOW, HIGH)
    means, percentiles = np.empty((365, len(AIRPORTS))), np.empty((365, len(AIRPORTS)))
    for place, airport in enumerate(AIRPORTS):
        own = origin == airport
        order = np.argsort(day[own], kind="stable")
        its_day, its_delay = day[own][order], delay[own][order]
        for last in range(365):
            first, end = np.searchsorted(its_day, [last - DAYS + 1, last + 1])
            week = np.sort(its_delay[first:end])
            means[last, place] = week.mean()
            # the smallest delay with at least this share of the records at or below it
            percentiles[last, place] = week[int(np.ceil(PERCENTILE * len(week) - 1e-9)) - 1]
    return means, percentiles
