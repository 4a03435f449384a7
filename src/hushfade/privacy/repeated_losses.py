"""Tilted privacy losses of taps with all their repetitions.

The sum of n independent copies of a loss has the n-fold convolution of its distribution: the
Fourier transform is raised to the n-th power.  The grid must cover √n standard deviations at the
fineness of a single loss, so a single convolution needs a long grid if n is large.  For taps that
occur often, the computation proceeds in rounds: repeat _FOLD times, round to a coarser grid, repeat
again.  Rounding to a grid never decreases δ, as in `rounded_losses`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidValue
from hushfade.privacy.rounded_losses import UNIT, Block

DEVIATIONS = 11.0  # standard deviations of a tilted loss on each side of a grid's mean
NOTHING = 1e-13  # tilted mass that may be cut off
_SMALL = math.log(NOTHING) - 3.0  # the logarithm of a bound that needs no improvement
MANY = 256  # shifts that occur more often are repeated in several rounds
_FOLD = 64  # repetitions per round
_FINENESS = 0.02  # step of the grids between two rounds, in standard deviations of their losses
_AT_ONCE = 1 << 14  # numbers that are raised to a power together, so that they stay in the cache
_WHOLE = 1 << 13  # grids of at most this many points are never cut
_LARGEST = 700.0  # e^700 fits into float64
_MOST = 1 << 25  # the most points of a row with its repetitions

_Numbers = TypeVar("_Numbers", NDArray[np.float64], NDArray[np.complex128])


class Repeated(NamedTuple):
    """The tilted losses of taps with all their repetitions, relative to M(θ)."""

    step: Column
    low: Signed  # the index of the first mass of each row
    masses: Matrix
    missing: float  # a bound on the mass that all rows together lack


class Rounding(NamedTuple):
    """The effect of one round's coarser grids on the losses, for all n repetitions together."""

    missing: float  # a bound on the mass that the grids lack
    size: float  # the factor by which the mass has grown
    moved: float  # Σ n h, a bound on how far the loss moves; h are the steps of the grids
    squares: float  # Σ n h²
    widest: float  # the largest h

    def growth(self, tilt: float) -> float:
        """A bound on the growth of ln E e^(s ℓ) for s = tilt.

        Rounding replaces u = e^-ℓ by two points with the same mean, which are less than h u e^h
        apart.  u^-s becomes the value of its chord, so its relative growth is less than
        |s (s + 1)| h²/8 e^((2|s| + 2) h).
        """
        far = (2.0 * abs(tilt) + 2.0) * self.widest
        return abs(tilt * (tilt + 1.0)) / 8.0 * self.squares * math.exp(min(far, 700.0))


class _Rows(NamedTuple):
    """Tilted losses step · (centre - reach, ..., centre + reach); each row has the sum 1."""

    step: Column
    centre: Signed
    weights: Matrix
    times: Signed

    def some(self, which: NDArray[np.bool_], times: Signed) -> _Rows:
        return _Rows(self.step[which], self.centre[which], self.weights[which], times[which])


def repeated(taps: Block, tilt: float) -> tuple[list[Repeated], list[Rounding]]:
    """The taps of a block with their repetitions, grouped by the size of their grids."""
    rows = _Rows(taps.step, np.zeros(len(taps.step), np.int64), taps.tilted(tilt), taps.times)
    groups: list[Repeated] = []
    rounding: list[Rounding] = []
    while np.any(many := rows.times > MANY):
        once = np.where(many, rows.times % _FOLD, rows.times)
        groups += _powers(rows.some(once > 0, once))
        left = rows.times // _FOLD
        rows, added = _folded(rows.some(many, left), tilt)
        rounding.append(added)
    return groups + _powers(rows), rounding


