"""The two-sided geometric law: Laplace noise on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column, ComplexColumn


@dataclass(frozen=True)
class Laplace:
    """P[z] = (1 - q)/(1 + q) q^|z| with q = e^-slope.

    Guarantee: a shift by d changes the probability of any outcome by at most a factor e^(slope d).
    Among all mechanisms with this guarantee for an integer count, this noise minimises the expected
    value of every cost function that is symmetric and does not decrease with the size of the error
    (Ghosh, Roughgarden, Sundararajan 2009).

    >>> round(Laplace(slope=1.0).variance, 6)  # 2 e^-1 / (1 - e^-1)²
    1.841347
    """

    slope: float
    name = "laplace"

    def __post_init__(self) -> None:
        check.positive(slope=self.slope)

    @property
    def variance(self) -> float:
        return 0.5 / math.sinh(self.slope / 2.0) ** 2

    @property
    def stddev(self) -> float:
        return math.sqrt(self.variance)

    def log_probability(self, z: Column) -> Column:
        return np.asarray(math.log(math.tanh(self.slope / 2.0)) - self.slope * np.abs(z))

    def characteristic(self, u: Column) -> Column:
        ratio = np.sin(np.asarray(u) / 2.0) / math.sinh(self.slope / 2.0)
        return np.asarray(1.0 / (1.0 + ratio * ratio))

    @property
    def tail_rate(self) -> float:
        return self.slope

    def transform(self, s: ComplexColumn) -> ComplexColumn:
        ratio = np.sinh(np.asarray(s) / 2.0) / math.sinh(self.slope / 2.0)
        return np.asarray(1.0 / (1.0 - ratio * ratio))

    def below(self, z: Column) -> Column:
        m = np.floor(np.asarray(z, dtype=np.float64))
        fall = 1.0 + math.exp(-self.slope)
        left = np.exp(self.slope * np.minimum(m, 0.0)) / fall
        right = 1.0 - np.exp(-self.slope * np.maximum(m + 1.0, 0.0)) / fall
        return np.asarray(np.where(m <= 0, left, right))

    def above(self, z: Column) -> Column:
        return self.below(-1.0 - np.floor(np.asarray(z, dtype=np.float64)))

    def outcome_of_loss(self, shift: Column, loss: Column) -> Column:
        return np.asarray(np.floor((shift - np.asarray(loss) / self.slope) / 2.0))

    def largest_loss(self, shift: int) -> float:
        return self.slope * shift
