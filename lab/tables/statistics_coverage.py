"""docs/results/statistics.md: do intervals of statistics cover, how wide are they, what is gained.

Every series is simulated: its records are random, its noise comes from a fixed seed, and the truth
is known.  The keys of one plan are the series, because keys have independent noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hushfade as hf
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.public.statistics import LaneStatistic
from lab.progress import progress
from lab.tables import statistics_alternatives as alternatives
from lab.tables.page import table, write
from lab.tables.statistics_oracle import CONFIDENCE, Case, oracle_widths

GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)

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
    "ratio": hf.Ratio(numerator=1, denominator=1, most=4),
    "histogram": hf.Histogram(np.linspace(0, 1, 9)),
    "quantiles .5, .9": hf.Quantiles([0.5, 0.9], 0, 1, bins=32),
    "quantiles, 2 levels": hf.Quantiles([0.5, 0.9], 0, 1, bins=64, levels=2),
}

PAGE = """\
# Statistics

Written by `python -m lab.tables statistics`.  Every number comes from simulated series with a known
truth, under epsilon = 1 and delta = 1e-6.  Records are beta-distributed on [0, 1], with other
parameters in each of {sets} sets of records.  Each set is released {copies} times with independent
noise, so a cell of the tables has {series} series.  They are read at step {steps}.
The laws are Laplace noise on the inputs of a window of 7 steps, Huber noise on a blend and Gaussian
noise on the square root, both with a half-life of 60 steps.

## Coverage of 95 % intervals

The share of intervals that contain the true value, in percent.  The binomial error of a cell is
{error:.2f} % (one standard deviation).  Histograms and quantiles have several values per series,
and the cell is their mean.  The intervals of variances and quantiles are conservative by
construction: see [decision 31](../decisions/0031-statistics-as-lanes.md).  Intervals of counts on a
grid of 1 under Laplace noise are conservative too, because the noise has atoms.

{coverage}

The smallest cell is {least:.2f} %.

The same for `release.parts`, the noisy sums behind each value:

{parts}

The smallest cell of the parts is {least_part:.2f} %.  The script
requires every cell to be above 95 % minus five binomial errors.

## Widths against an oracle

The median width of an interval over the median width of an oracle's interval.  The oracle sees the
same lanes and knows the true count.  For a variance it also knows the true mean, and for a ratio
the true denominator.  Its interval is cut to the range of the statistic too.  The interval of a
count in a histogram does not depend on the number of all records, so it has no oracle.

{widths}

For a mean m in [0, 1] of many records the ratio is √(2 (1 - m)² + 2 m²): 1 in the middle of the
range, 1.41 at its ends.  The simulated shares are further from the middle than the means.  The
oracle's interval is not cut where it leaves the range on one side, so a ratio may be below 1.

The share of intervals that are the whole range, in percent, where records are few.  For quantiles
it is the mean over both quantiles.

{whole}

## Against two separate plans

The standard error of a mean or a share, over the standard error of other ways to spend the same
guarantee, where the count is large: the error of the ratio is then linear in the noise.

- *Two plans*: one for the sum and one for the count, planned together by `hf.plan_together`, which
  chooses their laws.  Of three weightings of sum and count (1:1, 2:1, 1:2) the best one counts.
- *Around the middle*: the same with records minus the middle of the range, which halves the change
  of the sum.

{separate}

The largest ratio to two separate plans is {largest:.2f}; at most .75 is required.
Noise around the middle comes close where the true mean is near the middle and the memory is long.

With few records the error of a ratio is not linear.  Root mean square errors of {simulated_copies}
simulated releases of a window of 7, all values cut to [0, 1]:

{simulated}

## Against one-shot releases

