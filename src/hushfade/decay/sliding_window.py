"""Weights of the last steps only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.mixture import Mixable
from hushfade.decay.protocol import ComplexColumn


@dataclass(frozen=True)
class SlidingWindow(Mixable):
    """The last `length` steps count fully, and older steps do not count: f_k = 1 for k < length.

    >>> SlidingWindow(length=2).weights(4)
    array([1., 1., 0., 0.])
    """

    length: int

    monotone = horizon_free = True

    def __post_init__(self) -> None:
        check.settle(self, length=check.count(length=self.length))

    @property
    def log_convex(self) -> bool:
        return self.length == 1

    @property
    def completely_monotone(self) -> bool:
        return self.length == 1

    def weights(self, n: int) -> Column:
        return (np.arange(check.count(n=n)) < self.length).astype(np.float64)

    def symbol(self, theta: Column) -> ComplexColumn:
        # the geometric sum as a real ratio and a phase, stable near θ = 0
        ratio = np.sin(self.length * theta / 2) / np.sin(theta / 2)
        return np.asarray(ratio * np.exp(0.5j * (self.length - 1) * theta))

    def knots(self) -> Column:
        return np.linspace(0.0, 2 * np.pi, self.length + 1)[1 : (self.length + 1) // 2]
