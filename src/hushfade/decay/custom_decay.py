"""Weights from a list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.mixture import Mixable
from hushfade.decay.protocol import ComplexColumn
from hushfade.errors import InvalidValue
from hushfade.numerics import unit_disk


@dataclass(frozen=True)
class CustomDecay(Mixable):
    """The listed weights, then zeros.  They may rise, or be negative; f_0 must be > 0.

    >>> CustomDecay([1, 0.5, 0.25]).weights(4)
    array([1.  , 0.5 , 0.25, 0.  ])
    >>> CustomDecay([1, 1.9, 2.71]).monotone
    False
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        column = check.coefficients(weights=self.values)
        if not column[0] > 0:
            raise InvalidValue("must start with a weight > 0", argument="weights", got=column[0])
        support = int(np.flatnonzero(column)[-1]) + 1
        check.settle(self, values=tuple(column[:support].tolist()))

    @property
    def monotone(self) -> bool:
        return unit_disk.falls(np.array(self.values))

    @property
    def log_convex(self) -> bool:
        return len(self.values) == 1

    @property
    def completely_monotone(self) -> bool:
        return len(self.values) == 1

    @property
    def horizon_free(self) -> bool:
        """Whether g has no zero inside the unit disk; then √g is bounded there."""
        return unit_disk.zeros_inside(np.array(self.values)) == 0

    def weights(self, n: int) -> Column:
        out = np.zeros(check.count(n=n))
        kept = min(n, len(self.values))
        out[:kept] = self.values[:kept]
        return out

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(
            np.polynomial.polynomial.polyval(np.exp(1j * theta), np.array(self.values))
        )

    def knots(self) -> Column:
        return np.linspace(0.0, np.pi, 2 * len(self.values) + 1)[1:-1]
