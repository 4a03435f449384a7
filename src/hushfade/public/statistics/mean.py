"""The mean of the records, decayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.ratio_interval import ratio_interval
from hushfade.public.statistics.statistic import LaneDefaults


@dataclass(frozen=True)
class Mean(LaneDefaults):
    """The decayed mean of records in [low, high]: Σ f x / Σ f, at the price of one count.

    A record x adds (x - low) / range to the lane `up` and (high - x) / range to the lane `down`.
    The sum of both lanes is the count.  mean = low + range · up / (up + down), clipped to the
    bounds.  If the noisy count is not positive, the value is the middle of the bounds, and the
    interval is nearly always the whole range.

    Guarantee: a record adds 1 in total, so the noise of each lane is the noise of a plain count.

    >>> import hushfade as hf
    >>> guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
    >>> plan = hf.plan(hf.SlidingWindow(length=7), guarantee, statistic=hf.Mean(low=0, high=120))
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step([60, 80] * 500)
    >>> round(release.value, 1), [round(end, 1) for end in release.interval(0.95)]
    (70.0, [69.8, 70.3])
    >>> round(release.parts["count"].value), round(release.parts["count"].stddev, 1)
    (1002, 2.0)
    """

    low: float
    high: float

    name = "mean"
    resolution = None  # the caller may choose the grid
    parts = "up", "down"
    kind: ClassVar[Literal["grid"]] = "grid"

    def __post_init__(self) -> None:
        low, high = check.bounds(self.low, self.high)
        check.settle(self, low=low, high=high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a record."""
        return self.low, self.high

    @property
    def range(self) -> tuple[float, float]:
        """A mean lies between the bounds."""
        return self.bounds

    @property
    def sums(self) -> dict[str, Column]:
        """Count and sum: weights of the lanes."""
        return {"count": np.ones(2), "sum": np.array([self.high, self.low])}

    def document(self) -> dict[str, Any]:
        """The declared parameters; the plan's grid has the bounds."""
        return {"kind": self.name}

    def whole(self, span: int) -> int:
        """A record adds the range in units."""
        return span

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """(u, span - u) for a record u units above `low`.

        >>> Mean(low=0, high=1).lanes(np.array([0, 3, 8]), 8)[1].tolist()
        [[0, 8], [3, 5], [8, 0]]
        """
        added = np.stack([codes, span - codes], axis=1)
        return np.broadcast_to(np.arange(2), added.shape), added

    def value(self, lanes: Matrix) -> Matrix:
        """The mean, between the bounds.

        >>> Mean(low=0, high=10).value(np.array([[30.0, 10.0], [5.0, -6.0], [3.0, -1.0]])).tolist()
        [7.5, 5.0, 10.0]
        """
        count = lanes.sum(axis=-1)
        share = np.divide(lanes[..., 0], count, out=np.full(count.shape, 0.5), where=count > 0.0)
        return np.asarray(self.low + (self.high - self.low) * np.clip(share, 0.0, 1.0))

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """Fieller's interval for the mean."""
        up = np.array([1.0, 0.0])
        lower, upper = ratio_interval(lanes, up, np.ones(2), margins, 0.0, 1.0)
        span = self.high - self.low
        return self.low + span * lower, self.low + span * upper
