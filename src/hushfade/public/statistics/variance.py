"""The variance of the records, decayed, with their mean and standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.ratio_interval import ratio_interval
from hushfade.public.statistics.statistic import LaneDefaults

_FIRST = np.array([0.0, 0.5, 1.0])  # Σ t as a sum of the lanes
_TRIALS = 9  # means in the interval of the mean, at which the variance is bounded


@dataclass(frozen=True)
class Variance(LaneDefaults):
    """The decayed variance of records in [low, high], at the price of one count.

    With t = (x - low) / range a record adds (1-t)², 2t(1-t) and t² to three lanes: Bernstein's
    polynomials, which sum to 1.  Count, sum and sum of squares are linear in the lanes.
    variance = Σ f x² / n - mean², between 0 and range²/4.  It is half of the largest variance if
    the noisy count is not positive.

    The interval combines an interval of the mean and an interval of the variance around that mean,
    each with half of the allowed failures.  It is conservative: it covers more often than stated.

    >>> import hushfade as hf
    >>> delays = hf.Variance(low=0, high=100)
    >>> plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=delays)
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step([40, 60] * 5000)
    >>> round(release.value), [round(end) for end in release.interval(0.95)]
    (100, [99, 102])
    >>> mean, spread = release.derived["mean"], release.derived["standard_deviation"]
    >>> round(mean.value, 1), [round(end, 1) for end in mean.interval(0.95)]
    (50.0, [50.0, 50.0])
    >>> round(spread.value, 1), [round(end, 1) for end in spread.interval(0.95)]
    (10.0, [9.9, 10.1])
    """

    low: float
    high: float

    name = "variance"
    resolution = None  # the caller may choose the grid
    parts = "low", "middle", "high"
    kind: ClassVar[Literal["grid"]] = "grid"
    derived_names = "mean", "standard_deviation"

    def __post_init__(self) -> None:
        low, high = check.bounds(self.low, self.high)
        span = high - low
        if not (span * span > 0.0 and max(span * span, low * low, high * high) < math.inf):
            raise InvalidValue(
                "low, high and high - low must have squares that float64 can hold",
                got=f"{low!r} and {high!r}",
            )
        check.settle(self, low=low, high=high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a record."""
        return self.low, self.high

    @property
    def default_resolution(self) -> float:
        """A power of two that divides the range 128 to 256 times.

        Lanes have the square of the range in units, so a finer grid needs larger noise tables.
        """
        return float(2.0 ** (np.floor(np.log2(self.high - self.low)) - 7))

    @property
    def range(self) -> tuple[float, float]:
        """The largest variance has half of the records at each bound."""
        return 0.0, (self.high - self.low) ** 2 / 4.0

    @property
    def sums(self) -> dict[str, Column]:
        """Count, sum and sum of squares: weights of the lanes."""
        low, high = self.low, self.high
        return {
            "count": np.ones(3),
            "sum": np.array([low, (low + high) / 2.0, high]),
            "sum_of_squares": np.array([low * low, low * high, high * high]),
        }

    def document(self) -> dict[str, Any]:
        """The declared parameters; the plan's grid has the bounds."""
        return {"kind": self.name}

    def whole(self, span: int) -> int:
        """A record adds the square of the range in units."""
        return span * span

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """((span - u)², 2u(span - u), u²) for a record u units above `low`.

        >>> Variance(low=0, high=1).lanes(np.array([0, 3, 8]), 8)[1].tolist()
        [[64, 0, 0], [25, 30, 9], [0, 0, 64]]
        """
        rest = span - codes
        added = np.stack([rest * rest, 2 * codes * rest, codes * codes], axis=1)
        return np.broadcast_to(np.arange(3), added.shape), added

    def value(self, lanes: Matrix) -> Matrix:
        """The variance, between 0 and range²/4."""
        first, second = self._moments(lanes)
        spread = np.clip(second - first * first, 0.0, 0.25)
        known = lanes.sum(axis=-1) > 0.0
        return np.asarray(np.where(known, spread, 0.125) * (self.high - self.low) ** 2)

    def derived(self, lanes: Matrix) -> dict[str, Matrix]:
        """The mean, between the bounds, and the standard deviation."""
        first, _ = self._moments(lanes)
        mean = self._placed(np.clip(first, 0.0, 1.0))
        return {"mean": mean, "standard_deviation": np.sqrt(self.value(lanes))}

    def derived_interval(
        self, name: str, lanes: Matrix, margins: LaneMargins
    ) -> tuple[Matrix, Matrix]:
        """The interval of the mean is Fieller's; the deviation's ends are roots of the variance's.

        `margins` must have the confidence of `derived_confidence`.
        """
        if name == "standard_deviation":
            lower, upper = self.interval(lanes, margins)
            return np.sqrt(lower), np.sqrt(upper)
        ends = ratio_interval(lanes, _FIRST, np.ones(3), margins, 0.0, 1.0)
        return self._placed(ends[0]), self._placed(ends[1])

    def derived_confidence(self, name: str, confidence: float) -> float:
        """The confidence of the margins for `derived_interval`; a mean has one interval only."""
        return confidence if name == "mean" else self.interval_confidence(confidence)

    def _placed(self, share: Matrix) -> Matrix:
        """A share of the range as a number between the bounds."""
        return np.asarray(self.low + (self.high - self.low) * share)

    def _moments(self, lanes: Matrix) -> tuple[Matrix, Matrix]:
        """Σ t / n and Σ t² / n; one half each where the count is not positive."""
        count = lanes.sum(axis=-1)
        first, half = lanes[..., 1] / 2.0 + lanes[..., 2], np.full(count.shape, 0.5)
        one = np.divide(first, count, out=half.copy(), where=count > 0.0)
        return one, np.divide(lanes[..., 2], count, out=half, where=count > 0.0)

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """The union over all plausible means m of the intervals of Σ (t - m)² / n.

        `margins` must have the confidence 1 - (1 - confidence) / 2: see `interval_confidence`.
        """
        ones = np.ones(3)
        low, high = ratio_interval(lanes, _FIRST, ones, margins, 0.0, 1.0)
        lower, upper = np.full(len(lanes), np.inf), np.full(len(lanes), -np.inf)
        middle = np.clip(self._moments(lanes)[0], low, high)
        for share in np.linspace(0.0, 2.0, _TRIALS):  # both sides of the middle
            mean = low + share * (middle - low)
            if share > 1.0:
                mean = middle + (share - 1.0) * (high - middle)
            squares = np.stack([mean**2, mean**2 - mean, (1.0 - mean) ** 2], axis=1)
            ends = ratio_interval(lanes, squares, ones, margins, 0.0, 0.25)
            lower, upper = np.minimum(lower, ends[0]), np.maximum(upper, ends[1])
        span = (self.high - self.low) ** 2
        return span * lower, span * upper

    @staticmethod
    def interval_confidence(confidence: float) -> float:
        """The confidence of each of the two intervals, by Bonferroni's inequality."""
        return 1.0 - (1.0 - confidence) / 2.0
