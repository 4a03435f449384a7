"""docs/results/statistics.md: do intervals of statistics cover, how wide are they, what is gained.

Every series is simulated: its records are random, its noise comes from a fixed seed, and the truth
is known.  The keys of one plan are the series, because keys have independent noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hushfade as hf
from dev.progress import progress
from dev.tables.page import table, write
from hushfade.check import Column, Matrix
from hushfade.decay import Decay
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.public.statistics import LaneStatistic
from hushfade.public.statistics.lane_margins import lane_margins
from hushfade.public.statistics.readings import Readings

GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)
CONFIDENCE = 0.95
COUNTS = (1, 10, 100, 10_000)
SETS, COPIES, STEPS = 100, 100, 7  # sets of records, series of each, steps
LAWS: dict[LawName, Decay] = {
    "laplace": hf.SlidingWindow(length=7),
    "huber": hf.Exponential(half_life=60),
    "gaussian": hf.Exponential(half_life=60),
}
STATISTICS: dict[str, LaneStatistic] = {
    "mean": hf.Mean(low=0, high=1),
    "share": hf.Share(),
    "variance": hf.Variance(low=0, high=1),
    "histogram": hf.Histogram(np.linspace(0, 1, 9)),
    "quantiles .5, .9": hf.Quantiles([0.5, 0.9], 0, 1, bins=32),
    "quantiles, 2 levels": hf.Quantiles([0.5, 0.9], 0, 1, bins=64, levels=2),
}

PAGE = """\
# Statistics

Written by `python -m dev.tables statistics`.  Every number comes from simulated series with a known
truth, under epsilon = 1 and delta = 1e-6.  Records are beta-distributed on [0, 1], with other
parameters in each of {sets} sets of records.  Each set is released {copies} times with independent
noise, so a cell of the tables has {series} series.  They are read at step {steps}.
The laws are Laplace noise on the inputs of a window of 7 steps, Huber noise on a blend and Gaussian
noise on the square root, both with a half-life of 60 steps.

## Coverage of 95 % intervals

The share of intervals that contain the true value.  The binomial error of a cell is
{error:.2f} % (one standard deviation).  Histograms and quantiles have several values per series,
and the cell is their mean.  The intervals of variances and quantiles are conservative by
construction: see [decision 31](../decisions/0031-statistics-as-lanes.md).  Intervals of counts on a
grid of 1 under Laplace noise are conservative too, because the noise has atoms.

{coverage}

The smallest cell is {least:.2f} %.

## Widths against an oracle

The median width of an interval over the median width of an oracle's interval.  The oracle sees the
same lanes and knows the true count, and for a variance the true mean too.

{widths}

The share of intervals that are the whole range, in percent, where records are few:

{whole}

## Against two separate plans

