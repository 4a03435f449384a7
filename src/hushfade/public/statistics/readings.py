"""Released lanes of some steps, read as a statistic: values, intervals, counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.public.error_distribution import checked
from hushfade.public.statistics.lane_margins import LaneMargins, lane_margins
from hushfade.public.statistics.statistic import LaneStatistic
from hushfade.public.step_errors import StepErrors


@dataclass(frozen=True, eq=False)
class Readings:
    """Lanes of n steps and k keys, (n, k, lanes): each divided by what one record adds."""

    statistic: LaneStatistic
    lanes: Matrix = field(repr=False)
    steps: Signed
    stddevs: Column  # of the error of one lane at each step
    errors: StepErrors = field(repr=False)
    scale: float  # what one record adds to the lanes of a level, in the unit of `errors`
    values: Matrix = field(repr=False)  # as released, (n, keys · lanes), in the unit of `errors`

    @classmethod
    def of(
        cls,
        statistic: LaneStatistic,
        values: Matrix,
        steps: Signed,
        stddevs: Column,
        errors: StepErrors,
        scale: float,
    ) -> Readings:
        """The readings of released values, (n, keys · lanes), in the unit of `errors`."""
        lanes = values.reshape(len(values), -1, len(statistic.parts)) / scale
        return cls(statistic, lanes, steps, stddevs / scale, errors, scale, values)

    @cached_property
    def value(self) -> Matrix:
        """The statistic, (n, keys) or (n, keys, outputs)."""
        return self.statistic.value(self.lanes)

    @property
    def count(self) -> Matrix:
        """The noisy decayed number of records, (n, keys)."""
        return np.asarray(self.lanes @ self.statistic.sums["count"])

    def sum_stddevs(self, name: str) -> Column:
        """The standard deviation of a linear part, such as "count", at each step."""
        return np.asarray(np.linalg.norm(self.statistic.sums[name]) * self.stddevs)

    def interval(self, confidence: float) -> tuple[Matrix, Matrix]:
        """The lower and the upper ends, of the shape of `value`.

        Each interval by itself contains the true value with at least this probability.
        """
        margins = self._margins(self.statistic.interval_confidence(checked(confidence)))
        rows = self.lanes.reshape(-1, self.lanes.shape[-1])
        lower, upper = self.statistic.interval(rows, margins)
        return lower.reshape(self.value.shape), upper.reshape(self.value.shape)

    @cached_property
    def derived(self) -> dict[str, Matrix]:
        """Other values of the same lanes, (n, keys): mean and standard deviation of a variance."""
        return self.statistic.derived(self.lanes)

    def derived_interval(self, name: str, confidence: float) -> tuple[Matrix, Matrix]:
        """The lower and the upper ends of one of them, (n, keys), each by itself."""
        statistic: Any = self.statistic
        margins = self._margins(statistic.derived_confidence(name, checked(confidence)))
        rows = self.lanes.reshape(-1, self.lanes.shape[-1])
        lower, upper = statistic.derived_interval(name, rows, margins)
        return lower.reshape(self.count.shape), upper.reshape(self.count.shape)

    def sum_interval(self, name: str, confidence: float) -> tuple[Matrix, Matrix]:
        """The ends of the interval of a linear part, (n, keys)."""
        weights = self.statistic.sums[name]
        margins = self._margins(checked(confidence))
        if np.count_nonzero(weights) == 1:
            margin = np.max(np.abs(weights)) * margins.single
        else:
            margin = np.broadcast_to(margins.of(weights[None, :]), margins.single.shape)
        value = self.lanes @ weights
        margin = margin.reshape(value.shape)
        return value - margin, value + margin

    def _margins(self, confidence: float) -> LaneMargins:
        """The margins of all rows, steps first."""
        made = lane_margins(
            self.errors, self.steps, self.stddevs * self.scale, confidence, self.scale
        )
        return made.rows(np.repeat(np.arange(len(self.steps)), self.lanes.shape[1]))
