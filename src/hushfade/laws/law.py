"""The interface of a noise law.  All quantities are in units of the grid of the noise."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hushfade.check import Column, ComplexColumn

_SUMMED = 1 << 10  # up to this scale the variance of a rounded law is summed term by term


class Law(Protocol):
    """A symmetric log-concave distribution of integer noise z; equal laws have equal hashes."""

    def __hash__(self) -> int:
        """A hash of the parameters: a law is a value."""

    @property
    def name(self) -> str:
        """The name: gaussian, laplace or huber."""

    @property
    def variance(self) -> float:
        """E z²."""

    @property
    def stddev(self) -> float:
        """√(E z²)."""

    def log_probability(self, z: Column) -> Column:
        """ln P[z] for integers z."""

    def characteristic(self, u: Column) -> Column:
        """E cos(u z); for a rounded law |u| must be far below 1 / (grid unit)."""

    @property
    def tail_rate(self) -> float:
        """The rate b at which the tails fall, P[z] ~ e^(-b |z|); infinite for Gaussian noise."""

    def transform(self, s: ComplexColumn) -> ComplexColumn:
        """E e^(s z) for complex s with |Re s| < tail_rate."""

    def below(self, z: Column) -> Column:
        """P[Z ≤ z], with a small relative error for z < 0.

        Z is the variable for which the privacy loss is computed: the noise itself, or the
        real-valued noise before rounding.  Rounding is post-processing, so a guarantee for Z also
        holds for the noise.
        """

    def above(self, z: Column) -> Column:
        """P[Z > z], with a small relative error for z > 0."""

    def outcome_of_loss(self, shift: Column, loss: Column) -> Column:
        """The largest outcome z whose loss ln p(z)/p(z - shift) is at least `loss`.

        The loss decreases as z increases.  |loss| must be at most `largest_loss(shift)`.
        """

    def largest_loss(self, shift: int) -> float:
        """The supremum of the loss for this shift; infinite for Gaussian noise."""


def between(law: Law, edges: Column) -> tuple[Column, Column]:
    """P[low < Z ≤ high] for neighbours high ≥ low of falling edges, along the last axis.

    The second column is the probability to which the errors are relative: of the tail up to 0, or 1
    if 0 is between the edges.
    """
    below, above = law.below(edges), law.above(edges)
    high, low = edges[..., :-1], edges[..., 1:]
    below_high, below_low = below[..., :-1], below[..., 1:]
    above_high, above_low = above[..., :-1], above[..., 1:]
    left, right = below_high - below_low, above_low - above_high
    across = 1.0 - below_low - above_high
    mass = np.maximum(np.where(high <= 0, left, np.where(low >= 0, right, across)), 0.0)
    return mass, np.where(high <= 0, below_high, np.where(low >= 0, above_low, 1.0))


def rounded_variance(law: Law, continuous: float, scale: float) -> float:
    """The variance of round(Z), where Z has the variance `continuous`.

    E round(Z)² = Σ_{m≥1} (2m - 1) · 2 P[Z ≤ ½ - m].  For a large scale rounding adds 1/12 to the
    variance, up to terms of order 1/scale².
    """
    if scale > _SUMMED:
        return continuous + 1.0 / 12.0
    m = np.arange(1, math.ceil(60 * scale) + 10, dtype=np.float64)
    return float(np.sum((2 * m - 1) * 2.0 * law.below(0.5 - m)))


def rounding_transform(s: ComplexColumn) -> ComplexColumn:
    """2 sinh(s/2) / s: the transform of the uniform law on [-½, ½]."""
    half = np.where(s == 0, 1.0, s) / 2.0
    return np.asarray(np.where(s == 0, 1.0, np.sinh(half) / half))