Libraries for one-shot queries release a mean in two ways.  *Sum over count* (OpenDP): a noisy sum
of clipped records, over a noisy count.  *Around the middle* (the bounded mean of Google's library):
a noisy sum of records minus the middle of the range, over a noisy count, plus the middle.  Both use
half of the budget for each.  The table computes these two ways for the same guarantee, with the
better of Laplace and Gaussian noise.  It does not run the libraries.  Errors are standard errors
times the count, for records in [0, 1] and a large count.

One release of a record is a query that is made once.  With 7 releases, a new mean of the last 7
steps is published at each step.  Every record is then in 7 releases, which share the budget.

{one_shot}
"""


def main() -> None:
    """Computes and writes the page: some minutes."""
    rows: dict[str, list[list[str]]] = {name: [] for name in ("cover", "parts", "wide", "whole")}
    least = least_part = 1.0
    for name, statistic in STATISTICS.items():
        for law in LAWS:
            cells: dict[str, list[float]] = {kind: [] for kind in rows}
            parts: dict[str, list[float]] = {part: [] for part in statistic.sums}
            for count in COUNTS:
                case = _case(statistic, law, count)
                lower, upper = (end[0] for end in case.readings.interval(CONFIDENCE))
                inside = (lower - 1e-9 <= case.truth) & (case.truth <= upper + 1e-9)
                cells["cover"].append(float(np.mean(inside)))
                oracle = oracle_widths(case)
                if oracle is not None:
                    ratio = np.median(upper - lower, axis=0) / np.median(oracle, axis=0)
                    cells["wide"].append(float(np.mean(ratio)))
                low, high = statistic.range
                cells["whole"].append(float(np.mean((lower <= low) & (upper >= high))))
                for part, covered in parts.items():
                    covered.append(_part_coverage(case, part))
            least = min(least, *cells["cover"])
            rows["cover"].append([name, law, *_percent(cells["cover"])])
            for part, covered in parts.items():
                least_part = min(least_part, *covered)
                rows["parts"].append([f"{part} of {name}", law, *_percent(covered)])
            if cells["wide"]:
                rows["wide"].append([name, law, *(f"{ratio:.2f}" for ratio in cells["wide"])])
                rows["whole"].append([name, law, *(f"{100 * x:.0f}" for x in cells["whole"][:2])])
            progress(f"{name}, {law}: {cells['cover']}")
    error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / (SETS * COPIES))
    assert min(least, least_part) > CONFIDENCE - 5 * error
    separate, largest = alternatives.separate()
    assert largest <= 0.75
    heads = ["statistic", "law", *(f"{count} per step" for count in COUNTS)]
    write(
        "results/statistics.md",
        PAGE.format(
            sets=SETS, copies=COPIES, series=SETS * COPIES, steps=STEPS, error=100 * error,
            coverage=table(heads, rows["cover"]), least=100 * least,
            parts=table(heads, rows["parts"]), least_part=100 * least_part,
            widths=table(heads, rows["wide"]), whole=table(heads[:4], rows["whole"]),
            separate=separate, largest=largest, simulated=alternatives.simulated(),
            simulated_copies=alternatives.COPIES, one_shot=alternatives.one_shot(),
        ),
    )  # fmt: skip


def _percent(shares: list[float]) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _part_coverage(case: Case, part: str) -> float:
    """The share of intervals of a linear part that contain its true value."""
    lower, upper = (end[0] for end in case.readings.sum_interval(part, CONFIDENCE))
    truth = case.lanes @ case.statistic.sums[part]
    near = 1e-9 * (1.0 + np.abs(truth))
    return float(np.mean((lower - near <= truth) & (truth <= upper + near)))


def _plan(statistic: LaneStatistic | hf.Sum | hf.Count, law: LawName, keys: int | None) -> Plan:
    names = None if keys is None else [str(key) for key in range(keys)]
    return hf.plan(LAWS[law], GUARANTEE, statistic=statistic, law=law, keys=names)


def _records(statistic: LaneStatistic, rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Records of one set, (steps, count), or pairs of numbers, (steps, count, 2)."""
    a, b = rng.uniform(0.3, 4.0, 2)
    if statistic.kind == "pairs":
        drawn = np.stack([rng.beta(a, b, (STEPS, count)), rng.beta(2, 2, (STEPS, count))], axis=-1)
        return np.asarray(np.rint(drawn * 1024) / 1024)  # on the grid of a ratio
    drawn = rng.beta(a, b, (STEPS, count))
    return drawn < rng.uniform(0.1, 0.9) if statistic.kind == "truths" else drawn


def _case(statistic: LaneStatistic, law: LawName, count: int) -> Case:
    rng = np.random.default_rng([count, len(statistic.parts)])
    alone, plan = _plan(statistic, law, None), _plan(statistic, law, SETS * COPIES)
    decayed = plan.decay.weights(STEPS)[::-1]
    weights = np.repeat(decayed, count)
    totals, truths, means = [], [], []
    for _ in range(SETS):
        records = _records(statistic, rng, count)
        totals.append(np.array([alone.grid.record_sums(step) for step in records]))
        if statistic.kind == "grid":
            records = alone.grid.quantise(records)
        flat = records.reshape(STEPS * count, -1).astype(np.float64)
        truths.append(_truth(statistic, flat if statistic.kind == "pairs" else flat[:, 0], weights))
        means.append(float(np.average(flat[:, -1], weights=weights)))
    lanes = np.repeat(np.array(totals), COPIES, axis=0)  # (series, steps, parts)
    units = np.ascontiguousarray(lanes.transpose(1, 0, 2)).reshape(STEPS, -1)
    released = plan.start(hf.UnsafeSeededNoise(count)).run_units(units)
    steps = np.array([STEPS], dtype=np.int64)
    readings = plan.readings(released[-1:], steps)
    counts = np.full(SETS * COPIES, weights.sum())
    truth = np.repeat(np.array(truths), COPIES, axis=0)
    exact = np.einsum("t,ktl->kl", decayed, lanes) / alone.grid.lane_units[1]
    return Case(statistic, readings, truth, counts, np.repeat(means, COPIES), exact)


def _truth(statistic: LaneStatistic, records: Column, weights: Column) -> Any:
    if isinstance(statistic, hf.Ratio):
        top, bottom = weights @ records
        return min(top / bottom, statistic.most)
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
