"""Upper bounds on δ(ε) for independent noise that is shifted at many steps.

One record shifts the output of the private half by d_n, and the noise z_n has a symmetric
log-concave law.  The pair (z_n, z_n + d_n) dominates the step, and dominating pairs compose, even
adaptively (Zhu, Dong, Wang 2022, Theorem 10).  So with independent losses
ℓ_n = ln p(z_n)/p(z_n - d_n) and ℓ = Σ ℓ_n,

    δ(ε) = E (1 - e^(ε - ℓ))_+

Each ℓ_n is rounded to a grid in a way that can only increase δ (`rounded_losses`).  Equal shifts
are composed on a grid of their own, and then all shifts on one common grid, by FFT.  The laws are
tilted by e^(θℓ), so that the mass lies near ε and a small δ is as accurate as a large one:

    δ(ε) = M(θ) e^(-θε) E_θ g(ℓ - ε),    g(s) = e^(-θs) (1 - e^(-s))_+ ≤ 1

The result includes bounds on the rounding errors of the masses, on the errors of the FFTs, and on
the mass outside the grids.  Since g ≤ 1, each of them adds at most its own size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Matrix, Signed
from hushfade.laws import Law
from hushfade.privacy.repeated_losses import (
    DEVIATIONS,
    MANY,
    NOTHING,
    Repeated,
    Rounding,
    fft_error,
    halves,
    repeated,
    tails,
)
from hushfade.privacy.rounded_losses import Block, Shift, block

_POINTS = 1 << 18  # approximate points of the common grid; a wider one is coarser
_AT_ONCE = 1 << 22  # masses on the common grid at a time
_STEEPEST = 1000.0  # the largest tilt times the standard deviation of the loss
_NARROWEST = 0.02  # the least tilted standard deviation, as a share of the untilted one
_COARSER = 0.03  # the fineness of the grid of shifts that occur MANY times
_WIDER = 64  # how often a grid is doubled before the bound counts as not computable
_INVERTED = 1e-6  # relative accuracy of ε(δ)
_CLOSE = 0.5  # standard deviations of the loss over which `deltas` uses one distribution
_CURVE = 0.02  # step of a largest curve, in standard deviations of the loss
_MOST_CURVE = 1 << 14  # the most steps of a largest curve
_NO_MASS = 1e-100  # the mass at which a largest curve ends; it counts as an infinite loss
_SLACK = 1e-9  # relative margin of a largest curve, for its rounding errors
LEAST = sys.float_info.min  # float64 is exact to a relative 2^-53 down to here; a smaller δ is > 0

_Numbers = TypeVar("_Numbers", NDArray[np.float64], NDArray[np.complex128])


class Fineness(NamedTuple):
    """The spacings of the grids, in standard deviations of the losses on them."""

    single: float  # for the loss of one step
    common: float  # for the sum of all losses


FINE = Fineness(0.02, 0.004)
COARSE = Fineness(0.1, 0.03)  # for searches


class Losses:
    """The distribution of the privacy loss of a record that shifts independent noise.

    >>> from hushfade.laws import Laplace
    >>> loss = Losses([(Laplace(slope=2.0**-7), [Shift(128, times=1)])])  # 1 - e^-¼ at ε = ½
    >>> round(loss.delta(0.5), 3), loss.delta(1.0)
    (0.221, 0.0)
    """

    def __init__(
        self,
        shifted: Iterable[tuple[Law, Iterable[Shift]]],
        fineness: Fineness = FINE,
        choices: Iterable[tuple[Sequence[Losses], int]] = (),
    ) -> None:
        self._parts = [(law, [shift for shift in shifts if shift.size]) for law, shifts in shifted]
        self._fineness = fineness
        self._choices = list(choices)
        self.largest = _largest(self._parts, self._choices)

    @cached_property
    def _blocks(self) -> list[Block]:
        blocks = [
            block(law, group, fine)
            for law, shifts in self._parts
            for group, fine in _grouped(shifts, self._fineness)
            if group
        ]
        for several, times in self._choices:
            if cases := [case for case in several if case._blocks]:
                row = _largest_curve(tuple(cases))
                blocks.append(replace(row, times=row.times * times, infinite=row.infinite * times))
        return blocks

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), for ε ≥ 0.

        Cost: about 10 ms for 30 different shifts.
        """
        if epsilon >= self.largest or not self._blocks:
            return 0.0
        return self._bounds(epsilon, [epsilon])[0]

    def deltas(self, epsilons: Sequence[float]) -> Iterator[float]:
        """Upper bounds on δ(ε) for rising ε ≥ 0, with one distribution for all ε that are close."""
        left = list(epsilons)
        while left and left[0] < self.largest and self._blocks:
            most = min(left[0] + _CLOSE * self._deviation, self.largest)
            here = [left[0], *(epsilon for epsilon in left[1:] if epsilon < most)]
            yield from self._bounds(here[len(here) // 2], here)
            left = left[len(here) :]
        yield from (0.0 for _ in left)

    def _bounds(self, middle: float, epsilons: Sequence[float]) -> list[float]:
        """Upper bounds on δ at each ε, which are tight if ε is near the middle.

        The bounds are 1 if they cannot be computed, because a number exceeds float64.
        """
        try:
            return self._computed_bounds(middle, epsilons)
        except ArithmeticError:
            return [1.0] * len(epsilons)

    def _computed_bounds(self, middle: float, epsilons: Sequence[float]) -> list[float]:
        tilt = self._tilt(middle)
        log_mass = self._moments(tilt)[0]
        groups: list[Repeated] = []
        rounding: list[Rounding] = []
        for taps in self._blocks:
            own, added = repeated(taps, tilt)
            groups += own
            rounding += added
        grid, outside = self._grid(middle, tilt, sum(len(one.step) for one in groups), rounding)
        product = np.ones(grid.points // 2 + 1, dtype=np.complex128)
        total = math.prod(added.size for added in rounding)
        lost = math.fsum([*(one.missing for one in groups), *(one.missing for one in rounding)])
        rows = 0
        for step, low, masses, _ in groups:
            rows += len(step)
            together = max(1, _AT_ONCE // grid.points)
            for start in range(0, len(step), together):
                some = slice(start, start + together)
                placed = grid.split(step[some], low[some], masses[some], tilt)
                size = np.sum(placed, axis=1)
                product *= np.prod(np.fft.rfft(placed / size[:, None]), axis=0)
                total *= float(np.prod(size))
        masses = np.maximum(np.fft.irfft(product, grid.points), 0.0)
        wrong = 2.0 * (1 + rows) * grid.points * fft_error(grid.points)
        bounds = []
        for epsilon in epsilons:
            beyond = np.maximum(grid.losses - epsilon, 0.0)
            inside = float(np.sum(masses * np.exp(-tilt * beyond) * -np.expm1(-beyond)))
            bound = total * (inside + wrong + lost + 2.0 * outside)
            scale = math.exp(min(log_mass - tilt * epsilon, 700.0))
            bound = scale * bound * (1.0 + 1e-9) + self._infinite
            bounds.append(max(bound, LEAST) if bound < 1.0 else 1.0)  # 1 also for NaN
        return bounds

    def _grid(
        self, epsilon: float, tilt: float, rows: int, rounding: list[Rounding]
    ) -> tuple[_Grid, float]:
        """The common grid for that number of losses, and a bound on the tilted mass outside it."""
        log_mass, mean, variance = self._moments(tilt)
        deviation = max(math.sqrt(variance), _NARROWEST * self._deviation)

        def shifted(t: float) -> float:
            growth = math.fsum(added.growth(tilt + t) for added in rounding)
            return self._moments(tilt + t)[0] - log_mass + growth

        reach = math.fsum(
            float(np.sum(taps.times * taps.step)) * taps.reach for taps in self._blocks
        ) + math.fsum(added.moved for added in rounding)
        grid = _Grid.around(epsilon, mean, deviation, self._fineness.common)
        for _ in range(_WIDER):
            outside = tails(shifted, *grid.span(rows), mean, variance, reach)
            if outside <= NOTHING:
                return grid, outside
            grid = grid.wider()
        raise OverflowError("no grid holds the loss")

    def epsilon(self, delta: float) -> float:
        """The smallest ε whose bound on δ is at most `delta`, up to a relative 1e-6."""
        if not delta > 0.0 or not self._blocks or not delta > max(self._infinite, LEAST):
            return self.largest

        def excess(epsilon: float) -> float:
            return max(math.log(max(self.delta(epsilon), 5e-324) / delta), -50.0)

        low, above = 0.0, excess(0.0)
        if above <= 0.0:
            return 0.0
        high = self.largest if self.largest < math.inf else 1.0
        while (below := excess(high)) > 0.0:
            low, above, high = high, below, 2.0 * high
        kept = 0  # how often the same end was kept in a row; the sign shows which end
        while high - low > _INVERTED * high:
            share = min(max(above / (above - below), 0.05), 0.95) if abs(kept) < 3 else 0.5
            middle = low + share * (high - low)
            value = excess(middle)
            if value > 0.0:
                low, above, kept = middle, value, max(kept, 0) + 1
            else:
                high, below, kept = middle, value, min(kept, 0) - 1
        return high

    def _tilt(self, epsilon: float) -> float:
        """A θ > 0 for which the tilted mean is about ε, or the steepest θ."""
        low, tilt, high = 0.0, 1.0, _STEEPEST / self._deviation
        for _ in range(60):
            _, mean, variance = self._moments(tilt)
            low, high = (tilt, high) if mean < epsilon else (low, tilt)
            new = tilt + (epsilon - mean) / max(variance, 1e-300)
            if not low < new < high:
                new = min(math.sqrt(low * high) if low > 0.0 else high / 2.0, 4.0 * tilt)
            if abs(new - tilt) <= 1e-2 * tilt:
                break
            tilt = new
        return tilt

    @cached_property
    def _infinite(self) -> float:
        """The mass at an infinite loss."""
        return math.fsum(taps.infinite for taps in self._blocks)

    @cached_property
    def _deviation(self) -> float:
        """The standard deviation of the loss."""
        return math.sqrt(self._moments(0.0)[2])

    def _moments(self, tilt: float) -> tuple[float, float, float]:
        """ln M(θ), and the mean and the variance of the tilted loss."""
        several = [taps.moments(tilt) for taps in self._blocks]
        log_mass, mean, variance = (math.fsum(part) for part in zip(*several, strict=True))
        return log_mass, mean, variance


def _largest(
    parts: list[tuple[Law, list[Shift]]], choices: list[tuple[Sequence[Losses], int]]
) -> float:
    """The largest loss of all shifts together, rounded up."""
    if any(law.largest_loss(1) == math.inf for law, shifts in parts if shifts):
        return math.inf
    if any(case.largest == math.inf for cases, _ in choices for case in cases):
        return math.inf
    total = sum(
        (Fraction(law.largest_loss(1)) * size * times
         for law, shifts in parts for size, times in shifts), Fraction(0),
    )  # fmt: skip
    total += sum(Fraction(max(case.largest for case in cases)) * times for cases, times in choices)
    nearest = float(total)
    return nearest if Fraction(nearest) >= total else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=128)
def _largest_curve(cases: tuple[Losses, ...]) -> Block:
    """A loss whose δ(ε) is, at every ε, at least the largest δ(ε) of the cases.

    The pairs of distributions of all cases are symmetric: p(-ε) = p(ε) e^-ε, and so δ(-ε) =
    1 - e^-ε (1 - δ(ε)).  As a function of x = e^ε, each δ is convex and falls.  The largest δ has
    the same properties, so it belongs to a pair of distributions, too (Zhu, Dong, Wang 2022).

    Masses p_i at the losses ih, and the rest at an infinite loss, have

        δ(jh) = δ((j+1)h) + (1 - e^-h) s_{j+1}        s_j = p_j + e^-h s_{j+1}

    Downwards from the last loss, each s_j is the smallest number for which δ((j-1)h) is large
    enough and p_j ≥ 0.  Between two losses this δ is linear in x.  It lies above the convex curve
    there, because it does at both ends.  All terms are positive, so _SLACK exceeds their rounding
    errors.  The mass at 0 completes the total to 1; a larger total only increases δ.
    """
    step = min(1.0, _CURVE * min(case._deviation for case in cases))
    top, count = max(case.largest for case in cases), _MOST_CURVE
    if top <= count * step:  # the last loss is the largest loss
        count = math.ceil(top / step)
        step = top / count * (1.0 + _SLACK)
    curve = np.zeros(count + 1)
    last, infinite = 0, 0.0
    for case in cases:
        place, bound = 0, 1.0
        for place, bound in enumerate(case.deltas((step * np.arange(count + 1)).tolist())):
            curve[place] = max(curve[place], bound * (1.0 + _SLACK))
            if bound <= _NO_MASS:
                break
        last, infinite = max(last, place), max(infinite, bound * (1.0 + _SLACK))
    fall, gap = math.exp(-step), -math.expm1(-step)
    masses = np.zeros(2 * last + 1)
    delta, above = infinite, 0.0
    for place in range(last, 0, -1):
        total = max(above, (float(curve[place - 1]) - delta) / gap)
        masses[last + place] = total - above
        delta += gap * total
        above = fall * total
    masses[:last] = (masses[last + 1 :] * np.exp(-step * np.arange(1, last + 1)))[::-1]
    masses[last] = max(0.0, 1.0 - infinite - float(np.sum(masses)))
    return Block(np.array([step]), masses[None, :] * (1.0 + _SLACK), np.array([1]), infinite)


def _grouped(shifts: list[Shift], fineness: Fineness) -> list[tuple[list[Shift], float]]:
    """Groups of shifts, each with the fineness of its grid.

    Shifts that occur many times have a coarser grid: their grids are long, and the rounding of many
    independent losses averages out.
    """
    few = [shift for shift in shifts if shift.times <= MANY]
    many = [shift for shift in shifts if shift.times > MANY]
    return [(few, fineness.single), (many, max(fineness.single, _COARSER))]


class _Grid(NamedTuple):
    """The common grid around a mean: losses step · index, with indices modulo `points`."""

    step: float
    points: int  # a power of two
    first: int

    @classmethod
    def around(cls, epsilon: float, mean: float, deviation: float, fineness: float) -> _Grid:
        """A grid that covers enough standard deviations on both sides of the mean.

        ε is one of its points, because the bound is tight there, unless ε lies below the first.
        """
        step = fineness * deviation
        width = 2.0 * (DEVIATIONS * deviation + abs(epsilon - mean)) + 16.0 * step
        step = max(step, width / _POINTS)
        if epsilon > step:
            step = epsilon / math.ceil(epsilon / step)
        points = 1 << math.ceil(math.log2(width / step))
        return cls(step, points, math.floor(mean / step) - points // 2)

    def wider(self) -> _Grid:
        """A grid twice as wide around the same mean, with more points or a larger step."""
        if self.points < 2 * _POINTS:
            return _Grid(self.step, 2 * self.points, self.first - self.points // 2)
        middle = self.first + self.points // 2
        return _Grid(2.0 * self.step, self.points, middle // 2 - self.points // 2)

    def span(self, rows: int) -> tuple[float, float]:
        """The range of losses on the grid after `rows` losses were rounded by less than a step."""
        low, high = self.first + 1 + rows, self.first + self.points - 2 - rows
        return self.step * low, self.step * high

    @property
    def losses(self) -> Column:
        """The loss at each point."""
        places = np.arange(self.points)
        return np.asarray(self.step * (self.first + (places - self.first) % self.points))

    def split(self, step: Column, low: Signed, masses: Matrix, tilt: float) -> Matrix:
        """Rows of tilted masses at losses step · (low, low + 1, ...), rounded to this grid.

        The mass at an ℓ between two points is split so that Σ p and Σ p e^-ℓ do not change.
        """
        rows = len(masses)
        below, lower, upper = halves(step, low, masses, self.step, tilt)
        place = below & (self.points - 1)
        row = self.points * np.arange(rows)[:, None]
        placed = np.bincount((row + place).ravel(), lower.ravel(), rows * self.points)
        above = (place + 1) & (self.points - 1)
        placed += np.bincount((row + above).ravel(), upper.ravel(), rows * self.points)
        return np.asarray(placed.reshape(rows, self.points), dtype=np.float64)
