"""docs/results/quantiles.md: the rank error of released quantiles on public records.

The flights come with hushfade.  The visits to a doctor come with the package statsmodels, which the
extra `bench` installs.  Both are public, so the page may compare releases with the truth.
"""

from __future__ import annotations

import csv
import importlib.resources
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import hushfade as hf
from hushfade import demo, plots
from hushfade.check import Column, Matrix
from hushfade.planning.plan import Plan
from hushfade.planning.quantile_bins import chosen_bins, rank_error
from hushfade.plots import style
from lab.paths import IMAGES
from lab.progress import progress
from lab.tables.page import table, write
from lab.tables.quantile_bin_factors import factor_table, squares_table

GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)
DECAY = hf.SlidingWindow(length=7)
STEPS = 7
ASKED = (0.5, 0.9)
COUNTS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SAMPLES, COPIES = 10, 40  # sets of records for each count, releases of each set
KEYS = tuple(str(copy) for copy in range(COPIES))
CONFIDENCE = 0.95
ALT = (
    "Root mean square rank error of released medians and 90th percentiles against the number of "
    "records, for delays and visits"
)
TITLES = {"delays": "delays of departures", "visits": "visits to a doctor"}


@dataclass(frozen=True)
class Dataset:
    """Public whole numbers, with bounds that put each whole number into the middle of a bin."""

    name: str
    records: Column
    low: float
    high: float

    def asked(self, expect: float | None, bins: int | None = None, levels: int = 1) -> hf.Quantiles:
        """The quantiles to release."""
        return hf.Quantiles(ASKED, self.low, self.high, bins=bins, levels=levels, expect=expect)


@dataclass(frozen=True)
class Measured:
    """What was released about n records, compared with the truth; errors are shares of n."""

    statistic: hf.Quantiles
    errors: Column  # root mean square error of the rank, per quantile
    predicted: float
    covered: float
    width: Column  # the median width of the interval, per quantile


PAGE = """\
# Quantiles

Written by `python -m lab.tables quantiles`.  How far is a released quantile from the true one?  The
*rank error* answers in records: if 52 % of the records lie below a released median, its rank error
is 2 %.  Each cell is the root mean square over {samples} random sets of n records with {copies}
releases each.  The guarantee is epsilon = 1 and delta = 1e-6, the decay is a window of 7 steps, and
each step has n/7 of the records.

## Records

- **Delays** of departures from New York in minutes, {flights} records, which come with hushfade
  ([CC0](https://creativecommons.org/publicdomain/zero/1.0/)).  The declared bounds are -31.5 and
  224.5 minutes.
- **Visits** to a doctor per person and year in the RAND Health Insurance Experiment, {visits}
  records, from the dataset `randhie` of the Python package statsmodels, which states: "This is in
  the public domain."  hushfade does not ship it.  The declared bounds are -0.5 and 63.5 visits.

Both are whole numbers.  The bounds end in .5, so a bin of width 1 has one whole number in its
middle.  Released values are rounded to whole numbers, which costs no privacy.  Ties are then exact:
a value has no error if the wanted rank lies among the records of that value.

## Rank error against count

![{alt}](../images/quantile-ranks.png)

The plan chooses bins and levels for `expect=n`.  *Flat* is the best choice with one level.
*Predicted* is the error that the plan predicts without records, from the noise and from half the
average number of records per bin.  Errors are in percent of n.

{chosen}

With some thousand records most released whole numbers are the true ones.  With 100 records the plan
chooses 8 bins, because it does not know the shape of the distribution.  Both distributions have
most of their records in one of these bins.  A larger `expect` or a fixed number of bins is then
better (below), and narrower bounds are better still.

## Intervals

The share of 95 % intervals that contain the true quantile, in percent, and the median width of an
interval, in minutes or visits.  An interval ends at edges of bins and assumes nothing about the
place of a record within its bin.  So it is conservative, and at least as wide as a bin.

{intervals}

## A wrong expected number

`expect` affects only the choice of bins, never privacy or coverage.  The table has the rank error
in percent of n, mean of both quantiles, if `expect` is ten times too small, right, or ten times too
large.

{expected}

The lowest coverage in all these cases is {least:.1f} %.

## Least squares over the levels

With several levels the same records are counted in large and small bins.  *Fewest counts* adds up
the largest bins below an edge, and smaller ones for the rest.  *Least squares* uses all counts, by
their accuracy.  The noise of the rank of an edge, averaged over all edges, relative to flat bins
with the same guarantee:

{squares}

## Error inside a bin

The choice of bins assumes an error of a factor times the average number of records per bin.  The
table compares factors, over {factors_words}
The smallest mean has the factor that `hf.plan` uses, 0.5.

{factors}
"""


