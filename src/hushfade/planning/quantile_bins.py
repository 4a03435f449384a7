"""How many bins quantiles have, and on how many levels: what has the smallest error of a rank.

A quantile is read from noisy ranks: numbers of records below edges.  Two errors add up, both in
records:

    noise     the standard deviation of the estimated (records below an edge) - q · (all records),
              by least squares over all levels, averaged over the edges and the quantiles
    bins      inside a bin the rank is interpolated.  A bin has expect / bins records on average,
              and the error is taken to be half of them, which also allows for bins near the
              quantile that have more records than the average

The half is the best of several factors in simulations with records of different shapes: see
docs/results/quantiles.md.  The choice depends on declared numbers only, never on data.  It is the
same on every machine, because errors are rounded before they are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hushfade.planning.plan import Plan
from hushfade.planning.search_taps import compared_steps
from hushfade.public.statistics import Quantiles
from hushfade.public.statistics.bin_tree import BinTree
from hushfade.public.statistics.quantiles import branches

_EXPECT = 1000.0  # records, if the caller does not declare how many to expect
_INSIDE = 0.5  # the error inside a bin, as a share of the average number of records per bin
# Powers of two: the edges of bins between whole numbers are then exact.
_BINS = {
    1: tuple(1 << k for k in range(3, 11)),
    2: (16, 64, 256, 1024, 4096),
    3: (64, 512, 4096),
    4: (256, 4096),
}


def chosen_bins(statistic: Quantiles, planned: Callable[[Quantiles], Plan]) -> Plan:
    """The plan of quantiles with the number of bins and levels of the smallest predicted error.

    `planned` makes the plan of given bins.  It is called once per number of levels at most.
    """
    best: tuple[int, int, Plan] | None = None  # error, bins, plan with as many levels
    noise = 0.0
    for levels, several in _BINS.items():
        # L levels have at least √L times the noise of one: if even that is too much, stop
        least = noise * math.sqrt(levels / max(1, levels - 1))
        if best is not None and best[0] <= _smallest(statistic, several, levels, least)[0]:
            break
        trial = planned(_with(statistic, several[0], levels))
        steps = compared_steps(trial.decay, trial.horizon)
        noise = trial.max_stddev(min(steps, 1 << 14))
        error, bins = _smallest(statistic, several, levels, noise)
        if best is None or error < best[0]:
            best = error, bins, trial
    assert best is not None
    _, bins, chosen = best
    assert chosen.statistic is not None
    # the number of bins changes neither the noise nor the taps
    binned = _with(statistic, bins, chosen.statistic.levels)
    return replace(chosen, grid=replace(chosen.grid, statistic=binned))


def _smallest(
    statistic: Quantiles, several: tuple[int, ...], levels: int, noise: float
) -> tuple[int, int]:
    """The smallest error, and the bins that have it."""
    return min((settled_error(statistic, bins, levels, noise), bins) for bins in several)


def rank_error(statistic: Quantiles, bins: int, levels: int, noise: float) -> float:
    """The predicted error of a rank in records; `noise` is the standard deviation of a count.

    >>> median = Quantiles([0.5], 0, 1, expect=1000)
    >>> round(rank_error(median, 64, 1, 4.0), 1), round(rank_error(median, 64, 2, 8.0), 1)
    (17.8, 15.8)
    """
    expect = _EXPECT if statistic.expect is None else statistic.expect
    branch = branches(bins, levels)
    assert branch is not None
    tree = BinTree(branch, levels)
    energy = np.mean([np.mean(tree.rank_moments(q).energy) for q in statistic.quantiles])
    return math.hypot(noise * math.sqrt(energy), _INSIDE * expect / bins)


def settled_error(statistic: Quantiles, bins: int, levels: int, noise: float) -> int:
    """The logarithm of the error, rounded: what differs between machines is far smaller."""
    return math.floor(math.log(rank_error(statistic, bins, levels, noise)) * 2.0**16)


def _with(statistic: Quantiles, bins: int, levels: int) -> Quantiles:
    return Quantiles(
        statistic.quantiles,
        statistic.low,
        statistic.high,
        bins=bins,
        levels=levels,
        expect=statistic.expect,
    )
