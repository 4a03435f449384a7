"""Upper bounds on δ(ε) for independent noise that is shifted at many steps.

One record moves the private half's output by shifts d_n, and the noise z_n has a symmetric
log-concave law.  The pair (z_n, z_n + d_n) dominates the step, and dominating pairs compose, also
adaptively (Zhu, Dong, Wang 2022, Theorem 10).  So with independent losses
ℓ_n = ln p(z_n)/p(z_n - d_n) and ℓ = Σ ℓ_n,

    δ(ε) = E (1 - e^(ε - ℓ))_+

Each ℓ_n is rounded to a grid so that δ only grows (`rounded_losses`).  Equal shifts are composed on
a grid of their own, then all of them on one common grid, by FFT.  The laws are tilted by e^(θℓ), so
that the mass lies near ε and a small δ is as accurate as a large one:

    δ(ε) = M(θ) e^(-θε) E_θ g(ℓ - ε),    g(s) = e^(-θs) (1 - e^(-s))_+ ≤ 1

Rounding errors of the masses, errors of the FFTs, and mass outside the grids are bounded and added:
since g ≤ 1, each costs at most its own size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.laws import Law
from hushfade.privacy.rounded_losses import UNIT, Block, Shift, block

_DEVIATIONS = 11.0  # of a tilted loss, on both sides, that a grid holds
_WHOLE = 1 << 11  # points of a grid that is never cut
_POINTS = 1 << 18  # of the common grid, about; a longer one is coarser
_AT_ONCE = 1 << 22  # masses on the common grid at a time
_MOST = 1 << 25  # points of a row with its repetitions
_NOTHING = 1e-13  # tilted mass that may be cut off
_STEEPEST = 1000.0  # tilt, by the standard deviation of the loss
_NARROWEST = 0.02  # of the deviation without a tilt: grids take no tilted loss for narrower
_MANY, _COARSER = 256, 0.03  # times from which a shift has a coarser grid, and its fineness
_INVERTED = 1e-6  # relative accuracy of ε(δ)

_Numbers = TypeVar("_Numbers", NDArray[np.float64], NDArray[np.complex128])


class Fineness(NamedTuple):
    """How fine the grids are, in standard deviations of what they hold."""

    single: float  # for one step's loss
    common: float  # for the sum of all


FINE = Fineness(0.02, 0.004)
COARSE = Fineness(0.1, 0.03)  # for searches


class Losses:
    """The loss of a record that shifts independent noise.

    >>> from hushfade.laws import Laplace
    >>> loss = Losses([(Laplace(slope=2.0**-7), [Shift(128, times=1)])])  # 1 - e^-¼ at ε = ½
    >>> round(loss.delta(0.5), 3), loss.delta(1.0)
    (0.221, 0.0)
    """

    def __init__(
        self, shifted: Iterable[tuple[Law, Iterable[Shift]]], fineness: Fineness = FINE
    ) -> None:
        parts = [(law, [shift for shift in shifts if shift.size]) for law, shifts in shifted]
        self._fineness = fineness
        self._blocks = [
            block(law, group, fine)
            for law, shifts in parts
            for group, fine in _grouped(shifts, fineness)
            if group
        ]
        self.largest = _largest(parts)

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε), for ε ≥ 0.

        Cost: about 10 ms for 30 different shifts.
        """
        if not self._blocks or epsilon >= self.largest:
            return 0.0
        tilt = self._tilt(epsilon)
        log_mass, mean, variance = self._moments(tilt)
        deviation = max(math.sqrt(variance), _NARROWEST * self._deviation)
        grid = _Grid.around(epsilon, mean, deviation, self._fineness.common)

        def shifted(t: float) -> float:
            return self._moments(tilt + t)[0] - log_mass

        reach = math.fsum(
            float(np.sum(taps.times * taps.step)) * taps.reach for taps in self._blocks
        )
        rows = sum(len(taps.times) for taps in self._blocks)
        while True:
            outside = _tails(shifted, *grid.span(rows), mean, variance, reach)
            if outside <= _NOTHING:
                break
            grid = grid.wider()
        product = np.ones(grid.points // 2 + 1, dtype=np.complex128)
        total, lost = 1.0, 0.0
        for taps in self._blocks:
            for step, low, masses, missing in _repeated(taps, tilt):
                together = max(1, _AT_ONCE // grid.points)
                for start in range(0, len(step), together):
                    some = slice(start, start + together)
                    placed = grid.split(step[some], low[some], masses[some], tilt)
                    size = np.sum(placed, axis=1)
                    product *= np.prod(np.fft.rfft(placed / size[:, None]), axis=0)
                    total *= float(np.prod(size))
                lost += missing
        masses = np.maximum(np.fft.irfft(product, grid.points), 0.0)
        beyond = np.maximum(grid.losses - epsilon, 0.0)
        inside = float(np.sum(masses * np.exp(-tilt * beyond) * -np.expm1(-beyond)))
        fft_error = 2.0 * (1 + rows) * grid.points * _fft_error(grid.points)
        bound = total * (inside + fft_error + lost) + 2.0 * outside
        infinite = math.fsum(taps.infinite for taps in self._blocks)
        scale = math.exp(min(log_mass - tilt * epsilon, 1.0))
        return min(1.0, scale * bound * (1.0 + 1e-9) + infinite)

    def epsilon(self, delta: float) -> float:
        """An ε whose bound on δ is at most `delta`; the smallest, up to a relative 1e-6."""
        if delta <= 0.0 or not self._blocks:
            return self.largest

        def excess(epsilon: float) -> float:
            return max(math.log(max(self.delta(epsilon), 5e-324) / delta), -50.0)

        low, above = 0.0, excess(0.0)
        if above <= 0.0:
            return 0.0
        high = self.largest if self.largest < math.inf else 1.0
        while (below := excess(high)) > 0.0:
            low, above, high = high, below, 2.0 * high
        kept = 0  # times that the same end was kept, by its sign
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
        """θ > 0 at which the tilted mean is ε, roughly, or the steepest."""
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
    def _deviation(self) -> float:
        """The standard deviation of the loss."""
        return math.sqrt(self._moments(0.0)[2])

    def _moments(self, tilt: float) -> tuple[float, float, float]:
        """ln M(θ), and mean and variance of the tilted loss."""
        several = [taps.moments(tilt) for taps in self._blocks]
        log_mass, mean, variance = (math.fsum(part) for part in zip(*several, strict=True))
        return log_mass, mean, variance


def _largest(parts: list[tuple[Law, list[Shift]]]) -> float:
    """The largest loss of all shifts together, rounded up."""
    if any(law.largest_loss(1) == math.inf for law, shifts in parts if shifts):
        return math.inf
    total = sum(
        (Fraction(law.largest_loss(1)) * size * times
         for law, shifts in parts for size, times in shifts), Fraction(0),
    )  # fmt: skip
    nearest = float(total)
    return nearest if Fraction(nearest) >= total else math.nextafter(nearest, math.inf)


def _grouped(shifts: list[Shift], fineness: Fineness) -> list[tuple[list[Shift], float]]:
    """The shifts with a grid's fineness: a coarser one for those that occur many times.

    Their grids are long, and the rounding of many independent losses averages out.
    """
    few = [shift for shift in shifts if shift.times <= _MANY]
    many = [shift for shift in shifts if shift.times > _MANY]
    return [(few, fineness.single), (many, max(fineness.single, _COARSER))]


class _Grid(NamedTuple):
    """The common grid: losses step · index, indices modulo points, around a mean."""

    step: float
    points: int  # a power of two
    first: int

    @classmethod
    def around(cls, epsilon: float, mean: float, deviation: float, fineness: float) -> _Grid:
        """A grid for enough deviations on both sides of the mean.

        ε is one of its points unless it lies below the first: the bound is tight at the points.
        """
        step = fineness * deviation
        width = 2.0 * (_DEVIATIONS * deviation + abs(epsilon - mean)) + 16.0 * step
        step = max(step, width / _POINTS)
        if epsilon > step:
            step = epsilon / math.ceil(epsilon / step)
        points = 1 << math.ceil(math.log2(width / step))
        return cls(step, points, math.floor(mean / step) - points // 2)

    def wider(self) -> _Grid:
        """A grid twice as wide around the same mean: of more points, or else coarser."""
        if self.points < 2 * _POINTS:
            return _Grid(self.step, 2 * self.points, self.first - self.points // 2)
        middle = self.first + self.points // 2
        return _Grid(2.0 * self.step, self.points, middle // 2 - self.points // 2)

    def span(self, rows: int) -> tuple[float, float]:
        """The losses that it holds after `rows` losses were rounded to it, each by less than a
        step."""
        low, high = self.first + 1 + rows, self.first + self.points - 2 - rows
        return self.step * low, self.step * high

    @property
    def losses(self) -> Column:
        """The loss at each place."""
        places = np.arange(self.points)
        return np.asarray(self.step * (self.first + (places - self.first) % self.points))

    def split(self, step: Column, low: Signed, masses: Matrix, tilt: float) -> Matrix:
        """Rows of tilted masses at losses step · (low, low + 1, ...), rounded to this grid.

        Mass at ℓ between two points goes to both, so that Σ p and Σ p e^-ℓ stay what they are.
        """
        rows, width = masses.shape
        losses = step[:, None] * (low[:, None] + np.arange(width))
        below = np.floor(losses / self.step)
        rest = losses - below * self.step
        up = np.clip(np.expm1(-rest) / math.expm1(-self.step), 0.0, 1.0)
        place = below.astype(np.int64) & (self.points - 1)
        row = self.points * np.arange(rows)[:, None]
        masses = masses * np.exp(-tilt * rest)
        lower = masses * (1.0 - up + 8.0 * UNIT)
        upper = masses * (math.exp(tilt * self.step) * (up + 8.0 * UNIT))
        placed = np.bincount((row + place).ravel(), lower.ravel(), rows * self.points)
        above = (place + 1) & (self.points - 1)
        placed += np.bincount((row + above).ravel(), upper.ravel(), rows * self.points)
        return np.asarray(placed.reshape(rows, self.points), dtype=np.float64)


class _Repeated(NamedTuple):
    """Tilted losses of taps with all their repetitions, relative to their M(θ)."""

    step: Column
    low: Signed  # index of the first mass of each row
    masses: Matrix
    missing: float  # a bound on what all rows together lack


def _repeated(taps: Block, tilt: float) -> list[_Repeated]:
    """The taps of a block with their repetitions, grouped by the size of their grids."""
    weights, reach = taps.tilted(tilt), taps.reach
    index = np.arange(-reach, reach + 1)
    mean = weights @ index
    spread = np.sum(weights * (index - mean[:, None]) ** 2, axis=1)
    counts, beyond = _counts(weights, taps.times, mean, spread)
    groups = []
    for count in np.unique(counts):
        rows = counts == count
        times, size = taps.times[rows], int(count)
        transform = np.fft.rfft(weights[rows], size)
        whole = np.fft.irfft(_raised(transform, times), size)  # index i at i + times · reach
        ends = times * reach
        low = np.where(2 * ends < size, -ends, np.rint(times * mean[rows]).astype(int) - size // 2)
        places = (np.arange(size) + (low + ends)[:, None]) % size
        masses = np.maximum(np.take_along_axis(whole, places, axis=1), 0.0)
        error = _fft_error(size)
        length = np.minimum(np.abs(transform) + error, 1.0)
        spectrum = np.sum(_raised(length, times - 1), axis=1)
        rounding = 2.0 * (2.0 * error * times * spectrum + error * size)
        missing = float(np.sum(rounding) + 2.0 * np.sum(beyond[rows]))
        inside = np.flatnonzero(np.max(masses, axis=0) > UNIT)  # the rest is mostly rounding
        first, last = int(inside[0]), int(inside[-1]) + 1
        missing += 2.0 * float(np.sum(masses[:, :first]) + np.sum(masses[:, last:]))
        groups.append(_Repeated(taps.step[rows], low + first, masses[:, first:last], missing))
    return groups


def _raised(rows: _Numbers, powers: Signed) -> _Numbers:
    """Each row to its power, by repeated squaring.

    The relative error of n-th powers is at most n times that of the row and its rounding.
    """
    raised = np.ones_like(rows)
    for row, power in enumerate(powers.tolist()):
        square, left = rows[row].copy(), power
        while left:
            if left % 2:
                raised[row] *= square
            square *= square
            left //= 2
    return raised


def _counts(weights: Matrix, times: Signed, mean: Column, spread: Column) -> tuple[Signed, Column]:
    """The number of points, a power of two, for each row with its repetitions; what it cuts off."""
    reach = weights.shape[1] // 2
    index = np.arange(-reach, reach + 1)
    logs = np.log(np.maximum(weights, 5e-324))
    support = 2 * times * reach + 1
    width = np.maximum(2.0 * _DEVIATIONS * np.sqrt(times * spread), weights.shape[1])
    counts, beyond = np.empty(len(times), dtype=np.int64), np.zeros(len(times))
    for row in range(len(times)):
        count = max(1 << math.ceil(math.log2(width[row])), min(_WHOLE, _power(support[row])))
        centre, variance = float(times[row] * mean[row]), float(times[row] * spread[row])

        def log_mass(t: float, row: int = row) -> float:
            return int(times[row]) * _log_sum(logs[row] + t * index)

        while count < support[row]:
            ends = round(centre) - count // 2 - 0.5, round(centre) + count // 2 - 0.5
            beyond[row] = _tails(log_mass, *ends, centre, variance, float(times[row] * reach))
            if beyond[row] <= _NOTHING:
                break
            beyond[row] = 0.0
            count *= 2
        if count > _MOST:
            raise InvalidValue("the loss has too many parts to be computed", got=int(times[row]))
        counts[row] = count
    return counts, beyond


def _tails(
    log_mass: Callable[[float], float],
    low: float,
    high: float,
    mean: float,
    variance: float,
    reach: float,
) -> float:
    """A bound on P[S < low] + P[S > high], where ln E e^(tS) = log_mass(t) and |S| ≤ reach.

    Chernoff 1952.
    """
    total = 0.0
    for end in (low, high):
        if abs(end) >= reach and (end > 0) == (end == high):
            continue
        exponents = [0.0]
        for factor in (0.125, 0.25, 0.5, 1.0, 2.0):
            t = factor * (end - mean) / variance
            exponents.append(log_mass(t) - t * end)
        total += math.exp(min(exponents))
    return total


def _log_sum(exponents: Column) -> float:
    """ln Σ e^exponents."""
    top = float(np.max(exponents))
    return top + math.log(float(np.sum(np.exp(exponents - top))))


def _power(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << max(0, int(number) - 1).bit_length()


@lru_cache(maxsize=64)
def _fft_error(count: int) -> float:
    """A bound on the error of each entry of an FFT of `count` numbers whose sizes add up to 1.

    Each of log2(count) rounds multiplies by a rounded root of unity and adds.
    """
    return UNIT * (8.0 + 6.0 * math.log2(count))
