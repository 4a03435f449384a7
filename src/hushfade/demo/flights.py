"""Departures from the airports of New York in 2013: events, plan, releases, and the truth.

late          more than 15 minutes late, each hour, half-life 24 hours, by airport
cancelled     in the last 7 days, each day, all airports together
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hushfade import duration
from hushfade.check import Matrix
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.decays import Decay, Exponential, SlidingWindow
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee
from hushfade.records import Columns, Reader, Timed, tables, tally
from hushfade.records.arrow import Table, compute, pa, part
from hushfade.records.calendar import calendar
from hushfade.releases.files import Rows
from hushfade.releases.rows import released

PACKED = Path(__file__).parent / "flights.csv.gz"
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
LATE = 15  # minutes

GUARANTEE = Guarantee(epsilon=1, delta=1e-6, neighbours="add_remove")


@dataclass(frozen=True)
class Series:
    """A released series, and the true values, which it shows only because this data is public."""

    plan: Plan
    calendar: Timed
    rows: Rows
    truth: Matrix

    @property
    def inside(self) -> float:
        """The share of the 95 % confidence intervals that contain the true value."""
        margin = self.rows.margins(0.95)[:, None]
        return float(np.mean(np.abs(self.rows.values - self.truth) <= margin))

    @property
    def share_of_the_paper(self) -> float:
        """The largest error, divided by the error of the paper's mechanism for this guarantee."""
        made, steps = self.plan, len(self.truth)
        grid = made.grid
        other = plan(
            made.decay,
            made.guarantee,
            low=grid.low,
            high=grid.high,
            keys=grid.keys,
            resolution=grid.resolution,
            method="square_root",
        )
        return made.max_stddev(steps) / other.max_stddev(steps)


def events() -> bytes:
    """The events as CSV: hour, origin, delay in minutes, empty if the flight was cancelled."""
    return gzip.decompress(PACKED.read_bytes())


def late(noise: NoiseSource | None = None) -> Series:
    """Late departures of each airport: one record is one departure."""
    made = plan(Exponential(half_life=24), GUARANTEE, keys=AIRPORTS, resolution=1)
    flights = departures()
    rows = flights.filter(compute.greater(flights["delay"], LATE))  # empty is not late
    return _series(made, rows, Columns(time="hour", key="origin"), "1h", noise)


def cancelled(noise: NoiseSource | None = None) -> Series:
    """Cancelled departures of the last 7 days, all airports together."""
    made = plan(SlidingWindow(length=7), GUARANTEE, resolution=1)
    flights = departures()
    rows = flights.filter(compute.is_null(flights["delay"]))
    return _series(made, rows, Columns(time="hour"), "1d", noise)


def _series(
    made: Plan, events: Table, columns: Columns, every: str, noise: NoiseSource | None
) -> Series:
    year = calendar("2013-01-01", duration.nanoseconds(every), end="2014-01-01")
    totals = tally(tables(events, columns), Reader(made, columns, year)).totals
    pieces = list(released(made.start(noise), totals, year))
    (steps, ends, values, stddevs) = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("steps", "ends", "values", "stddevs")
    )
    rows = Rows(steps, ends, values, stddevs, made.errors)
    truth = _decayed(made.decay, np.asarray(totals * made.grid.resolution))
    return Series(made, year, rows, truth)


def departures() -> Table:
    """The events as a table."""
    read = part("csv")
    kinds = {"hour": pa.timestamp("s"), "origin": pa.string(), "delay": pa.int64()}
    return read.read_csv(
        pa.BufferReader(events()), convert_options=read.ConvertOptions(column_types=kinds)
    )


def _decayed(decay: Decay, totals: Matrix) -> Matrix:
    """The true decayed sums, one column per key."""
    from scipy.signal import fftconvolve

    weights = decay.weights(len(totals))[:, None]
    return np.asarray(fftconvolve(totals, weights, axes=0)[: len(totals)])
