"""The totals that a release contains, whatever the plan computes from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushfade.check import Column
from hushfade.planning.plan import Plan
from hushfade.public.release import Release
from hushfade.public.statistic_release import StatisticRelease


def lanes_of(release: Release) -> Column:
    """The released totals of one step, one per lane, to the last bit."""
    if isinstance(release, StatisticRelease):
        return np.asarray(release.readings.values[0])
    return np.ravel(np.asarray(release.value, dtype=np.float64))


def stddev_of(plan: Plan, release: Release) -> float:
    """The standard deviation of one of these totals, in the unit of the plan's totals."""
    scale: Any = plan.grid.lane_bounds[1] if isinstance(release, StatisticRelease) else 1.0
    return float(release.stddev * scale)
