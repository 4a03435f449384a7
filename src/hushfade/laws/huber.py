"""Huber's law, rounded to the integers: normal in the core, geometric in the tails.

    ln p(x) = -slope x² / (2 core)          |x| ≤ core
            = -slope (|x| - core/2)         beyond        (Huber 1964)

The score is linear up to the core and then constant.  A bounded score bounds the loss of the one
large tap; the linear part has little Fisher information for the many small taps.  κ = core · slope
places the law: Laplace's law for κ = 0, the normal law for κ → ∞.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.laws.law import rounded_variance

_ROOT = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Huber:
    """z = round(X) for X with Huber's density.

    `slope` is the score in the tails, per unit; `core` is where they begin, in units.
    Rounding is post-processing, so the accounting of X applies to z.

    >>> law = Huber(slope=0.01, core=100)
    >>> round(law.stddev, 3), round(law.kappa, 3)
    (149.815, 1.0)
    """

    slope: float
    core: int
    name = "huber"

    def __post_init__(self) -> None:
        check.positive(slope=self.slope)
        check.count(core=self.core)

    @property
    def kappa(self) -> float:
        """core · slope: which law between Laplace's (0) and the normal law (∞)."""
        return self.core * self.slope

    @property
    def _width(self) -> float:
        """The standard deviation of the normal law in the core."""
        return math.sqrt(self.core / self.slope)

    @cached_property
    def _tail(self) -> float:
        """The mass beyond the core on one side, before it is normalised."""
        return math.exp(-self.kappa / 2.0) / self.slope

    @cached_property
    def _whole(self) -> float:
        """∫ exp(ln p) over all x, before it is normalised."""
        return _ROOT * self._width * math.erf(math.sqrt(self.kappa / 2.0)) + 2.0 * self._tail

    @cached_property
    def variance(self) -> float:
        core, slope = self.core, self.slope
        edge = math.exp(-self.kappa / 2.0)
        middle = self._width**2 * (self._whole - 2.0 * self._tail - 2.0 * core * edge)
        tails = 2.0 * edge * (core * core + 2.0 * core / slope + 2.0 / slope**2) / slope
        return rounded_variance(self, (middle + tails) / self._whole, 1.0 / slope + core)

    @property
    def stddev(self) -> float:
        return math.sqrt(self.variance)

    @property
    def fisher_information(self) -> float:
        """E (d ln p / dx)² of X: the probability of the core, times slope / core."""
        return self.slope / self.core * (1.0 - 2.0 * self._tail / self._whole)

    def log_probability(self, z: Column) -> Column:
        """By the density at the middle with its first correction where the core is wide."""
        size = np.abs(np.asarray(z, dtype=np.float64))
        slope, width = self.slope, self._width
        tail = -slope * (size - self.core / 2.0) + math.log(2.0 * math.sinh(slope / 2.0) / slope)
        if width > 1e5:
            x = size / width
            inner = -x * x / 2.0 + (x * x - 1.0) / (24.0 * width**2)
        else:
            near, far = self.below(0.5 - size), self.below(-0.5 - size)
            inner = np.log(np.maximum(near - far, 5e-324)) + math.log(self._whole)
        return np.asarray(np.where(size >= self.core + 0.5, tail, inner) - math.log(self._whole))

    def characteristic(self, u: Column) -> Column:
        from scipy.special import wofz

        u = np.asarray(u, dtype=np.float64)
        a, w = self.core / self._width, u * self._width
        edge = math.exp(-self.kappa / 2.0)
        turn = np.exp(-1j * a * w) * wofz((-w + 1j * a) / math.sqrt(2.0))
        core = _ROOT * self._width * (np.exp(-w * w / 2.0) - edge * turn.real)
        tails = 2.0 * edge * (np.exp(1j * u * self.core) / (self.slope - 1j * u)).real
        return np.asarray((core + tails) / self._whole * np.sinc(u / (2.0 * np.pi)))

    def below(self, z: Column) -> Column:
        from scipy.special import ndtr

        x = np.asarray(z, dtype=np.float64)
        size = np.abs(x)
        far = np.exp(-self.slope * np.maximum(size - self.core, 0.0)) * self._tail
        inner = (
            _ROOT
            * self._width
            * (ndtr(-np.minimum(size, self.core) / self._width) - ndtr(-self.core / self._width))
        )
        left = np.where(size >= self.core, far, self._tail + inner) / self._whole
        return np.asarray(np.where(x <= 0, left, 1.0 - left))

    def opposite(self, z: Column) -> Column:
        return np.negative(z)

    def outcome_of_loss(self, shift: Column, loss: Column) -> Column:
        """With a = d/2 + y and b = y - d/2 at z = d/2 - y the loss is h(a) - h(b), h = -ln p.

        It is odd in y.  Both in the core: slope y d / core.  In opposite tails: 2 slope y.  One in
        the core, the other beyond: b = core - √(2 core (d - loss/slope)).
        """
        d, core, slope = np.asarray(shift, dtype=np.float64), float(self.core), self.slope
        size = np.abs(np.asarray(loss, dtype=np.float64))
        near = d <= 2.0 * core
        inner = np.where(near, size * core / (slope * d), size / (2.0 * slope))
        end = slope * np.where(near, (core - d / 2.0) * d / core, d - 2.0 * core)
        mixed = d / 2.0 + core - np.sqrt(2.0 * core * np.maximum(d - size / slope, 0.0))
        y = np.where(size <= end, inner, mixed)
        return np.asarray(d / 2.0 - np.copysign(y, loss))

    def largest_loss(self, shift: int) -> float:
        return self.slope * shift
