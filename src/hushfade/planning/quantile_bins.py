"""How many bins quantiles have, and on how many levels: what has the smallest error of a rank.

A quantile is read from noisy ranks: numbers of records below edges.  Two errors add up, both in
records:

    noise     the rank of an edge is a sum of noisy counts: with b branches on L levels at most
              L · (b - 1), and about half of them from the nearer end
    bins      inside a bin the rank is interpolated; a bin has expect / bins records on average,
              and the interpolation is off by about a quarter of them

The choice depends on declared numbers only, never on data.  It is the same on every machine: the
errors are rounded before they are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hushfade.planning.plan import Plan
from hushfade.planning.search_taps import compared_steps
from hushfade.public.statistics import Quantiles
from hushfade.public.statistics.quantiles import branches

_EXPECT = 1000.0  # records, if the caller does not declare how many to expect
_FLAT = tuple(1 << k for k in range(3, 11))  # numbers of bins that are compared
_LEVELS = (1, 2, 3)


def chosen_bins(statistic: Quantiles, planned: Callable[[Quantiles], Plan]) -> Plan:
    """The plan of quantiles with the number of bins and levels of the smallest predicted error.

    `planned` makes the plan of given bins.  It is called once per number of levels.
    """
    best: tuple[int, Quantiles, Plan] | None = None
    for levels in _LEVELS:
        least = next(bins for bins in _FLAT if branches(bins, levels) is not None)
        trial = planned(_with(statistic, least, levels))
        steps = compared_steps(trial.decay, trial.horizon)
        noise = trial.max_stddev(min(steps, 1 << 14))
        for bins in _FLAT:
            if branches(bins, levels) is None:
                continue
            error = settled_error(statistic, bins, levels, noise)
            if best is None or error < best[0]:
                best = error, _with(statistic, bins, levels), trial
        if levels > 1 and best is not None and best[1].levels < levels:
            break  # more levels have more noise still
    assert best is not None
    return planned(best[1])


def rank_error(statistic: Quantiles, bins: int, levels: int, noise: float) -> float:
    """The predicted error of a rank in records; `noise` is the standard deviation of a count.

    >>> five = Quantiles([0.5], 0, 1, expect=1000)
    >>> round(rank_error(five, 64, 1, 4.0), 1), round(rank_error(five, 64, 2, 8.0), 1)
    (22.8, 22.0)
    """
    expect = _EXPECT if statistic.expect is None else statistic.expect
    branch = branches(bins, levels)
    assert branch is not None
    summed = levels * branch / 2.0
    return math.hypot(noise * math.sqrt(summed), expect / bins / 4.0)


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
