"""The distribution of the error at one step: margins and tails.

    e = unit · Σ_k w_k z_k,   margin(p) = the smallest m with P[|e| ≤ m] ≥ p,   tail(m) = P[|e| > m]

w are the weights of the noise in the released value: the left taps, divided by the gain if there is
one.  For Gaussian noise the error is normal.  For other laws the module computes the distribution
itself, because a sum of few terms is not normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian, Law
from hushfade.public.cumulants import Weights, without_rounding
from hushfade.public.fourier_inversion import tail_curves
from hushfade.public.tail_curves import TailCurve, log_bound

_NOTHING = -600.0  # ln of a tail that counts as 0; float64 ends at e^-745


class ErrorDistribution(Protocol):
    """A symmetric distribution of the error."""

    def margin(self, confidence: float) -> float:
        """The smallest m with P[|e| ≤ m] ≥ confidence."""

    def tail(self, m: float) -> float:
        """P[|e| > m]."""


@dataclass(frozen=True)
class NormalError:
    """A normal error, from Gaussian noise.

    >>> round(NormalError(stddev=2.0).margin(0.95), 6)
    3.919928
    """

    stddev: float

    def margin(self, confidence: float) -> float:
        return normal_multiple(confidence) * self.stddev

    def tail(self, m: float) -> float:
        from scipy.special import ndtr

        return min(1.0, 2.0 * float(ndtr(-check.real(m=m) / self.stddev)))


class SummedError:
    """A weighted sum of independent noise of any law.

    >>> from hushfade.laws import Laplace
    >>> import numpy as np
    >>> error = SummedError(Laplace(slope=1.0), np.ones(3), unit=1.0)
    >>> error.margin(0.95), round(error.tail(5.0), 6)  # on a lattice: 97.1 % are within 5
    (5.0, 0.028769)
    """

    def __init__(self, law: Law, weights: Column, unit: float) -> None:
        self._law, self._column = law, without_rounding(check.coefficients(weights=weights))
        self._weights = Weights(self._column)
        self._unit = check.positive(unit=unit)
        if not len(self._weights.sizes):
            raise InvalidValue("weights must not all be 0")

    @property
    def stddev(self) -> float:
        """The standard deviation of the error."""
        return self._unit * math.sqrt(self._law.variance * self._weights.energy)

    def margin(self, confidence: float) -> float:
        log_level = math.log1p(-checked(confidence))
        return self._unit * self._curve(log_level).quantile(log_level)

    def tail(self, m: float) -> float:
        if check.real(m=m) < 0:
            return 1.0
        x = m / self._unit
        log_level = log_bound(self._law, self._weights, x)
        if log_level < _NOTHING:
            return 0.0
        return min(1.0, math.exp(self._curve(log_level).log_tail(x)))

    def _curve(self, log_level: float) -> TailCurve:
        """The tails around P[|e| > x] = e^log_level, with x in units."""
        return next(tail_curves(self._law, [self._column], log_level))


def error_distribution(law: Law, weights: Column, unit: float) -> ErrorDistribution:
    """The distribution of unit · Σ_k w_k z_k for independent z_k with this law."""
    summed = SummedError(law, weights, unit)
    return NormalError(summed.stddev) if isinstance(law, Gaussian) else summed


def normal_multiple(confidence: float) -> float:
    """The margin of a normal error in standard deviations.

    >>> round(normal_multiple(0.95), 6)
    1.959964
    """
    from scipy.special import ndtri

    return float(-ndtri((1.0 - checked(confidence)) / 2.0))


def checked(confidence: float) -> float:
    """The confidence, if it is between 0 and 1 (both excluded); raises InvalidValue otherwise."""
    return check.probability(confidence=confidence)
