"""What a plan with a statistic releases, and how accurate it is, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Matrix
from hushfade.privacy.rounding import rounded_up
from hushfade.public.statistics import Histogram, LaneStatistic, Quantiles, Ratio, Share, Variance

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

COUNT = 1000  # records, for which the accuracy is stated


def released(statistic: LaneStatistic) -> str:
    """What is released, for a table.

    >>> released(Quantiles([0.5, 0.9], 0, 1, bins=64))
    'the decayed quantiles 0.5, 0.9 from 64 bins'
    """
    match statistic:
        case Histogram():
            return f"decayed counts in {len(statistic.parts)} bins"
        case Quantiles():
            asked, levels = ", ".join(statistic.outputs), statistic.levels
            deep = "" if levels == 1 else f" on {levels} levels"
            return f"the decayed quantiles {asked} from {statistic.bins} bins{deep}"
        case Share(of=str(of)):
            return f"the decayed share of {of!r}"
    return f"the decayed {statistic.name}"


def records(statistic: LaneStatistic) -> str:
    """What becomes of a record, for a table."""
    match statistic:
        case Share():
            return "true or false" if statistic.of is None else "text"
        case Ratio():
            return f"pairs, up to {statistic.numerator:g} and {statistic.denominator:g}"
        case Histogram():
            return f"clipped to [{statistic.edges[0]:g}, {statistic.edges[-1]:g}]"
        case Quantiles():
            return f"clipped to [{statistic.low:g}, {statistic.high:g}]"
    low, high = statistic.bounds
    return f"clipped to [{low:g}, {high:g}]"


def accuracy(plan: Plan, step: int) -> str:
    """How accurate a release at a step is, for 1000 records.

    >>> import hushfade as hf
    >>> one = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=hf.Share())
    >>> accuracy(one, 7)
    'With 1000 records and a true share of 0.5, 95 of 100 shares are within 0.00528 of the truth.'
    """
    statistic = plan.statistic
    assert statistic is not None
    readings = plan.readings(
        _typical(statistic) * plan.grid.lane_bounds[1], np.array([step], dtype=np.int64)
    )
    value = readings.value[0, 0]
    lower, upper = (end[0, 0] for end in readings.interval(0.95))
    if isinstance(statistic, Histogram):
        return f"95 of 100 counts are within {rounded_up(float(upper[0] - value[0]))} of the truth."
    if isinstance(statistic, Quantiles):
        ends = [
            f"the quantile {name} is {low:.4g} to {high:.4g}"
            for name, low, high in zip(statistic.outputs, lower, upper, strict=True)
        ]
        return (
            f"With {COUNT} records that are spread evenly, the 95 % interval of "
            f"{', and of '.join(ends)}."
        )
    far = max(float(upper - value), float(value - lower))
    return (
        f"With {COUNT} records and a true {statistic.name} of {value:.4g}, 95 of 100 "
        f"{statistic.name}s are within {rounded_up(far, 3)} of the truth."
    )


def _typical(statistic: LaneStatistic) -> Matrix:
    """Lanes of 1000 records in the middle of the range, or spread evenly, without noise."""
    parts = len(statistic.parts)
    if isinstance(statistic, Quantiles):
        shares = np.concatenate([np.full(size, 1.0 / size) for size in statistic.sizes])
    elif isinstance(statistic, Variance):
        shares = np.full(3, 1 / 3)  # Σ t² = 1/3, as with records that are spread evenly
    elif isinstance(statistic, Ratio):
        shares = np.full(3, 0.5)
    else:
        shares = np.full(parts, 1.0 / parts)
    return np.asarray(COUNT * shares[None, :])
