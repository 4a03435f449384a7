"""The privacy loss of one shift of the noise, rounded to a grid so that δ(ε) only grows.

The loss ℓ = ln p(z)/p(z - d) falls as z rises.  Outcomes whose loss lies between two points of the
grid have a probability under z and one under the shifted z.  Their mass is split between both
points so that both probabilities stay what they are.  The curve δ(ε) then runs through its true
values at the points and on straight lines in e^ε between them, above the convex truth ("connect the
dots", Doroshenko et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.laws import Law
from hushfade.laws.law import between

UNIT = 2.0**-53
_ULPS = 16.0  # by which a probability of a tail may be wrong
_WIDEST = 0.5  # loss: grids are no coarser than if this were the standard deviation
_LARGEST = (
    700.0  # exponent of e that float64 holds; less than e^loss leaves more at the upper point
)
_REACH = 38.0  # standard deviations of Gaussian noise beyond which there is next to nothing


class Shift(NamedTuple):
    """A shift of the noise by `size` units, at `times` steps."""

    size: int
    times: int


@dataclass(frozen=True, eq=False)
class Block:
    """Losses of several shifts of one law, a row per shift.

    Row i has masses at losses step_i · (-reach, ..., reach).
    """

    step: Column
    masses: Matrix
    times: Signed
    infinite: float  # mass at an infinite loss, of all rows and times together

    @property
    def reach(self) -> int:
        """The number of points on either side of 0."""
        return int(self.masses.shape[1]) // 2

    def tilted(self, tilt: float) -> Matrix:
        """The masses times e^(tilt · loss), each row normalised."""
        _, weights = self._weighted(tilt)
        return np.asarray(weights / np.sum(weights, axis=1, keepdims=True))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """ln E e^(tilt · ℓ), and mean and variance under that tilt, of all rows and times."""
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

    def _weighted(self, tilt: float) -> tuple[Column, Matrix]:
        """Masses times e^(tilt · loss - top), and the top of each row."""
        index = np.arange(-self.reach, self.reach + 1)
        exponents = np.log(np.maximum(self.masses, 5e-324)) + tilt * self.step[:, None] * index
        top = np.max(exponents, axis=1)
        return top, np.exp(exponents - top[:, None])


def block(law: Law, shifts: Sequence[Shift], fineness: float) -> Block:
    """The losses of the shifts on grids of about `fineness` of their standard deviations."""
    sizes = np.array([shift.size for shift in shifts], dtype=np.float64)
    times = np.array([shift.times for shift in shifts], dtype=np.int64)
    ratio = sizes / law.stddev
    bounded = law.largest_loss(1) < math.inf
    if bounded:
        top = np.array([law.largest_loss(shift.size) for shift in shifts])
    else:
        top = ratio * (_REACH + ratio)
    # a loss is about as wide as its shift in standard deviations, or as half of its range
    width = np.minimum(np.minimum(top / 2.0, ratio), _WIDEST)
    reach = max(2, math.ceil(float(np.max(top / width)) / fineness))
    step = top / reach
    losses = step[:, None] * np.arange(-reach, reach + 1)
    outcomes = law.outcome_of_loss(sizes[:, None], losses[:, 1:])
    # outcomes in (low, high] have losses from losses[i] up to losses[i + 1]
    high = np.concatenate([np.full((len(sizes), 1), np.inf), outcomes[:, :-1]], axis=1)
    low = outcomes
    ours = between(law, low, high)
    theirs = between(law, low - sizes[:, None], high - sizes[:, None])
    gap = -np.expm1(-step)[:, None]
    tail = np.where(high <= 0, law.below(high), np.where(low >= 0, law.above(low), 1.0))
    slack = _ULPS * UNIT * tail
    root = np.exp(np.minimum(losses[:, :-1] / 2.0, _LARGEST))  # e^loss may be beyond float64
    # what rounding may have left at the lower point goes to the upper one: δ only grows
    up = np.clip((ours - root * theirs * root + 2.0 * slack) / gap, 0.0, ours)
    masses = np.zeros(losses.shape)
    masses[:, :-1] += ours - up + slack
    masses[:, 1:] += up + slack
    atoms = law.below(outcomes[:, -1]) * (1.0 + _ULPS * UNIT)  # the rest has the largest loss
    if bounded:
        masses[:, -1] += atoms
    return Block(step, masses, times, 0.0 if bounded else float(np.sum(atoms * times)))
