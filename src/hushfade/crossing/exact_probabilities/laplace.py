"""The two-sided geometric law, exactly: P[|z| < m] = 1 - 2 q^m / (1 + q), q = e^-slope."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from hushfade.crossing.exact_probabilities import geometric_tails
from hushfade.crossing.exact_probabilities.exact_law import Curve
from hushfade.crossing.exact_probabilities.fixed_point import decimal, precise
from hushfade.errors import InvalidValue
from hushfade.laws import Laplace

SMALLEST, LARGEST = 2.0**-34, 64.0


@dataclass(frozen=True)
class ExactLaplace:
    """P[z] = (1 - q)/(1 + q) q^|z| for slopes from 2^-34 to 64."""

    law: Laplace

    def __post_init__(self) -> None:
        if not SMALLEST <= self.law.slope <= LARGEST:
            raise InvalidValue(
                f"slope must be from 2^-34 to {LARGEST:g} per unit", got=repr(self.law.slope)
            )

    @property
    def cell_bits(self) -> int:
        return geometric_tails.cell_bits(self.law.slope)

    @property
    def curve(self) -> Curve:
        """The shape of the density: no core, and no correction, because P[z] is the density."""
        return Curve(0.0, 0.0, self.law.slope, 0.0, 0.0)

    def cumulative(self) -> list[int]:
        with precise():
            fade = self._fallen(1 << self.cell_bits)
            return geometric_tails.entries(2 * fade / (1 + self._fallen(1)), fade)

    def probability(self, z: int) -> Decimal:
        with precise():
            q = self._fallen(1)
            return (1 - q) / (1 + q) * self._fallen(abs(z))

    def _fallen(self, units: int) -> Decimal:
        """q^units."""
        return (-decimal(Fraction(self.law.slope) * units)).exp()
