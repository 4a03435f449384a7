"""Mutants that spread records wrongly over the lanes of a statistic, or account for too little."""

from __future__ import annotations

from collections.abc import Callable

from hushfade import (
    Exponential,
    Guarantee,
    Mean,
    Person,
    Plan,
    Quantiles,
    Ratio,
    SlidingWindow,
    Variance,
    plan,
)
from lab.audits.mutant import Mutant, one

ONE, SWAP = Guarantee(1, 1e-6), Guarantee(1, 1e-6, neighbours="replace")
WEEK, DAY = SlidingWindow(length=7), Exponential(half_life=24)
PLANS: dict[str, Callable[[], Plan]] = {
    "mean": lambda: plan(WEEK, ONE, statistic=Mean(low=-2, high=6), keys=["a", "b"]),
    "mean, replaced": lambda: plan(WEEK, SWAP, statistic=Mean(low=-2, high=6), law="laplace"),
    "mean, several": lambda: plan(
        DAY,
        Guarantee(1, 1e-6, protects=Person(records_per_step=3)),
        statistic=Mean(low=-2, high=6),
        law="gaussian",
    ),
    "variance": lambda: plan(DAY, ONE, statistic=Variance(low=-2, high=6), law="gaussian"),
    "ratio": lambda: plan(WEEK, ONE, statistic=Ratio(numerator=6, denominator=3, most=5)),
    "quantiles": lambda: plan(
        DAY, SWAP, statistic=Quantiles([0.5], -2, 6, bins=16, levels=2), method="blend"
    ),
}
_LANES = """lanes = (1 if guarantee.neighbours == "add_remove" else 2) * grid.statistic.levels"""

MUTANTS: dict[str, Mutant] = {
    "the weights of a mean do not sum to the range": one(
        "public/statistics/mean.py",
        "np.stack([codes, span - codes], axis=1)",
        "np.stack([codes, span - codes // 2], axis=1)",
        "mean",
    ),
    "the middle weight of a variance is doubled": one(
        "public/statistics/variance.py",
        "2 * codes * rest",
        "4 * codes * rest",
        "variance",
    ),
    "the lanes of one key overlap the lanes of the next": one(
        "private/grid.py", "cells[:, None] * self.parts + lanes", "cells[:, None] + lanes", "mean"
    ),
    "a replaced record of a statistic counts as one whole": one(
        "planning/shifts.py", _LANES, "lanes = grid.statistic.levels", "mean, replaced", "quantiles"
    ),
    "one lane of a statistic is left out of the accounting": one(
        "planning/shifts.py", _LANES, _LANES + " - 1", "ratio", "mean, replaced"
    ),
    "quantiles account for one level": one(
        "planning/shifts.py",
        "else 2) * grid.statistic.levels",
        "else 2)",
        "quantiles",
    ),
    "the denominator of a ratio costs nothing": one(
        "public/statistics/ratio.py", "    levels = 2", "    levels = 1", "ratio"
    ),
    "several records of a person count as one in a statistic": one(
        "planning/shifts.py",
        "return (guarantee.protects.records_per_step * grid.lane_units[1],) * lanes",
        "return (grid.lane_units[1],) * lanes",
        "mean, several",
    ),
}
