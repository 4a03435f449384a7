"""Draws the pictures of the documentation: the demo's series, and one picture of each kind.

The noise has a seed, so the pictures are reproducible.  The flights are public data.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np

import hushfade as hf
from hushfade import demo, plots
from hushfade.public.statistics import LaneStatistic
from hushfade.records import Columns, Reader, batches, tally
from hushfade.records.calendar import calendar
from hushfade.releases.rows import released, released_rows
from hushfade.releases.statistic_rows import StatisticRows
from lab.paths import IMAGES

SEED = hf.UnsafeSeededNoise(2013)
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
DAY = hf.Exponential(half_life=24)


def main() -> None:
    """Draw all pictures."""
    late = demo.late(SEED)
    draw_flights(late, slice(24 * 32, 24 * 46), "landing.png", keys=["JFK"])
    draw_flights(late, slice(23, None, 24), "flights-year.png")
    draw_delays()
    draw_cancelled()
    draw_statistics()
    plan = hf.plan(DAY, ONE)
    plots.write(plots.overview(plan), IMAGES / "plan-overview.png")
    plots.write(plots.weights(plan), IMAGES / "plan-weights.png")
    plots.write(plots.privacy(ONE), IMAGES / "privacy.png")
    ages = {
        "noise on the inputs": hf.plan(DAY, ONE, method="input"),
        "between the inputs and the square root": hf.plan(DAY, ONE, method="blend"),
        "the square root": hf.plan(DAY, ONE, method="square_root"),
    }
    plots.write(plots.privacy_by_age(ages), IMAGES / "privacy-by-age.png")
    plans = {
        "an hour's memory of a day": plan,
        "the last week": hf.plan(hf.SlidingWindow(168), ONE),
        "a long memory": hf.plan(hf.PowerLaw(1), ONE),
        "twice the budget": hf.plan(DAY, hf.Guarantee(epsilon=2, delta=1e-6)),
    }
    plots.write(plots.plans(plans), IMAGES / "plans.png")
    print(f"written: pictures in {IMAGES.name}")


def draw_flights(
    late: demo.Series, which: slice, name: str, keys: Sequence[str] | None = None
) -> None:
    """Draw late departures of some airports, or of all, and the true values."""
    assert late.rows.ends is not None
    assert late.plan.keys is not None
    chosen = list(late.plan.keys if keys is None else keys)
    columns = [list(late.plan.keys).index(key) for key in chosen]
    values, margin = late.rows.values[which][:, columns], late.rows.margins(0.95)[which][:, None]
    figure = plots.series(
        late.rows.ends[which].astype("datetime64[ns]").astype("datetime64[s]").tolist(),
        values,
        lower=values - margin,
        upper=values + margin,
        keys=chosen,
        decay=late.plan.decay,
        guarantee=late.plan.guarantee,
        label="late departures",
        truth=late.truth[which][:, columns],
        time_label="2013, local time",
    )
    plots.write(figure, IMAGES / name)


def draw_delays() -> None:
    """Draw minutes of delay by airport, as in the page on the command line."""
    plan = hf.plan(DAY, ONE, low=0, high=60, keys=["EWR", "JFK", "LGA"])
    columns = Columns(value="delay", time="hour", key="origin")
    year = calendar("2013-01-01", 3600 * 10**9, end="2014-01-01")
    reader = Reader(plan, columns, year, skip_empty=True)
    totals = tally(batches(demo.flights.PACKED, columns), reader).totals
    pieces = list(released(plan.start(SEED), totals, year))
    ends = np.concatenate([piece.ends for piece in pieces if piece.ends is not None])
    values = np.concatenate([piece.values for piece in pieces])
    margin = np.concatenate([piece.margins(0.95) for piece in pieces])[:, None]
    figure = plots.series(
        ends.astype("datetime64[ns]").astype("datetime64[s]").tolist(),
        values,
        lower=values - margin,
        upper=values + margin,
        keys=plan.keys,
        decay=plan.decay,
        guarantee=plan.guarantee,
        label="minutes of delay",
        time_label="2013, local time",
    )
    plots.write(figure, IMAGES / "delays.png")


def draw_cancelled() -> None:
    """Cancelled departures by day, as the tutorial in Python releases them."""
    plan = hf.plan(hf.Exponential(half_life=7), ONE, resolution=1, every="1d")
    totals = np.zeros(365, dtype=np.int64)
    for line in demo.events().decode().splitlines()[1:]:
        hour, _, delay = line.split(",")
        if not delay:
            totals[date.fromisoformat(hour[:10]).timetuple().tm_yday - 1] += 1
    days = np.arange("2013-01-02", "2014-01-02", dtype="datetime64[D]").tolist()
    values, margin = plan.start(SEED).run(totals), plan.margins(365, 0.95)
    figure = plots.series(
        days,
        values,
        lower=values - margin,
        upper=values + margin,
        decay=plan.decay,
        guarantee=plan.guarantee,
        label="cancelled departures",
        time_label="2013",
    )
    plots.write(figure, IMAGES / "cancelled.png")


def draw_statistics() -> None:
    """The statistics of flights that the how-to pages publish, with the labels of these pages."""
    airports = ("EWR", "JFK", "LGA")
    draw_statistic(
        hf.Mean(low=-30, high=180), "delay", airports, "statistics-mean.png",
        "mean delay of the last 7 days, minutes",
    )  # fmt: skip
    draw_statistic(
        hf.Share(of="JFK"), "origin", None, "statistics-share.png",
        "share of departures from Kennedy, last 7 days",
    )  # fmt: skip
    draw_statistic(
        hf.Quantiles([0.5, 0.9], -31.5, 224.5, expect=6000), "delay", None,
        "statistics-percentiles.png", "delay in the last 7 days, minutes",
    )  # fmt: skip
    draw_statistic(
        hf.Histogram([-30, 0, 15, 60, 180]), "delay", None, "statistics-histogram.png",
        "departures by minutes of delay",
    )  # fmt: skip


def draw_statistic(
    statistic: LaneStatistic, value: str, keys: tuple[str, ...] | None, name: str, label: str
) -> None:
    """A statistic of the departures in June 2013, over the last 7 days."""
    week = hf.SlidingWindow(length=7)
    plan = hf.plan(week, ONE, statistic=statistic, keys=keys, every="1d")
    columns = Columns(value=value, time="hour", key=None if keys is None else "origin")
    june = calendar("2013-06-01", 86400 * 10**9, end="2013-07-01")
    reader = Reader(plan, columns, june, skip_empty=True)
    totals = tally(batches(demo.flights.PACKED, columns), reader).totals
    (rows,) = released_rows(plan.start(SEED), totals, june)
    assert isinstance(rows, StatisticRows)
    assert rows.ends is not None
    assert plan.statistic is not None
    figure = plots.statistic_series(
        rows.ends.astype("datetime64[ns]").astype("datetime64[s]").tolist(),
        *rows.series(0.95),
        statistic=plan.statistic,
        keys=keys,
        decay=plan.decay,
        guarantee=plan.guarantee,
        label=label,
    )
    plots.write(figure, IMAGES / name)
