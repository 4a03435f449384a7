"""The decayed number of records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """The decayed count of records: a record is 1, or 0 if it does not count.

    Totals are whole numbers, so the grid has a resolution of 1.  Noise on this grid consists of
    whole numbers, too, and is smaller than noise on a finer grid.  For one step the two-sided
    geometric law is optimal (Ghosh, Roughgarden, Sundararajan 2009).

    >>> import hushfade as hf
    >>> visits = hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 1e-6), statistic=hf.Count())
    >>> visits.grid.resolution, round(visits.max_stddev(100), 2)
    (1.0, 3.59)
    >>> stream = visits.start(hf.UnsafeSeededNoise(1))
    >>> stream.step([1, 1, 0]).value.is_integer()
    True
    """

    name = "count"
    bounds = 0.0, 1.0
    resolution = 1.0
