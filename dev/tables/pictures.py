"""Draws the pictures of the documentation: the demo's series, and one of each kind of picture.

The noise has a seed, so that the pictures stay the same.  The flights are public data.
"""

from __future__ import annotations

import numpy as np

import hushfade as hf
from dev.paths import IMAGES
from hushfade import demo, plots
from hushfade.records import Columns, Reader, batches, tally
from hushfade.records.calendar import calendar
from hushfade.releases.rows import released

SEED = hf.UnsafeSeededNoise(2013)
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
DAY = hf.Exponential(half_life=24)


def main() -> None:
    """All of them."""
    late = demo.late(SEED)
    draw_flights(late, slice(24 * 32, 24 * 46), "flights.png")
    draw_flights(late, slice(23, None, 24), "flights-year.png")
    draw_delays()
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


def draw_flights(late: demo.Series, which: slice, name: str) -> None:
    """Late departures, beside the truth."""
    assert late.rows.ends is not None
    figure = plots.series(
        late.rows.ends[which].astype("datetime64[ns]").astype("datetime64[s]").tolist(),
        late.rows.values[which],
        late.rows.stddevs[which],
        keys=late.plan.keys,
        decay=late.plan.decay,
        guarantee=late.plan.guarantee,
        label="late departures",
        truth=late.truth[which],
        time_label="2013, local time",
    )
    plots.write(figure, IMAGES / name)


def draw_delays() -> None:
    """Minutes of delay by airport, as the page on the command line releases them."""
    plan = hf.plan(DAY, ONE, low=0, high=60, keys=["EWR", "JFK", "LGA"])
    columns = Columns(value="delay", time="hour", key="origin")
    year = calendar("2013-01-01", 3600 * 10**9, end="2014-01-01")
    reader = Reader(plan, columns, year, skip_empty=True)
    totals = tally(batches(demo.flights.PACKED, columns), reader).totals
    pieces = list(released(plan.start(SEED), totals, year))
    ends = np.concatenate([piece.ends for piece in pieces if piece.ends is not None])
    figure = plots.series(
        ends.astype("datetime64[ns]").astype("datetime64[s]").tolist(),
        np.concatenate([piece.values for piece in pieces]),
        np.concatenate([piece.stddevs for piece in pieces]),
        keys=plan.keys,
        decay=plan.decay,
        guarantee=plan.guarantee,
        label="minutes of delay",
        time_label="2013, local time",
    )
    plots.write(figure, IMAGES / "delays.png")
