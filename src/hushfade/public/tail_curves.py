"""The tails P[|e| > x] of a weighted sum of independent noise, e = Σ_k w_k z_k.

The module has a curve of tails on a grid, and the exponential bound that determines the grid:

    P[e > x] ≤ e^(K(s) - s x)   for every s > 0                             (Chernoff 1952)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.laws import Law
from hushfade.public.cumulants import Weights, cumulant_function

_BEYOND = math.log(1e6)  # a grid ends where the bound has fallen by this factor
_DEEPEST = 300.0  # -ln of the smallest tail for which values of s are tried
_SAME = 1e-11  # relative difference of tails that differ by rounding only


@dataclass(frozen=True)
class TailCurve:
    """ln P[|e| > x] at x = 0, step, 2 step, ...  On a lattice e takes no values between them."""

    step: float
    log_tails: Column
    lattice: bool
    widening: float = 0.0  # added to quantiles if e was smoothed

    def quantile(self, log_level: float) -> float:
        """The smallest x with P[|e| > x] ≤ e^log_level; on a lattice, x is one of its points."""
        place = self._place(log_level)
        return (math.ceil(place) if self.lattice else place) * self.step + self.widening

    def smooth_quantile(self, log_level: float) -> float:
        """The quantile of interpolated tails, also on a lattice."""
        return self._place(log_level) * self.step + self.widening

    def log_tail(self, x: float) -> float:
        """ln P[|e| > x], for x ≥ 0."""
        place = x / self.step
        if self.lattice:
            at = math.floor(place * (1.0 + _SAME))
            return float(self.log_tails[at]) if at < len(self.log_tails) else -math.inf
        grid = np.arange(len(self.log_tails))
        return float(np.interp(place, grid, self.log_tails, right=-math.inf))

    def _place(self, log_level: float) -> float:
        """The point at which the tail falls to the level, in steps of the grid."""
        reached = self.log_tails <= log_level + _SAME
        after = int(np.argmax(reached))
        if after == 0:
            return 0.0 if reached[0] else float(len(self.log_tails))
        above, below = float(self.log_tails[after - 1]), float(self.log_tails[after])
        return after - 1 + min(1.0, (above - log_level) / (above - below))


@dataclass(frozen=True)
class Tilt:
    """The s that minimises the exponential bound of a tail."""

    saddle: float  # this s
    end: float  # the x at which the bound has fallen to 1e-6 of the tail


def tilt(law: Law, weights: Weights, log_level: float) -> Tilt:
    """The tilt for P[|e| > x] = e^log_level, the best of 64 values of s."""
    depth = math.log(2.0) - log_level
    s = _trials(law, weights, depth + _BEYOND)
    k = cumulant_function(law, weights, s)
    least = int(np.argmin((k + depth) / s))
    return Tilt(float(s[least]), float(np.min((k + depth + _BEYOND) / s)))


def log_bound(law: Law, weights: Weights, x: float) -> float:
    """The exponential bound on ln P[|e| > x]."""
    depth = x * x / (2.0 * law.variance * weights.energy)  # for a normal law
    s = _trials(law, weights, min(max(depth, 1.0), _DEEPEST))
    return min(0.0, math.log(2.0) + float(np.min(cumulant_function(law, weights, s) - s * x)))


def _trials(law: Law, weights: Weights, depth: float) -> Column:
    """Values of s from far below the saddlepoint of a tail e^-depth up to the pole of K."""
    normal = math.sqrt(2.0 * depth / (law.variance * weights.energy))  # for a normal law
    pole = law.tail_rate / float(weights.sizes[0])
    if not math.isfinite(pole):
        return np.geomspace(normal / 50.0, 1.5 * normal, 64)
    share = normal / pole
    y = np.geomspace(share / 50.0, 5.0 * share if share < 0.05 else max(5.0 * share, 1e3), 64)
    return np.asarray(pole * y / (1.0 + y))