def main() -> None:
    """Computes and writes the page and its picture: some minutes."""
    datasets = [_flights(), _visits()]
    chosen, intervals, expected = [], [], []
    least = 1.0
    drawn: dict[str, list[tuple[int, Measured, Measured]]] = {}
    for data in datasets:
        for count in COUNTS:
            if count > len(data.records):
                continue
            best, flat = (measured(data, count, made) for made in _choices(data, count))
            drawn.setdefault(data.name, []).append((count, best, flat))
            others = [
                measured(data, count, _chosen(data, factor * count)) for factor in (0.1, 10.0)
            ]
            least = min(least, *(one.covered for one in (best, flat, *others)))
            name = [data.name, f"{count:,}"]
            chosen.append([*name, _bins(best), *_percent(best.errors), _bins(flat),
                           *_percent(flat.errors), *_percent([best.predicted])])  # fmt: skip
            intervals.append([*name, f"{100 * best.covered:.1f}", *(f"{w:g}" for w in best.width)])
            means = [np.sqrt(np.mean(one.errors**2)) for one in (others[0], best, others[1])]
            cells = zip(_percent(means), (others[0], best, others[1]), strict=True)
            expected.append([*name, *(f"{error} ({_bins(one)})" for error, one in cells)])
            progress(f"quantiles of {data.name}, {count}: {best}")
    _draw(drawn)
    noises = _noises()
    words, factors = factor_table({data.name: data.records for data in datasets}, noises)
    of = [f"{q:g}" for q in ASKED]
    bins = ["records", "n", "bins", *of, "flat", *(f"{q} flat" for q in of), "predicted"]
    write(
        "results/quantiles.md",
        PAGE.format(
            alt=ALT, samples=SAMPLES, copies=COPIES, flights=f"{len(datasets[0].records):,}",
            visits=f"{len(datasets[1].records):,}", chosen=table(bins, chosen), least=100 * least,
            intervals=table(["records", "n", "covered", *(f"width, {q}" for q in of)], intervals),
            expected=table(["records", "n", "n/10", "n", "10 n"], expected),
            squares=squares_table(noises["window of 7"]), factors=factors, factors_words=words,
        ),
    )  # fmt: skip


def _flights() -> Dataset:
    rows = csv.DictReader(io.StringIO(demo.events().decode()))
    delays = np.array([float(row["delay"]) for row in rows if row["delay"]])
    return Dataset("delays", delays, -31.5, 224.5)


def _visits() -> Dataset:
    """The visits of the RAND experiment; needs the extra `bench`."""
    file = importlib.resources.files("statsmodels") / "datasets" / "randhie" / "randhie.csv"
    rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
    return Dataset("visits", np.array([float(row["mdvis"]) for row in rows]), -0.5, 63.5)


@cache
def _with_levels(levels: int) -> Plan:
    """A plan with this many levels: its noise depends on nothing else."""
    asked = hf.Quantiles(ASKED, 0, 1, bins=2**levels, levels=levels)
    return hf.plan(DECAY, GUARANTEE, statistic=asked, keys=KEYS)


def _plan(statistic: hf.Quantiles) -> Plan:
    made = _with_levels(statistic.levels)
    return replace(made, grid=replace(made.grid, statistic=statistic))


def _chosen(data: Dataset, expect: float) -> Plan:
    return chosen_bins(data.asked(expect), _plan)


def _choices(data: Dataset, count: int) -> tuple[Plan, Plan]:
    """The plan's choice, and the best choice with one level."""
    noise = _with_levels(1).max_stddev(STEPS)
    flat = min(
        (1 << k for k in range(3, 11)),
        key=lambda bins: rank_error(data.asked(count), bins, 1, noise),
    )
    return _chosen(data, count), _plan(data.asked(count, flat))


