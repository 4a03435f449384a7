"""Margins of weighted sums of the errors of several lanes.

    P[|Σ_i c_i e_i| ≤ margin(c)] ≥ confidence        e_i: independent copies of a step's error

For Gaussian noise the sum is normal.  For other noise the margin in standard deviations depends on
the weights mostly through their effective number ν = (Σ c²)² / Σ c⁴, because the excess kurtosis
of the sum is 1/ν times the excess kurtosis of one error.  It is computed for 1, 2, 4 and 16 equal
weights, and interpolated in 1/ν.  Interpolated margins are enlarged by 2^-8, and outside of
confidences from 80 % to 99 %, where the kurtosis says less about the margin, by a tenth of the
difference between one error and a normal one.

Noise on a coarse grid, such as counts, has atoms.  Half the distance of two atoms is then added,
because an atom may lie just outside the interpolated margin.  The intervals of counts are therefore
a little wider than necessary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian
from hushfade.public.error_distribution import normal_multiple
from hushfade.public.fourier_inversion import tail_curves
from hushfade.public.step_errors import StepErrors
from hushfade.public.tail_curves import TailCurve

_COPIES = (1, 2, 4, 16)
_NODES = np.array([0.0, 1 / 16, 1 / 4, 1 / 2, 1.0])  # 1/ν; 0 is the normal law
_UPWARD = 1.0 + 2.0**-8
_USUAL = (0.8, 0.99)  # confidences at which interpolated margins are accurate
_SLACK = 0.1


@dataclass(frozen=True)
class LaneMargins:
    """The margins of n rows of lanes, which may belong to different steps, at one confidence.

    Where the first axis of an argument has n entries, they belong to these rows.
    """

    stddevs: Column  # of one lane, in each row
    multiples: Matrix  # (n, nodes): margins in standard deviations at the nodes of 1/ν
    atoms: Column  # half the distance of the atoms of one lane, in each row
    single: Column  # the margin of one lane, in each row
    confidence: float

    def of(self, weights: Matrix) -> Matrix:
        """The margins of Σ_i c_i e_i; weights (n, ..., lanes) or (1, ..., lanes) in, (n, ...) out.

        >>> margins = LaneMargins(np.ones(1), np.full((1, 5), 1.96), np.zeros(1), np.ones(1), 0.95)
        >>> margins.of(np.array([[3.0, 4.0]])).tolist()
        [9.8]
        """
        squares = np.square(weights)
        return self.of_moments(
            squares.sum(axis=-1),
            np.square(squares).sum(axis=-1),
            np.abs(weights).max(axis=-1),
        )

    def of_moments(self, energy: Matrix, fourth: Matrix, largest: Matrix) -> Matrix:
        """The margins of weights c with these Σ c², Σ c⁴ and max |c|, (n, ...) or (1, ...)."""
        shape = (-1,) + (1,) * (energy.ndim - 1)
        if not np.any(self.multiples != self.multiples[:, :1]):  # normal
            multiple = self.multiples[:, 0].reshape(shape)
        else:
            spread = np.divide(
                fourth, np.square(energy), out=np.ones_like(energy), where=energy > 0.0
            )
            multiple = _UPWARD * _interpolated(spread, self.multiples, shape)
            if not _USUAL[0] <= self.confidence <= _USUAL[1]:
                apart = np.abs(self.multiples[:, -1] - self.multiples[:, 0])
                multiple = multiple + _SLACK * apart.reshape(shape)
        margin = multiple * np.sqrt(energy) * self.stddevs.reshape(shape)
        if self.atoms.any():
            margin = margin + self.atoms.reshape(shape) * largest
        return np.asarray(margin)

    def rows(self, chosen: Signed) -> LaneMargins:
        """The margins of some rows."""
        return LaneMargins(
            self.stddevs[chosen],
            self.multiples[chosen],
            self.atoms[chosen],
            self.single[chosen],
            self.confidence,
        )


def lane_margins(
    errors: StepErrors, steps: Signed, stddevs: Column, confidence: float, scale: float
) -> LaneMargins:
    """The margins at these steps, for a lane with these `stddevs`, divided by `scale`.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> week = plan(SlidingWindow(length=7), Guarantee(1, 1e-6))
    >>> made = lane_margins(week.errors, np.array([7]), week.stddevs(7)[6:], 0.95, 1.0)
    >>> made.multiples.round(2).tolist()  # from normal noise to the noise of one lane
    [[1.96, 1.96, 1.97, 1.98, 1.99]]
    """
    normal = normal_multiple(confidence)
    single = errors.margins(steps, confidence, stddevs=stddevs) / scale
    if isinstance(errors.law, Gaussian):
        equal = np.full((len(steps), len(_NODES)), normal)
        return LaneMargins(stddevs / scale, equal, np.zeros(len(steps)), single, confidence)
    columns = [np.full(len(steps), normal)]
    for copies in reversed(_COPIES):
        columns.append(_multiples(errors, steps, stddevs, confidence, copies))
    largest = float(np.max(np.abs(errors.pair.left(1)))) if not _blocks(errors) else 1.0
    atoms = np.full(len(steps), errors.unit * largest / 2.0 / scale)
    return LaneMargins(stddevs / scale, np.stack(columns, axis=1), atoms, single, confidence)


def _multiples(
    errors: StepErrors, steps: Signed, stddevs: Column, confidence: float, copies: int
) -> Column:
    """The margins of a sum of `copies` errors in its standard deviations."""
    if copies == 1 or _blocks(errors):
        # with block sums the margin of one lane stands for all: it is the largest, or the normal
        margins = errors.margins(steps, confidence, stddevs=stddevs) / stddevs
        least = normal_multiple(confidence) if copies > 1 else 0.0
        return np.asarray(np.maximum(margins, least))
    several = _repeated(errors, copies)
    spread = stddevs * np.sqrt(copies)
    return np.asarray(several.margins(steps, confidence, stddevs=spread) / spread)


def _blocks(errors: StepErrors) -> bool:
    return isinstance(errors.pair, BlockSums)


@dataclass(frozen=True, eq=False)
class RepeatedErrors(StepErrors):
    """The sum of several independent copies of every step's error."""

    copies: int = field(default=1, kw_only=True)

    def _curves(self, steps: Signed, left: Column, log_level: float) -> list[TailCurve]:
        pieces = np.split(left[: int(steps[-1])], steps[:-1])
        return list(tail_curves(self.law, pieces, log_level, copies=self.copies))

    def _scale(self, step: int, left: Column) -> float:
        return float(np.sqrt(self.copies)) * super()._scale(step, left)


_known: dict[tuple[int, int], tuple[StepErrors, RepeatedErrors]] = {}  # by id, kept alive


def _repeated(errors: StepErrors, copies: int) -> RepeatedErrors:
    """The repeated errors, made once: they remember what they computed."""
    key = id(errors), copies
    known = _known.get(key)  # another thread may clear the dictionary
    if known is None or known[0] is not errors:
        if len(_known) >= 64:
            _known.clear()
        known = errors, RepeatedErrors(errors.law, errors.pair, errors.unit, copies=copies)
        _known[key] = known
    return known[1]


def _interpolated(spread: Matrix, multiples: Matrix, shape: tuple[int, ...]) -> Matrix:
    """The multiples at 1/ν = spread, row by row."""
    found = np.empty(np.broadcast_shapes(spread.shape, multiples[:, 0].reshape(shape).shape))
    place = np.clip(np.searchsorted(_NODES, spread, side="right") - 1, 0, len(_NODES) - 2)
    share = (spread - _NODES[place]) / (_NODES[place + 1] - _NODES[place])
    for node in range(len(_NODES) - 1):
        low, high = (multiples[:, node + i].reshape(shape) for i in (0, 1))
        np.copyto(found, low + share * (high - low), where=place == node)
    return found
