"""The normal law, rounded to the integers: z = round(N(0, σ²))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushfade import check
from hushfade.check import Column, ComplexColumn
from hushfade.laws.law import rounded_variance, rounding_transform


@dataclass(frozen=True)
class Gaussian:
    """P[z] = Φ((z + ½)/σ) - Φ((z - ½)/σ).

    Rounding is post-processing, so the tight accounting of the Gaussian mechanism applies.

    >>> round(Gaussian(sigma=10.0).variance, 6)  # 100 + 1/12
    100.083333
    """

    sigma: float
    name = "gaussian"

    def __post_init__(self) -> None:
        check.positive(sigma=self.sigma)

    @cached_property
    def variance(self) -> float:
        return rounded_variance(self, self.sigma**2, self.sigma)

    @property
    def stddev(self) -> float:
        return math.sqrt(self.variance)

    def log_probability(self, z: Column) -> Column:
        from scipy.special import log_ndtr

        size = np.abs(np.asarray(z, dtype=np.float64))
        if self.sigma > 1e5:  # the density at z, with its first correction
            x = size / self.sigma
            density = -x * x / 2 - math.log(self.sigma * math.sqrt(2 * math.pi))
            return np.asarray(density + (x * x - 1.0) / (24.0 * self.sigma**2))
        near, far = (log_ndtr(-(size + half) / self.sigma) for half in (-0.5, 0.5))
        return np.asarray(near + np.log1p(-np.exp(far - near)))

    def characteristic(self, u: Column) -> Column:
        return np.asarray(np.exp(-0.5 * (self.sigma * u) ** 2) * np.sinc(u / (2 * np.pi)))

    @property
    def tail_rate(self) -> float:
        return math.inf

    def transform(self, s: ComplexColumn) -> ComplexColumn:
        normal = np.exp(0.5 * (self.sigma * np.asarray(s)) ** 2)
        return np.asarray(normal * rounding_transform(np.asarray(s)))

    def below(self, z: Column) -> Column:
        from scipy.special import ndtr

        return np.asarray(ndtr(np.asarray(z) / self.sigma))

    def above(self, z: Column) -> Column:
        return self.below(-np.asarray(z))

    def outcome_of_loss(self, shift: Column, loss: Column) -> Column:
        return np.asarray(shift / 2.0 - np.asarray(loss) * (self.sigma / shift) * self.sigma)

    def largest_loss(self, shift: int) -> float:
        return math.inf
