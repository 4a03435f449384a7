"""Huber's rounded law, exactly: normal integrals in the core, closed forms in the tails.

    P[|z| < m] = P[|X| < m - ½] = 2/Z ∫_0^(m - ½) e^(-h)        m ≤ core
               = 1 - 2/(Z slope) e^(-κ/2 - slope (m - ½ - core))  m > core
    Z = 2 (∫_0^core e^(-p t²/2) dt + e^(-κ/2) / slope),  p = slope / core,  κ = core · slope

The core is an integer, so its edge is the centre of a unit, and only P[z = ±core] has both parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import islice

from hushfade.crossing.exact_probabilities import geometric_tails, normal_integrals
from hushfade.crossing.exact_probabilities.exact_law import Curve
from hushfade.crossing.exact_probabilities.fixed_point import decimal, entry, precise
from hushfade.errors import InvalidValue
from hushfade.laws import Huber

SMALLEST, LARGEST = 2.0**-34, 1.0
LARGEST_CORE = 2**39
LEAST_KAPPA, LARGEST_KAPPA = 2.0**-7, 64.0

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class ExactHuber:
    """z = round(X) for slopes from 2^-34 to 1, cores up to 2^39 and κ from 1/128 to 64."""

    law: Huber

    def __post_init__(self) -> None:
        slope, core, kappa = self.law.slope, self.law.core, self.law.kappa
        if not SMALLEST <= slope <= LARGEST:
            raise InvalidValue(f"slope must be from 2^-34 to {LARGEST:g} per unit", got=repr(slope))
        if not core <= LARGEST_CORE:
            raise InvalidValue("core must be at most 2^39 units", got=repr(core))
        if not LEAST_KAPPA <= kappa <= LARGEST_KAPPA:
            raise InvalidValue(
                "core · slope must be from 1/128 to 64",
                got=f"{kappa:g}",
                remedy="use Laplace noise below this range, and Gaussian noise above it",
            )

    @property
    def cell_bits(self) -> int:
        return geometric_tails.cell_bits(self.law.slope)

    @property
    def curve(self) -> Curve:
        slope, core = self.law.slope, self.law.core
        with precise():
            height = (-self._kappa / 2).exp()
            edge = (self._unit(core) / height).ln()
            tail = (self._unit(core + 1) / height).ln() + decimal(self._slope)
        return Curve(slope / core, float(core), slope, float(edge), float(tail))

    def cumulative(self) -> list[int]:
        k, core = self.cell_bits, self.law.core
        inside = core >> k  # cells that end in the core
        with precise():
            sums = normal_integrals.cumulative(self._precision, self._factor, k)
            above = [entry(total) for total, _ in islice(sums, inside)]
            first = Fraction((inside + 1) << k) - _HALF
            tail = 2 * self._factor * self._beyond(first)
            fade = (-decimal(self._slope * (1 << k))).exp()
            return above + geometric_tails.entries(tail, fade)

    def probability(self, z: int) -> Decimal:
        with precise():
            return self._factor * self._unit(abs(z))

    # Integrals without normalisation ---------------------------------------------------------

    def _unit(self, z: int) -> Decimal:
        """∫ e^(-h) over the unit around z ≥ 0."""
        core = self.law.core
        if z < core:
            return normal_integrals.over(self._precision, Fraction(z), Fraction(1))
        if z > core:
            return self._beyond(z - _HALF) - self._beyond(z + _HALF)
        inner = normal_integrals.over(self._precision, z - _HALF / 2, _HALF)
        return inner + self._beyond(Fraction(core)) - self._beyond(core + _HALF)

    def _beyond(self, x: Fraction) -> Decimal:
        """∫_x^∞ e^(-h) for x ≥ core."""
        exponent = self._kappa / 2 + decimal(self._slope * (x - self.law.core))
        return (-exponent).exp() / decimal(self._slope)

    @cached_property
    def _factor(self) -> Decimal:
        """1/Z."""
        core = Fraction(self.law.core)
        with precise():
            inner = normal_integrals.from_zero(self._precision, core)
            return 1 / (2 * (inner + self._beyond(core)))

    @property
    def _slope(self) -> Fraction:
        return Fraction(self.law.slope)

    @property
    def _precision(self) -> Fraction:
        return self._slope / self.law.core

    @property
    def _kappa(self) -> Decimal:
        return decimal(self._slope * self.law.core)
