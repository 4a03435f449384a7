"""The privacy loss of shifted noise, computed for the audit without the accountant.

    ℓ = Σ_n ln p(z_n)/p(z_n - d_n)        δ(ε) = E (1 - e^(ε - ℓ))_+

`privacy.loss_distribution` gives upper bounds.  This module spreads each loss over a grid with
weights that keep its mass, mean and variance, and computes the sum by FFT.  The result is neither
an upper nor a lower bound, but its relative error is about 1e-4 of δ(ε).  So the audit detects an
accountant with a larger error.

The noise is symmetric.  If a stream contains a person's records, ℓ is its log-likelihood ratio
against the stream without them.  If it does not contain them, -ℓ has the same distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from hushfade.audit.noise_probabilities import beyond, energy
from hushfade.check import Column
from hushfade.laws import Huber, Laplace

_PIECES = 1 << 11  # intervals between two kinks of the loss
_POINTS = 1 << 17  # of the grid
_DEVIATIONS = 13.0  # standard deviations that the grid covers on both sides
_STEEPEST = 1e6


@dataclass(frozen=True)
class Losses:
    """The privacy loss of shifts, given as {shift: number of steps}.

    >>> once = Losses(Laplace(slope=0.01), {200: 1})
    >>> round(once.delta(1.0), 4)  # 1 - e^((1 - 2)/2)
    0.3935
    """

    law: Laplace | Huber
    shifts: Mapping[int, int]

    @property
    def largest(self) -> float:
        """The largest loss."""
        return self.law.slope * sum(size * times for size, times in self.shifts.items())

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        if epsilon >= self.largest:
            return 0.0
        tilt = max(self._tilt(epsilon), 0.0)
        log_mass, mean, variance = self.moments(tilt)
        losses, masses = self._summed(tilt, mean, math.sqrt(variance), abs(epsilon - mean))
        over = np.maximum(losses - epsilon, 0.0)
        inside = float(np.sum(masses * np.exp(-tilt * over) * -np.expm1(-over)))
        return math.exp(log_mass - tilt * epsilon) * inside

    @cached_property
    def distribution(self) -> tuple[Column, Column]:
        """The losses in ascending order, and their probabilities."""
        _, mean, variance = self.moments(0.0)
        losses, masses = self._summed(0.0, mean, math.sqrt(variance), 0.0)
        order = np.argsort(losses)
        return losses[order], masses[order]

    def above(self, losses: Column) -> Column:
        """P[ℓ > loss]."""
        points, masses = self.distribution
        tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        return np.asarray(np.clip(tails[np.searchsorted(points, losses, side="right")], 0.0, 1.0))

    @property
    def step(self) -> float:
        """The distance between two adjacent losses of `distribution`."""
        points, _ = self.distribution
        return float(points[1] - points[0])

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """ln E e^(θℓ), and the mean and variance of ℓ under the tilt θ."""
        log_mass = mean = variance = 0.0
        for (losses, masses), times in self._single:
            top = float(np.max(tilt * losses))
            weights = masses * np.exp(tilt * losses - top)
            total = float(np.sum(weights))
            centre = float(np.sum(weights * losses)) / total
            log_mass += times * (math.log(total) + top)
            mean += times * centre
            variance += times * float(np.sum(weights * (losses - centre) ** 2)) / total
        return log_mass, mean, variance

    @cached_property
    def _single(self) -> list[tuple[tuple[Column, Column], int]]:
        """The losses and probabilities of each shift, and how often the shift occurs."""
        return [(_single(self.law, size), times) for size, times in self.shifts.items() if size]

    def mean_p(self, sample: Column) -> float:
        """An upper bound on the p-value of the mean of a sample of losses (Chernoff 1952)."""
        mean = min(max(float(np.mean(sample)), -self.largest), self.largest)
        tilt = self._tilt(mean)
        rate = tilt * mean - self.moments(tilt)[0]
        return min(1.0, 2.0 * math.exp(-len(sample) * max(rate, 0.0)))

    def delta_p(self, epsilon: float, expected: float, mean: float, count: int) -> float:
        """An upper bound on the p-value of an estimate of δ(ε) from a sample (Bernstein 1924)."""
        losses, masses = self.distribution
        square = float(np.sum(masses * np.expm1(np.minimum(epsilon - losses, 0.0)) ** 2))
        off = abs(mean - expected)
        spread = max(square - expected**2, 0.0) + off / 3.0
        return 1.0 if off == 0.0 else min(1.0, 2.0 * math.exp(-count * off * off / (2.0 * spread)))

    def _tilt(self, mean: float) -> float:
        """The tilt θ at which the tilted mean is approximately `mean`."""
        sign = 1.0 if mean >= self.moments(0.0)[1] else -1.0
        low, high = 0.0, 1.0
        while sign * self.moments(sign * high)[1] < sign * mean and high < _STEEPEST:
            low, high = high, 2.0 * high
        while high - low > 1e-3 * high and high > 1e-9:
            middle = (low + high) / 2.0
            short = sign * self.moments(sign * middle)[1] < sign * mean
            low, high = (middle, high) if short else (low, middle)
        return sign * high

    def _summed(
        self, tilt: float, mean: float, deviation: float, aside: float
    ) -> tuple[Column, Column]:
        """The tilted sum of the losses of all shifts: values and probabilities."""
        half = min(_DEVIATIONS * deviation + aside, abs(mean) + self.largest) * (1.0 + 1e-6)
        step = 2.0 * half / (_POINTS - 8)
        product = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
        for (single, masses), times in self._single:
            weights = masses * np.exp(tilt * single - np.max(tilt * single))
            product *= np.fft.rfft(_placed(single, weights / np.sum(weights), step)) ** times
        places = np.arange(_POINTS)
        first = math.floor(mean / step) - _POINTS // 2
        losses = np.asarray(step * (first + (places - first) % _POINTS), dtype=np.float64)
        return losses, np.fft.irfft(product, _POINTS)


def _placed(losses: Column, masses: Column, step: float) -> Column:
    """Masses on the grid, three points per loss, with the same mass, mean and variance."""
    near = np.rint(losses / step)
    x = losses / step - near
    place = near.astype(np.int64)
    found = np.zeros(_POINTS)
    for offset, share in ((-1, x * (x - 1.0) / 2.0), (0, 1.0 - x * x), (1, x * (x + 1.0) / 2.0)):
        found += np.bincount((place + offset) % _POINTS, masses * share, _POINTS)
    return found


def _single(law: Laplace | Huber, d: int) -> tuple[Column, Column]:
    """The loss ln p(z)/p(z - d) of one shift: values and probabilities.

    The largest and the smallest loss each have a positive probability.
    """
    if isinstance(law, Laplace):
        count = min(d - 1, _PIECES)
        edges = np.unique(np.rint(np.linspace(1.0, d, count + 1)))
        tails = beyond(law, edges)
        ends = [1.0 - tails[0], tails[-1]]
        middle = (edges[:-1] + edges[1:] - 1.0) / 2.0  # of the whole numbers from edge to edge
        masses = -np.diff(tails)
    else:
        core = float(law.core)
        kinks = sorted({-core, core, d - core, d + core})
        edges = np.concatenate([np.linspace(a, b, _PIECES + 1)[:-1] for a, b in pairwise(kinks)])
        edges = np.append(edges, kinks[-1])
        middle = (edges[:-1] + edges[1:]) / 2.0
        density = np.diff(edges) * np.exp(-energy(law, middle))
        tail = math.exp(-law.slope * core / 2.0) / law.slope
        width = math.sqrt(2.0 * core / law.slope)
        whole = math.sqrt(math.pi) * width * math.erf(core / width) + 2.0 * tail
        ends = [tail / whole, tail / whole * math.exp(-law.slope * d)]
        masses = density / whole
    inner = energy(law, middle - d) - energy(law, middle)
    losses = np.concatenate([[law.slope * d], inner, [-law.slope * d]])
    masses = np.concatenate([ends[:1], masses, ends[1:]])
    return losses, masses / np.sum(masses)