def _folded(rows: _Rows, tilt: float) -> tuple[_Rows, Rounding]:
    """_FOLD repetitions of each row, on a coarser grid.

    `times` is the number of repetitions of each fold.  If a row with the sum 1 lacks the mass e,
    then n repetitions lack at most (1 + e)^n - 1 ≤ e^(ne) - 1.
    """
    steps, places, parts, times = [], [], [], []
    lost, log_size = 0.0, 0.0
    for which, fold in _powers_of(rows._replace(times=np.full(len(rows.times), _FOLD))):
        index = np.arange(fold.masses.shape[1])
        mass = np.sum(fold.masses, axis=1)
        mean = fold.masses @ index / mass
        spread = np.sum(fold.masses * (index - mean[:, None]) ** 2, axis=1) / mass
        step = fold.step * np.maximum(_FINENESS * np.sqrt(spread), 1.0)
        below, lower, upper = halves(fold.step, fold.low, fold.masses, step[:, None], tilt)
        first = below[:, 0]
        width = int(np.max(below[:, -1] - first)) + 2
        place = below - first[:, None] + width * np.arange(len(step))[:, None]
        coarse = np.bincount(place.ravel(), lower.ravel(), len(step) * width)
        coarse += np.bincount(place.ravel() + 1, upper.ravel(), len(step) * width)
        part = coarse.reshape(len(step), width)
        size = np.sum(part, axis=1)
        repetitions = rows.times[which]
        log_size += float(np.sum(repetitions * np.log(size)))
        most = np.exp(tilt * step) * (1.0 + 32.0 * UNIT) / size  # growth of the mass by a split
        lost += float(np.sum(repetitions * most * fold.missing))
        steps.append(step)
        places.append(first)
        parts.append(part / size[:, None])
        times.append(repetitions)
    reach = max(part.shape[1] for part in parts) // 2
    weights = [np.pad(part, ((0, 0), (0, 2 * reach + 1 - part.shape[1]))) for part in parts]
    coarser = _Rows(
        np.concatenate(steps),
        np.concatenate(places) + reach,
        np.concatenate(weights),
        np.concatenate(times),
    )
    each = coarser.times * coarser.step
    moved, squares = float(np.sum(each)), float(np.sum(each * coarser.step))
    widest = float(np.max(coarser.step))
    return coarser, Rounding(math.expm1(lost), math.exp(log_size), moved, squares, widest)


def halves(
    step: Column, low: Signed, masses: Matrix, coarse: Matrix | float, tilt: float
) -> tuple[Signed, Matrix, Matrix]:
    """The tilted masses at the losses step · (low, low + 1, ...), on the multiples of `coarse`.

    Returns the index of the point below each loss, the mass for that point, and the mass for the
    point above it.  The mass at an ℓ between two points is split so that Σ p and Σ p e^-ℓ do not
    change.
    Raises OverflowError if the tilt is too steep for these points.
    """
    if not abs(tilt) * float(np.max(coarse)) <= _LARGEST:
        raise OverflowError("the tilted mass of a point exceeds float64")
    losses = step[:, None] * (low[:, None] + np.arange(masses.shape[1]))
    below = np.floor(losses / coarse)
    rest = losses - below * coarse
    up = np.clip(np.expm1(-rest) / np.expm1(-coarse), 0.0, 1.0)
    masses = masses * np.exp(-tilt * rest)
    lower = masses * (1.0 - up + 8.0 * UNIT)
    upper = masses * (np.exp(tilt * coarse) * (up + 8.0 * UNIT))
    return below.astype(np.int64), lower, upper


class _Powers(NamedTuple):
    """Rows with their repetitions, as `Repeated`, but with a bound per row."""

    step: Column
    low: Signed
    masses: Matrix
    missing: Column  # a bound on the mass that each row lacks


def _powers(rows: _Rows) -> list[Repeated]:
    """The rows with their repetitions."""
    return [
        Repeated(power.step, power.low, power.masses, float(np.sum(power.missing)))
        for _, power in _powers_of(rows)
    ]


