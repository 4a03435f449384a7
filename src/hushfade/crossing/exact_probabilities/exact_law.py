"""The interface between the sampler and a law: exact probabilities, and the density's shape."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple, Protocol

import numpy as np

from hushfade.check import Column


class Curve(NamedTuple):
    """The parameters of ln P[z], up to a constant, for a compiled loop.

        ln P[z] = -h(z) + c(z)
        h(z) = precision z²/2                   z ≤ core
             = h(core) + slope (z - core)       z > core
        c(z) = (s² - p)/24 - (s⁴ + 4 s² p - 2 p²)/2880      z < core, with p = precision, s = p z
             = edge                                         z = core
             = tail                                         z > core

    c is ln of the integral over one unit minus the log density at its centre.  It has the first two
    terms of the cumulant expansion of ln ∫ e^(-s t - p t²/2) dt over |t| < ½.
    """

    precision: float
    core: float
    slope: float
    edge: float
    tail: float

    def growth(self, start: Column, end: Column) -> Column:
        """h(end) - h(start)."""
        a, b = np.minimum(start, self.core), np.minimum(end, self.core)
        inner = (b - a) * (0.5 * (a + b)) * self.precision
        return np.asarray(inner + self.slope * ((end - b) - (start - a)))


class ExactLaw(Protocol):
    """A law whose probabilities are computed to 80 digits, for a range of scales."""

    @property
    def cell_bits(self) -> int:
        """k: the sampler's cells have 2^k magnitudes."""

    @property
    def curve(self) -> Curve:
        """The shape of the density."""

    def cumulative(self) -> list[int]:
        """⌊2^127 P[|z| < (A + 1) 2^k]⌋ for A = 0, 1, ..., and 2^127 last.

        The last entry covers all remaining magnitudes; a probability below 2^-126 lies outside its
        cell.
        """

    def probability(self, z: int) -> Decimal:
        """P[z], to 80 digits."""
