"""The cumulant function of a weighted sum of independent noise, e = Σ_k w_k z_k.

    K(s) = ln E e^(s e) = Σ_k ln M(w_k s),   M(s) = E e^(s z)

Equal weights are evaluated once.  If |w s| is small, a power series gives ln M(w s), which needs
only the power sums Σ w^2, Σ w^4, ... of the small weights.  So a million weights cost little more
than the few large ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hushfade.check import Column, ComplexColumn
from hushfade.laws import Law

_ORDERS = (2, 4, 6, 8)  # orders of the power series of ln M, which is even
_SMALL = 0.3  # share of the radius of convergence, where the series has an error of 0.3^10 / 5
_NOTHING = 1e-12  # weights below this share of the largest weight count as 0
_TOGETHER = 1 << 16  # evaluations of M at a time


class Weights:
    """The distinct sizes of weights in falling order, with their counts and power sums.

    Each weight occurs `copies` times.

    >>> Weights(np.array([0.5, -1.0, 0.0, 0.5])).sizes.tolist()
    [1.0, 0.5]
    """

    def __init__(self, weights: Column, copies: int = 1) -> None:
        sizes = np.abs(weights)
        if not bool(np.all(sizes[1:] <= sizes[:-1])):
            sizes = np.sort(sizes)[::-1]
        sizes = sizes[: int(np.searchsorted(-sizes, 0.0))]
        first = np.flatnonzero(np.append(True, sizes[1:] != sizes[:-1])[: len(sizes)])
        self.sizes = sizes[first]
        self.counts = np.diff(np.append(first, len(sizes))) * copies
        power, squares = self.counts.astype(np.float64), self.sizes**2
        self._power_sums: list[Column] = []  # sums over each weight and all smaller ones
        for _ in _ORDERS:
            power = power * squares
            self._power_sums.append(np.append(np.cumsum(power[::-1])[::-1], 0.0))

    @property
    def energy(self) -> float:
        """Σ w²."""
        return float(self._power_sums[0][0])

    def large(self, law: Law, reach: float) -> int:
        """The number of sizes that are too large for the power series at |s| = reach."""
        limit = _SMALL * _radius(law) / max(reach, 1e-300)
        return int(np.searchsorted(-self.sizes, -limit))

    def series(self, law: Law, s: Column | ComplexColumn, first: int) -> Column | ComplexColumn:
        """The part of K(s) from the small sizes, which begin at index `first`."""
        square, value = s * s, np.zeros_like(s)
        for coefficient, sums in zip(
            reversed(_log_series(law)), reversed(self._power_sums), strict=True
        ):
            value = (value + coefficient * sums[first]) * square
        return value


def without_rounding(weights: Column) -> Column:
    """The weights, with exact zeros in place of the rounding errors of a power series division."""
    sizes = np.abs(weights)
    return np.where(sizes > _NOTHING * np.max(sizes), weights, 0.0)


def cumulant_function(law: Law, weights: Weights, s: Column) -> Column:
    """K(s) for real s, each below tail_rate / (largest weight)."""
    large = weights.large(law, float(np.max(np.abs(s))))
    total = weights.series(law, s, large)
    rows = max(1, _TOGETHER // len(s))
    for start in range(0, large, rows):
        block = slice(start, min(start + rows, large))
        factors = law.transform((weights.sizes[block, None] * s[None, :]).astype(np.complex128))
        total = total + weights.counts[block] @ np.log(factors.real)
    return np.asarray(total, dtype=np.float64)


def _radius(law: Law) -> float:
    """A radius within which the series of ln M converges; for normal noise the series is finite."""
    return min(law.tail_rate, 2.0 / law.stddev)


@lru_cache(maxsize=64)
def _log_series(law: Law) -> tuple[float, ...]:
    """The coefficients of s², s⁴, s⁶ and s⁸ in ln M(s).

    Cauchy's formula on a circle with half the radius of convergence gives them.  With 32 points,
    aliasing adds terms of order 34 and above, reduced to 2^-32 of their size.
    """
    radius = 0.5 * _radius(law)
    circle = radius * np.exp(2j * np.pi * np.arange(32) / 32)
    coefficients = np.fft.fft(np.log(law.transform(circle))).real / 32
    return (law.variance / 2.0, *(float(coefficients[k]) / radius**k for k in _ORDERS[1:]))