def _powers_of(rows: _Rows) -> Iterator[tuple[NDArray[np.bool_], _Powers]]:
    """The rows with their repetitions, grouped by the size of their grids; and a mask of each."""
    reach = rows.weights.shape[1] // 2
    index = np.arange(-reach, reach + 1)
    mean = rows.weights @ index
    spread = np.sum(rows.weights * (index - mean[:, None]) ** 2, axis=1)
    counts, beyond = _counts(rows.weights, rows.times, mean, spread)
    for count in np.unique(counts):
        here = counts == count
        times, size = rows.times[here], int(count)
        transform = np.fft.rfft(rows.weights[here], size)
        whole = np.fft.irfft(_raised(transform, times), size)  # index i at i + times · reach
        ends = times * reach
        low = np.where(2 * ends < size, -ends, np.rint(times * mean[here]).astype(int) - size // 2)
        masses = np.maximum(whole, 0.0)
        for row, turn in enumerate(((low + ends) % size).tolist()):
            if turn:
                masses[row] = np.roll(masses[row], -turn)
        error = fft_error(size)
        length = np.minimum(np.abs(transform) + error, 1.0)
        spectrum = np.minimum(2.0 * np.sum(_raised(length, times - 1), axis=1), size)
        # the errors of the powers, and of the inverse, whose terms sum to the spectrum
        missing = 2.0 * error * (times + 1) * spectrum + 2.0 * beyond[here]
        inside = np.flatnonzero(np.max(masses, axis=0) > UNIT)  # the rest is mostly rounding error
        first, last = int(inside[0]), int(inside[-1]) + 1
        missing += 2.0 * (np.sum(masses[:, :first], axis=1) + np.sum(masses[:, last:], axis=1))
        low = low + first + times * rows.centre[here]
        yield here, _Powers(rows.step[here], low, masses[:, first:last], missing)


def _raised(rows: _Numbers, powers: Signed) -> _Numbers:
    """Each row to its power, by repeated squaring.

    The relative error of an n-th power is at most n times the error of the row and its rounding.
    """
    raised = np.ones_like(rows)
    for power in np.unique(powers).tolist():
        here = np.flatnonzero(powers == power)
        for some in np.array_split(here, 1 + len(here) * rows.shape[1] // _AT_ONCE):
            square, result, left = rows[some], raised[some], power
            while left:
                if left % 2:
                    result *= square
                square *= square
                left //= 2
            raised[some] = result
    return raised


def _counts(weights: Matrix, times: Signed, mean: Column, spread: Column) -> tuple[Signed, Column]:
    """The number of points, a power of two, for each row with its repetitions; the omitted mass."""
    reach = weights.shape[1] // 2
    index = np.arange(-reach, reach + 1)
    logs = np.log(np.maximum(weights, 5e-324))
    support = 2 * times * reach + 1
    width = np.maximum(2.0 * DEVIATIONS * np.sqrt(times * spread), weights.shape[1])
    counts, beyond = np.empty(len(times), dtype=np.int64), np.zeros(len(times))
    for row in range(len(times)):
        count = max(1 << math.ceil(math.log2(width[row])), min(_WHOLE, _power(support[row])))
        centre, variance = float(times[row] * mean[row]), float(times[row] * spread[row])

        def log_mass(t: float, row: int = row) -> float:
            return int(times[row]) * _log_sum(logs[row] + t * index)

        while count < support[row]:
            ends = round(centre) - count // 2 - 0.5, round(centre) + count // 2 - 0.5
            beyond[row] = tails(log_mass, *ends, centre, variance, float(times[row] * reach))
            if beyond[row] <= NOTHING:
                break
            beyond[row] = 0.0
            count *= 2
        if count > _MOST:
            raise InvalidValue("the loss has too many parts to compute", got=int(times[row]))
        counts[row] = count
    return counts, beyond


def tails(
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
        for factor in (1.0, 0.5, 0.25, 0.125, 2.0):
            t = factor * (end - mean) / variance
            exponents.append(log_mass(t) - t * end)
            if exponents[-1] < _SMALL:
                break
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
def fft_error(count: int) -> float:
    """A bound on the error of each entry of an FFT of `count` numbers with Σ |x| = 1.

    Each of log2(count) rounds multiplies by a rounded root of unity and adds.
    """
    return UNIT * (8.0 + 6.0 * math.log2(count))
