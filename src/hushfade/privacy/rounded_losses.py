"""The privacy loss of one shift of the noise, rounded to a grid in a way that only increases δ(ε).

The loss ℓ = ln p(z)/p(z - d) decreases as z increases.  Outcomes whose loss lies between two points
of the grid have one probability under z and another under the shifted z.  Their mass is split
between the two points so that both probabilities are preserved.  The curve δ(ε) then equals its
true values at the points.  Between them it is linear in e^ε, and lies above the true convex curve
("connect the dots", Doroshenko et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.laws import Law
from hushfade.laws.law import between

UNIT = 2.0**-53
_ULPS = 16.0  # the error of a tail probability, in units in the last place
_WIDEST = 0.5  # the largest standard deviation of a loss that sets the step of a grid
_LARGEST = (
    700.0  # e^700 fits into float64; using less than e^loss leaves more mass at the upper point
)
_POINTS = 1 << 20  # the most points of a grid on either side of 0
_REACH = 38.0  # standard deviations beyond which Gaussian noise has almost no mass


class Shift(NamedTuple):
    """A shift of the noise by `size` units, at `times` steps."""

    size: int
    times: int


@dataclass(frozen=True, eq=False)
class Block:
    """The losses of several shifts of one law, one row per shift.

    Row i has masses at losses step_i · (-reach, ..., reach).
    """

    step: Column
    masses: Matrix
    times: Signed
    infinite: float  # the mass at an infinite loss, of all rows and repetitions together

    @property
    def reach(self) -> int:
        """The number of points on either side of 0."""
        return int(self.masses.shape[1]) // 2

    def tilted(self, tilt: float) -> Matrix:
        """The masses times e^(tilt · loss), each row normalised."""
        _, weights = self._weighted(tilt)
        return np.asarray(weights / np.sum(weights, axis=1, keepdims=True))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """ln E e^(tilt · ℓ), and the tilted mean and variance, of all rows and repetitions."""
        top, weights = self._weighted(tilt)
        index = np.arange(-self.reach, self.reach + 1)
        mass = np.sum(weights, axis=1)
        mean = weights @ index / mass
        spread = np.sum(weights * (index - mean[:, None]) ** 2, axis=1) / mass
        times = self.times.astype(np.float64)
        return (
            float(np.sum(times * (np.log(mass) + top))),
            float(np.sum(times * self.step * mean)),
            float(np.sum(times * self.step**2 * spread)),
        )

    @cached_property
    def _logs(self) -> Matrix:
        return np.asarray(np.log(np.maximum(self.masses, 5e-324)))

    def _weighted(self, tilt: float) -> tuple[Column, Matrix]:
        """The masses times e^(tilt · loss - top), and the largest exponent `top` of each row."""
        index = np.arange(-self.reach, self.reach + 1)
        exponents = self._logs + tilt * self.step[:, None] * index
        top = np.max(exponents, axis=1)
        return top, np.exp(exponents - top[:, None])


def block(law: Law, shifts: Sequence[Shift], fineness: float) -> Block:
    """The losses of the shifts, on grids with a step of about `fineness` standard deviations."""
    sizes = np.array([shift.size for shift in shifts], dtype=np.float64)
    times = np.array([shift.times for shift in shifts], dtype=np.int64)
    stddev = law.stddev  # 0 if the noise is so small that it is always 0
    ratio = sizes / stddev if stddev > 0.0 else np.full(len(sizes), np.inf)
    bounded = law.largest_loss(1) < math.inf
    if bounded:
        top = np.array([law.largest_loss(shift.size) for shift in shifts])
    else:
        top = ratio * (_REACH + ratio)
    # the width of a loss is about its shift in standard deviations, or half of its range
    width = np.minimum(np.minimum(top / 2.0, ratio), _WIDEST)
    with np.errstate(divide="ignore", invalid="ignore"):  # not a number of points: refused
        points = float(np.max(top / width)) / fineness
    if not points <= _POINTS:
        raise InvalidValue(
            "the privacy loss is too large to compute",
            remedy="use a smaller epsilon, or the law 'gaussian'",
        )
    reach = max(2, math.ceil(points))
    step = top / reach
    losses = step[:, None] * np.arange(-reach, reach + 1)
    outcomes = law.outcome_of_loss(sizes[:, None], losses[:, 1:])
    # outcomes between two neighbouring edges have losses from losses[i] up to losses[i + 1]
    edges = np.concatenate([np.full((len(sizes), 1), np.inf), outcomes], axis=1)
    ours, tail = between(law, edges)
    theirs, _ = between(law, edges - sizes[:, None])
    gap = -np.expm1(-step)[:, None]
    slack = _ULPS * UNIT * tail
    root = np.exp(np.minimum(losses[:, :-1] / 2.0, _LARGEST))  # e^loss may overflow float64
    # move possible rounding errors from the lower point to the upper one, which only increases δ
    up = np.clip((ours - root * theirs * root + 2.0 * slack) / gap, 0.0, ours)
    masses = np.zeros(losses.shape)
    masses[:, :-1] += ours - up + slack
    masses[:, 1:] += up + slack
    atoms = law.below(outcomes[:, -1]) * (1.0 + _ULPS * UNIT)  # the rest has the largest loss
    if bounded:
        masses[:, -1] += atoms
    return Block(step, masses, times, 0.0 if bounded else float(np.sum(atoms * times)))
