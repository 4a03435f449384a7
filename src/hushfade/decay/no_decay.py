"""Records that never lose weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.mixture import Mixable
from hushfade.decay.protocol import ComplexColumn


@dataclass(frozen=True)
class NoDecay(Mixable):
    """Records never lose weight: f_k = 1, continual counting.

    This is the only monotone decay whose square root has Σ a_n² = ∞, so it needs a horizon.

    >>> NoDecay().weights(3)
    array([1., 1., 1.])
    """

    monotone = log_convex = completely_monotone = True
    horizon_free = False

    def weights(self, n: int) -> Column:
        return np.ones(check.count(n=n))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta))

    def knots(self) -> Column:
        return np.empty(0)
