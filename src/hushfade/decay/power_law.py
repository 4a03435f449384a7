"""Weights that fall with a power of the age."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.mixture import Mixable
from hushfade.decay.protocol import ComplexColumn
from hushfade.numerics import polylogarithm


@dataclass(frozen=True)
class PowerLaw(Mixable):
    """The weight falls with a power of the age: f_k = (k + 1)^-power, for any power > 0.

    >>> PowerLaw(power=1).weights(4)
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    power: float

    monotone = log_convex = completely_monotone = horizon_free = True

    def __post_init__(self) -> None:
        check.settle(self, power=check.positive(power=self.power))

    def weights(self, n: int) -> Column:
        return self.at(np.arange(check.count(n=n), dtype=np.float64))

    def at(self, age: Column) -> Column:
        """f_k at whole ages k."""
        return np.asarray((age + 1.0) ** -self.power)

    def symbol(self, theta: Column) -> ComplexColumn:
        return polylogarithm.over_x(self.power, theta)

    def knots(self) -> Column:
        return np.empty(0)
