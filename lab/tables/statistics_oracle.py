"""Intervals of an oracle that sees the released lanes and knows the true count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import hushfade as hf
from hushfade.check import Column, Matrix
from hushfade.public.statistics import LaneStatistic
from hushfade.public.statistics.lane_margins import LaneMargins, lane_margins
from hushfade.public.statistics.readings import Readings

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Case:
    """Simulated series of one statistic: what was released, and the truth of each series."""

    statistic: LaneStatistic
    readings: Readings
    truth: Matrix  # (series,) or (series, outputs)
    counts: Column  # the true decayed count of each series
    means: Column  # of the records between 0 and 1; of a ratio's denominators
    lanes: Matrix  # the true decayed lanes, (series, lanes)


def oracle_widths(case: Case) -> Matrix | None:
    """The widths of the oracle's intervals; None where the count does not matter."""
    readings, statistic = case.readings, case.statistic
    margins = lane_margins(
        readings.errors, readings.steps, readings.stddevs * readings.scale, CONFIDENCE,
        readings.scale,
    )  # fmt: skip
    counts = case.counts
    match statistic:
        case hf.Mean() | hf.Share():  # half of up and half of count minus down
            margin = float(margins.of(np.array([[0.5, -0.5]]))[0])
        case hf.Variance():
            mean = float(np.mean(case.means))
            weights = np.array([[mean**2, mean**2 - mean, (1 - mean) ** 2]])
            margin = float(margins.of(weights - weights.mean())[0])  # their sum is known
        case hf.Ratio():  # the numerator over the known denominator
            margin = float(margins.single[0])
            counts = counts * case.means
        case hf.Quantiles():
            return _quantile_widths(case, statistic, margins)
        case _:
            return None
    low, high = statistic.range
    return np.minimum(2 * margin / counts, high - low)


def _quantile_widths(case: Case, statistic: hf.Quantiles, margins: LaneMargins) -> Matrix:
    """With a known count n a rank is (records below) + share · (n - counted), by least squares.

    `share` is the share of the bins below the edge.
    """
    tree, edges = statistic.tree, np.array(statistic.edges)
    share = np.linspace(0.0, 1.0, len(edges))
    moments = [tree.rank_moments(float(one)) for one in share]
    energy, fourth, largest = (
        np.array([getattr(one, name)[place] for place, one in enumerate(moments)])[None]
        for name in ("energy", "fourth", "largest")
    )
    margin = margins.of_moments(energy, fourth, largest)
    below = tree.below(case.readings.lanes[0])
    ranks = below + share * (case.counts[:, None] - below[:, -1:])
    widths = np.empty((len(ranks), len(statistic.quantiles)))
    for place, quantile in enumerate(statistic.quantiles):
        excess = ranks - quantile * case.counts[:, None]
        may_reach, may_lack = excess >= -margin, excess < margin
        may_reach[:, 0], may_reach[:, -1] = False, True
        may_lack[:, 0], may_lack[:, -1] = True, False
        first = np.argmax(may_reach, axis=1)
        last = len(edges) - 1 - np.argmax(may_lack[:, ::-1], axis=1)
        widths[:, place] = np.abs(edges[last + 1] - edges[first - 1])
    return widths
