"""Huber's law, rounded to the integers: normal in the core, geometric in the tails.

    ln p(x) = -slope x² / (2 core)          |x| ≤ core
            = -slope (|x| - core/2)         |x| > core    (Huber 1964)

The score is linear within the core and constant beyond it.  The bounded score limits the privacy
loss of the one large tap.  The linear part has little Fisher information, which keeps the loss of
the many small taps small.  κ = core · slope sets the shape: Laplace's law for κ = 0, the normal law
for κ → ∞.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushfade import check
from hushfade.check import Column, ComplexColumn
from hushfade.laws.law import rounded_variance, rounding_transform

_ROOT = math.sqrt(2.0 * math.pi)
_SMALL_CORE = 64  # grid units: up to this core the transform is summed outcome by outcome
_FINE = 64.0  # grid units: above this standard deviation one term of Poisson's sum suffices


@dataclass(frozen=True)
class Huber:
    """z = round(X) for X with Huber's density.

    `slope` is the score in the tails, per grid unit.  `core` is where the tails begin, in grid
    units.  Rounding is post-processing, so the privacy accounting of X applies to z.

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
        """core · slope, the shape between Laplace's law (0) and the normal law (∞)."""
        return self.core * self.slope

    @property
    def _width(self) -> float:
        """The standard deviation of the normal law in the core."""
        return math.sqrt(self.core / self.slope)

    @cached_property
    def _tail(self) -> float:
        """The mass beyond the core on one side, not normalised."""
        return math.exp(-self.kappa / 2.0) / self.slope

    @cached_property
    def _whole(self) -> float:
        """The total mass ∫ p(x) dx, not normalised."""
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
        """E (d ln p / dx)² of X: slope / core times the probability of the core."""
        return self.slope / self.core * (1.0 - 2.0 * self._tail / self._whole)

    def log_probability(self, z: Column) -> Column:
        """ln P[z]; for a wide core, the density at z with its first correction."""
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
        return np.asarray(self.transform((1j * np.asarray(u)).astype(np.complex128)).real)

    @property
    def tail_rate(self) -> float:
        return self.slope

    def transform(self, s: ComplexColumn) -> ComplexColumn:
        """Poisson's sum Σ_j f(s + 2πij), where f(s) = E e^(sX) · 2 sinh(s/2)/s.

        f falls like |s|^-4, because p' is continuous.  A few terms suffice for a core of many
        units, and the first term alone suffices for a fine grid.  For a small core the sum runs
        over the outcomes instead.
        """
        s = np.asarray(s, dtype=np.complex128)
        if self.core <= _SMALL_CORE:
            return self._summed(s)
        if self.stddev > _FINE:
            return self._middle_term(s)
        near = s - 2j * np.pi * np.rint(s.imag / (2.0 * np.pi))
        terms = [self._middle_term(near + 2j * np.pi * j) for j in (0, 1, -1, 2, -2)]
        return np.asarray(sum(terms))

    def _summed(self, s: ComplexColumn) -> ComplexColumn:
        """Σ_z P[z] e^(sz): term by term in the core, and one geometric series for each tail."""
        p = np.exp(self.log_probability(np.arange(self.core + 2.0)))
        step = 2.0 * np.cosh(s)  # 2 cosh((z+1)s) = 2 cosh(s) · 2 cosh(zs) - 2 cosh((z-1)s)
        before, now = np.full(s.shape, 2.0 + 0j), step
        total = p[0] + p[1] * now
        for z in range(2, self.core + 1):
            before, now = now, step * now - before
            total = total + p[z] * now
        outer = self.core + 1
        for side in (s, -s):
            total = total + p[outer] * np.exp(side * outer) / -np.expm1(side - self.slope)
        return np.asarray(total)

    def _middle_term(self, s: ComplexColumn) -> ComplexColumn:
        """E e^(sX) · 2 sinh(s/2)/s, even in s.

        With w = width, a = core/w and v = s w, the core contributes
        w √(2π)/2 · e^(v²/2) (erf((a + v)/√2) + erf((a - v)/√2)).  The two erfs may cancel, so the
        code uses the scaled function wofz(ix) = e^(x²) erfc(x).
        """
        from scipy.special import wofz

        v, a = s * self._width, self.core / self._width
        edge = math.exp(-self.kappa / 2.0)
        upper = np.exp(a * v) * wofz(1j * (a - v) / math.sqrt(2.0))
        lower = np.exp(-a * v) * wofz(1j * (a + v) / math.sqrt(2.0))
        core = _ROOT * self._width * (np.exp(v * v / 2.0) - edge * (lower + upper) / 2.0)
        tails = edge * (
            np.exp(s * self.core) / (self.slope - s) + np.exp(-s * self.core) / (self.slope + s)
        )
        return np.asarray((core + tails) / self._whole * rounding_transform(s))

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

    def above(self, z: Column) -> Column:
        return self.below(-np.asarray(z))

    def outcome_of_loss(self, shift: Column, loss: Column) -> Column:
        """The largest outcome z whose loss is at least `loss`.

        Let d = shift, h = -ln p, a = d/2 + y and b = y - d/2.  The loss at z = d/2 - y is
        h(a) - h(b), which is odd in y.  It is slope y d / core if a and b are both in the core, and
        2 slope y if they are in opposite tails.  If one is in the core and the other beyond it,
        b = core - √(2 core (d - loss/slope)).
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