def measured(data: Dataset, count: int, plan: Plan) -> Measured:
    """Releases of random sets of records, compared with the records."""
    statistic = plan.statistic
    assert isinstance(statistic, hf.Quantiles)
    assert statistic.bins is not None
    rng = np.random.default_rng(count)
    asked = np.array(ASKED)
    errors, covered, widths = [], [], []
    for sample in range(SAMPLES):
        records = rng.choice(data.records, count, replace=False)
        parts = len(statistic.parts)
        totals = np.array(
            [plan.grid.record_sums({KEYS[0]: some})[:parts] for some in np.array_split(records, 7)]
        )
        units = np.tile(totals, (1, COPIES))
        lanes = plan.start(hf.UnsafeSeededNoise(sample)).run_units(units)[-1:]
        readings = plan.readings(lanes, np.array([STEPS], dtype=np.int64))
        ordered = np.sort(np.clip(records, data.low, data.high))
        errors.append(_rank_errors(ordered, np.rint(readings.value[0])))
        truth = ordered[np.ceil(asked * count - 1e-9).astype(np.int64) - 1]
        lower, upper = (end[0] for end in readings.interval(CONFIDENCE))
        covered.append(np.mean((lower <= truth) & (truth <= upper)))
        widths.append(upper - lower)
    noise = plan.max_stddev(STEPS)
    predicted = rank_error(
        replace_expect(statistic, count), statistic.bins, statistic.levels, noise
    )
    return Measured(
        statistic,
        np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0)),
        predicted / count,
        float(np.mean(covered)),
        np.median(np.concatenate(widths), axis=0),
    )


def replace_expect(statistic: hf.Quantiles, expect: float) -> hf.Quantiles:
    """The same quantiles with another expected number of records."""
    return hf.Quantiles(
        statistic.quantiles, statistic.low, statistic.high,
        bins=statistic.bins, levels=statistic.levels, expect=expect,
    )  # fmt: skip


def _rank_errors(ordered: Column, values: Matrix) -> Matrix:
    """How far the wanted ranks are from the records equal to the values, as shares."""
    below = np.searchsorted(ordered, values, side="left") / len(ordered)
    upto = np.searchsorted(ordered, values, side="right") / len(ordered)
    asked = np.array(ASKED)
    return np.asarray(np.maximum(np.maximum(below - asked, asked - upto), 0.0))


def _noises() -> dict[str, dict[int, float]]:
    """The noise of a count for each number of levels, under two decays."""
    slow = hf.Exponential(half_life=500)
    found: dict[str, dict[int, float]] = {"window of 7": {}, "half-life 500": {}}
    for levels in (1, 2, 3, 4):
        found["window of 7"][levels] = _with_levels(levels).max_stddev(STEPS)
        asked = hf.Quantiles(ASKED, 0, 1, bins=2**levels, levels=levels)
        found["half-life 500"][levels] = hf.plan(slow, GUARANTEE, statistic=asked).max_stddev(4096)
    return found


def _bins(one: Measured) -> str:
    levels = one.statistic.levels
    return f"{one.statistic.bins}" + (f" on {levels} levels" if levels > 1 else "")


def _percent(shares: Iterable[float]) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _draw(drawn: dict[str, list[tuple[int, Measured, Measured]]]) -> None:
    figure = style.figure(9.0, 4.6)
    panels = figure.subplots(1, len(drawn), sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (name, rows) in zip(panels, drawn.items(), strict=True):
        counts = [count for count, _, _ in rows]
        for place, colour in zip(range(len(ASKED)), (style.BLUE, style.VERMILLION), strict=True):
            label = "median" if ASKED[place] == 0.5 else f"{100 * ASKED[place]:g}th percentile"
            for which, dashes, more in ((1, "-", ""), (2, "--", ", flat bins")):
                errors = [100 * row[which].errors[place] for row in rows]  # type: ignore[union-attr]
                axes.plot(counts, errors, dashes, color=colour, marker="o", markersize=3,
                          linewidth=1.4 if which == 1 else 0.9, label=label + more)  # fmt: skip
        predicted = [100 * best.predicted for _, best, _ in rows]
        axes.plot(counts, predicted, ":", color=style.GREY, label="predicted by the plan")
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0.0, 40.0)
        axes.set_yticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
        axes.set_xticks([100, 1000, 10_000, 100_000], ["100", "1,000", "10,000", "100,000"])
        style.tidy(axes, x="records", y="rank error, % of records" if axes is panels[0] else "",
                   title=TITLES[name])  # fmt: skip
    style.legend_below(figure, panels[0])
    style.headline(
        figure,
        "Root mean square rank error of released quantiles",
        style.terms(DECAY, GUARANTEE),
    )
    plots.write(figure, IMAGES / "quantile-ranks.png")
