"""The search for the best blend of noise on the inputs and the paper's factor, with Huber's law.

    r = 1 + c (√g - 1),  0 < c ≤ 1        c = 0: noise on the inputs; c = 1: the square root
    κ = core · slope                      κ → 0: Laplace's law; κ → ∞: the normal law

For each (c, κ) the guarantee determines the slope, and the error is (standard deviation of the
noise) · ‖g/r‖.  The search computes errors from a coarse bound on the privacy loss.  The noise of
the plan comes from the fine bound for its integer taps (`noise_scale`).

(c, κ) lie on a fixed grid, and the search rounds errors before it compares them.  So the result is
the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors.columns import parts, sum_of_squares
from hushfade.factors.fast_division import quotient
from hushfade.factors.taps import RootTaps, blended
from hushfade.laws import Huber
from hushfade.privacy.rounded_losses import Shift, block

_SERIES = 1 << 13  # terms of g/r that are computed; later terms are proportional to √g
_PRODUCTS = 10**7  # the most products for one more loss of a blend
_LARGE = 6  # taps whose losses are composed one by one; the others together count as Gaussian
_FINENESS = 0.05  # fineness of the grid for these losses
_PARTS = 24  # c is a multiple of 1/24
_STEPS = 3  # κ is a power of 2^(1/3)
_KAPPAS = range(-9, 13)  # exponents of κ: from 1/8 to 16
_UNITS = 2.0**24  # units per record, to which the search rounds shifts
_SETTLED = 2.0**-20  # relative grid to which errors are rounded
_ROUNDS = 30  # rounds of the search for a slope


class Blend(NamedTuple):
    """A right factor r = 1 + c (√g - 1), the shape of its noise, and their error."""

    c: float
    kappa: float
    error: float  # the largest standard deviation, for records that change by 1
    slope: float  # the slope of the noise in its tails, for records that change by 1


def best_blend(decay: Decay, steps: int, epsilon: float, delta: float, lanes: int = 1) -> Blend:
    """The blend with the smallest error over `steps` steps.

    `lanes` is the number of lanes that one record changes by 1.  Cost: about 0.15 s.
    """
    curve = _Curve(decay, steps, lanes, epsilon, delta)

    def error(place: tuple[int, int]) -> int:
        return math.floor(math.log(curve.blend(place).error) / _SETTLED)

    place = (12, 3)
    for stride in (4, 2, 1):
        while True:
            around = [place, *_neighbours(place, stride)]
            best = min(around, key=error)
            if best == place:
                break
            place = best
    return curve.blend(place)


def _neighbours(place: tuple[int, int], stride: int) -> list[tuple[int, int]]:
    c, kappa = place
    moves = [(c - stride, kappa), (c + stride, kappa), (c, kappa - stride), (c, kappa + stride)]
    moves += [(c - stride, kappa - stride), (c + stride, kappa + stride)]
    return [(i, j) for i, j in moves if 1 <= i <= _PARTS and j in _KAPPAS]


class _Curve:
    """The errors of one decay's blends."""

    def __init__(self, decay: Decay, steps: int, lanes: int, epsilon: float, delta: float) -> None:
        root = RootTaps(decay).first(steps)
        self._root = root if root[0] == 1.0 else root / root[0]
        self._weights = decay.weights(min(steps, _SERIES))
        self._lanes, self._epsilon, self._log_delta = lanes, epsilon, math.log(delta)
        large = _largest(self._root[1:], _LARGE)
        self._large = large[::-1]
        self._rest = max(sum_of_squares(self._root[1:]) - float(np.sum(large * large)), 0.0)
        self._later = sum_of_squares(self._root[_SERIES:])  # of the terms that are not computed
        self._slope = epsilon / 2.0
        self._blends: dict[tuple[int, int], Blend] = {}
        self._lefts: dict[int, float] = {}

    def blend(self, place: tuple[int, int]) -> Blend:
        """The blend at a point of the grid, with its error."""
        if place not in self._blends:
            part, exponent = place
            c, kappa = part / _PARTS, 2.0 ** (exponent / _STEPS)
            self._slope = solve_slope(
                lambda slope: self._bound(c, _law(slope, kappa)), self._log_delta, self._slope
            )
            error = _law(self._slope, kappa).stddev / _UNITS * self._left(part)
            self._blends[place] = Blend(c, kappa, error, self._slope)
        return self._blends[place]

    def _left(self, part: int) -> float:
        """‖g/r‖ over the steps; beyond the computed terms g/r is about proportional to √g."""
        if part not in self._lefts:
            n = len(self._weights)
            right = blended(self._root[:n], part / _PARTS)
            left = quotient(self._weights, right)
            total = float(np.sum(left * left))
            if n < len(self._root):
                last = slice(n - n // 8, n)
                ratio = float(np.sum(left[last] ** 2) / np.sum(self._root[last] ** 2))
                total += ratio * self._later
            self._lefts[part] = math.sqrt(total)
        return self._lefts[part]

    def _bound(self, c: float, law: Huber) -> float:
        """An estimate of ln δ(ε): large taps one by one, and all others as one Gaussian shift.

        A small shift d has the loss of Gaussian noise with μ² = d² · (Fisher information).
        """
        sizes = np.rint(np.append(1.0, c * self._large) * _UNITS).astype(np.int64)
        taps = block(law, [Shift(size, 1) for size in sizes.tolist() if size], _FINENESS)
        step = float(np.max(taps.step))
        masses, low = np.ones(1), 0
        for row, own in zip(taps.masses, taps.step.tolist(), strict=True):
            reach = math.ceil(taps.reach * own / step) + 1
            places = np.arange(-taps.reach, taps.reach + 1) * (own / step) + reach
            below = np.floor(places)
            up = (places - below) * row
            index = below.astype(np.int64)
            placed = np.bincount(index, row - up, 2 * reach + 1)
            placed += np.bincount(index + 1, up, 2 * reach + 1)
            if not len(masses) * len(placed) <= _PRODUCTS:
                raise InvalidValue(
                    "the privacy loss is too large to compute for a blend",
                    remedy="use a smaller epsilon, or another law",
                )
            for _ in range(self._lanes):
                masses, low = np.convolve(masses, placed), low - reach
        mu = c * _UNITS * math.sqrt(self._lanes * self._rest * law.fisher_information)
        beyond = self._epsilon - step * np.arange(low, low + len(masses), dtype=np.float64)
        return math.log(max(float(np.sum(masses * _gaussian(beyond, max(mu, 1e-9)))), 1e-320))


def _largest(column: Column, count: int) -> Column:
    """The largest absolute values, sorted: `count` of them, or all if there are fewer.

    >>> _largest(np.array([-3.0, 1.0, 2.0]), 2)
    array([2., 3.])
    """
    large = np.empty(0)
    for here in parts(len(column)):
        size = np.abs(column[here])
        if len(large) < count or np.max(size) > large[0]:
            large = np.sort(np.append(large, size))[-count:]
    return large


def _law(slope: float, kappa: float) -> Huber:
    return Huber(slope / _UNITS, max(1, round(kappa / slope * _UNITS)))


def _gaussian(epsilon: Column, mu: float) -> Column:
    """δ(ε) of mu-Gaussian differential privacy, for any real ε."""
    from scipy.special import log_ndtr

    a, b = mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu
    return np.asarray(np.exp(log_ndtr(a)) - np.exp(epsilon + log_ndtr(b)))


def solve_slope(log_delta: Callable[[float], float], wanted: float, guess: float) -> float:
    """The slope with log_delta(slope) = wanted, to about 1e-4, by secant steps within a bracket."""
    x, rate = math.log(guess), 30.0
    low, high = -math.inf, math.inf
    y = log_delta(guess) - wanted
    for _ in range(_ROUNDS):
        low, high = (low, x) if y > 0 else (x, high)
        if abs(y) < 0.02 or high - low < 1e-4:
            break
        step = max(-0.5, min(0.5, y / rate))
        new = x - step
        if not low + 0.02 * (high - low) < new < high - 0.02 * (high - low) and high - low < 9.0:
            new = (low + high) / 2.0
        value = log_delta(math.exp(new)) - wanted
        if value > -20.0 and y > -20.0:
            rate = max((value - y) / (new - x), 1.0)
        x, y = new, value
    return math.exp(x - y / rate if abs(y) < 1.0 else x)
