"""The rounded normal law, exactly: P[|z| < m] = ∫ φ over [-(m - ½)/σ, (m - ½)/σ]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from hushfade.crossing.exact_probabilities import normal_integrals
from hushfade.crossing.exact_probabilities.exact_law import Curve
from hushfade.crossing.exact_probabilities.fixed_point import (
    BITS,
    WHOLE,
    decimal,
    entry,
    pi,
    precise,
)
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian

SMALLEST, LARGEST = 1.0, 2.0**34
_DIRECT = 512.0  # up to this sigma every magnitude has its own table entry


@dataclass(frozen=True)
class ExactGaussian:
    """z = round(N(0, σ²)) for σ from 1 to 2^34."""

    law: Gaussian

    def __post_init__(self) -> None:
        if not SMALLEST <= self.law.sigma <= LARGEST:
            raise InvalidValue(
                f"sigma must be from {SMALLEST:g} to {LARGEST:g} units", got=repr(self.law.sigma)
            )

    @property
    def cell_bits(self) -> int:
        sigma = self.law.sigma
        return 0 if sigma <= _DIRECT else math.frexp(sigma)[1] - 8

    @property
    def curve(self) -> Curve:
        return Curve(1.0 / (self.law.sigma * self.law.sigma), math.inf, 0.0, 0.0, 0.0)

    def cumulative(self) -> list[int]:
        above: list[int] = []
        sums = normal_integrals.cumulative(self._precision, self._factor, self.cell_bits)
        for total, weight in sums:
            above.append(entry(total))
            if weight < 1 << (BITS - 160):  # the remaining probability is below 2^-140
                break
        return [*above, WHOLE]

    def probability(self, z: int) -> Decimal:
        with precise():
            unit = normal_integrals.over(self._precision, Fraction(z), Fraction(1))
            return self._factor * unit

    @property
    def _precision(self) -> Fraction:
        return 1 / Fraction(self.law.sigma) ** 2

    @cached_property
    def _factor(self) -> Decimal:
        """1 / (σ √(2π))."""
        with precise():
            return 1 / (decimal(Fraction(self.law.sigma)) * (2 * pi()).sqrt())