The standard error of a mean, over the standard error of other ways to spend the same guarantee,
where the count is large: the error of the ratio is then linear in the noise.  *Two plans*: one for
the sum and one for the count, planned together.  *Around the middle*: the same with records minus
the middle of the range, which halves the change of the sum (the bounded mean of Google's library).
Both are planned by `plan_together`, which chooses their laws.  A share is the mean of zeros and
ones.

{separate}

The largest ratio to two separate plans is {largest:.2f}; at most .75 is required.
"""


@dataclass(frozen=True)
class Case:
    """Simulated series of one statistic: what was released, and the truth of each series."""

    statistic: LaneStatistic
    readings: Readings
    truth: Matrix  # (series,) or (series, outputs)
    counts: Column  # the true decayed count of each series
    means: Column  # of the records between 0 and 1


def main() -> None:
    """Computes and writes the page: some minutes."""
    coverage, widths, whole = [], [], []
    least = 1.0
    for name, statistic in STATISTICS.items():
        for law in LAWS:
            covered, wide, full = [], [], []
            for count in COUNTS:
                case = _case(statistic, law, count)
                lower, upper = (end[0] for end in case.readings.interval(CONFIDENCE))
                inside = (lower - 1e-9 <= case.truth) & (case.truth <= upper + 1e-9)
                covered.append(float(np.mean(inside)))
                oracle = _oracle(case)
                if oracle is not None:
                    wide.append(float(np.median(upper - lower) / np.median(oracle)))
                low, high = statistic.range
                full.append(float(np.mean((lower <= low) & (upper >= high))))
            least = min(least, *covered)
            coverage.append([name, law, *(f"{100 * share:.2f}" for share in covered)])
            if wide:
                widths.append([name, law, *(f"{ratio:.2f}" for ratio in wide)])
                whole.append([name, law, *(f"{100 * share:.0f}" for share in full[:2])])
            progress(f"{name}, {law}: {covered}")
    separate, largest = _separate()
    heads = ["statistic", "law", *(f"{count} per step" for count in COUNTS)]
    write(
        "results/statistics.md",
        PAGE.format(
            sets=SETS, copies=COPIES, series=SETS * COPIES, steps=STEPS,
            error=100 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / (SETS * COPIES)),
            coverage=table(heads, coverage), least=100 * least,
            widths=table(heads, widths), whole=table(heads[:4], whole),
            separate=separate, largest=largest,
        ),
    )  # fmt: skip


def _plan(statistic: LaneStatistic | hf.Sum | hf.Count, law: LawName, keys: int | None) -> Plan:
    names = None if keys is None else [str(key) for key in range(keys)]
    return hf.plan(LAWS[law], GUARANTEE, statistic=statistic, law=law, keys=names)


def _records(statistic: LaneStatistic, rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Records of one set, (steps, count)."""
    a, b = rng.uniform(0.3, 4.0, 2)
    drawn = rng.beta(a, b, (STEPS, count))
    return drawn < rng.uniform(0.1, 0.9) if statistic.kind == "truths" else drawn


def _case(statistic: LaneStatistic, law: LawName, count: int) -> Case:
    rng = np.random.default_rng([count, len(statistic.parts)])
    alone, plan = _plan(statistic, law, None), _plan(statistic, law, SETS * COPIES)
    weights = np.repeat(plan.decay.weights(STEPS)[::-1], count)
    totals, truths, means = [], [], []
    for _ in range(SETS):
        records = _records(statistic, rng, count)
        totals.append(np.array([alone.grid.record_sums(step) for step in records]))
        if statistic.kind == "grid":
            records = alone.grid.quantise(records)
        truths.append(_truth(statistic, records.reshape(-1).astype(np.float64), weights))
        means.append(float(np.average(records.reshape(-1), weights=weights)))
    lanes = np.repeat(np.array(totals), COPIES, axis=0)  # (series, steps, parts)
    units = np.ascontiguousarray(lanes.transpose(1, 0, 2)).reshape(STEPS, -1)
    released = plan.start(hf.UnsafeSeededNoise(count)).run_units(units)
    steps = np.array([STEPS], dtype=np.int64)
    readings = plan.readings(released[-1:], steps)
    counts = np.full(SETS * COPIES, weights.sum())
    truth = np.repeat(np.array(truths), COPIES, axis=0)
    return Case(statistic, readings, truth, counts, np.repeat(means, COPIES))


def _truth(statistic: LaneStatistic, records: Column, weights: Column) -> Any:
    mean = np.average(records, weights=weights)
    match statistic:
        case hf.Mean() | hf.Share():
            return mean
        case hf.Variance():
            return np.average((records - mean) ** 2, weights=weights)
        case hf.Histogram():
            return np.histogram(records, statistic.edges, weights=weights)[0]
        case hf.Quantiles():
            order = np.argsort(records)
            below = np.cumsum(weights[order]) / np.sum(weights)
            places = np.searchsorted(below, np.array(statistic.quantiles) - 1e-12)
            return records[order][np.minimum(places, len(order) - 1)]
    raise TypeError(statistic.name)


def _oracle(case: Case) -> Matrix | None:
    """The widths of intervals that use the true count; None where the count does not matter."""
    readings, statistic = case.readings, case.statistic
    margins = lane_margins(
        readings.errors, readings.steps, readings.stddevs * readings.scale, CONFIDENCE,
        readings.scale,
    )  # fmt: skip
    match statistic:
        case hf.Mean() | hf.Share():  # half of up and half of count minus down
            margin = float(margins.of(np.array([[0.5, -0.5]]))[0])
        case hf.Variance():
            mean = float(np.mean(case.means))
            weights = np.array([[mean**2, mean**2 - mean, (1 - mean) ** 2]])
            margin = float(margins.of(weights - weights.mean())[0])  # their sum is known
        case _:
            return None
    low, high = statistic.range
    return np.minimum(2 * margin / case.counts, high - low)


def _separate() -> tuple[str, float]:
    """The errors of means against two plans, and the largest ratio."""
    rows, largest = [], 0.0
    for decay in (
        hf.SlidingWindow(length=7),
        hf.Exponential(half_life=24),
        hf.Exponential(half_life=60),
    ):
        steps = 1000
        one = hf.plan(decay, GUARANTEE, statistic=hf.Mean(low=0, high=1))
        lane = one.max_stddev(steps)
        whole, halves = (
            hf.plan_together(
                [
                    hf.Series(decay=decay, low=low, high=high),
                    hf.Series(decay=decay, resolution=1.0),
                ],
                GUARANTEE,
            )
            for low, high in ((0.0, 1.0), (-0.5, 0.5))
        )
        for mean in (0.1, 0.5, 0.9):
            ours = lane * math.hypot(1 - mean, mean)
            two = math.hypot(whole.errors[0], mean * whole.errors[1])
            middle = math.hypot(halves.errors[0], (mean - 0.5) * halves.errors[1])
            largest = max(largest, ours / two)
            laws = " and ".join(made.law.name for made in whole.plans)
            rows.append(
                [f"`{decay!r}`", f"{mean:g}", f"{ours / two:.2f}", f"{ours / middle:.2f}", laws]
            )
    heads = ["decay", "true mean", "to two plans", "to around the middle", "laws of the two plans"]
    return table(heads, rows), largest
