"""The distribution of the error at every step of a plan: margins, and a bound over all steps.

    e_t = unit · Σ_k l_k z_{t-k} / gain_{t-k}

Margins are computed exactly at each of the first 32 steps (on a lattice, the first 256), and then
at two steps per octave.  Between these steps the margin in standard deviations changes slowly, so
it is interpolated and enlarged by 2^-12.  All margins are within 1e-3 of the exact ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors.factorization import IntegerFactorization
from hushfade.laws import Gaussian, Law
from hushfade.public.cumulants import Weights, without_rounding
from hushfade.public.error_distribution import checked, normal_multiple
from hushfade.public.fourier_inversion import lattice_spacing, tail_curves
from hushfade.public.root_finding import root_of
from hushfade.public.tail_curves import TailCurve

LAST = 1 << 20  # later steps have the same margin as this step, in standard deviations
_SINGLE = 32  # the number of steps that are computed one by one
_SINGLE_ON_LATTICE = 256
_SETTLED = 1e-9  # taps with less than this share of the energy do not change the margins
_UPWARD = 1.0 + 2.0**-12  # interpolated margins are enlarged to be conservative


@dataclass(frozen=True)
class _Group:
    """The margins of some steps, in the unit of the records, and their interpolation."""

    steps: Signed
    margins: Column
    multiples: Column  # smooth quantiles in standard deviations
    spacing: float | None  # the spacing of the lattice, if any

    def at(self, steps: Signed, stddevs: Column) -> Column:
        """The margins of steps between the first and the last of the group."""
        place = np.minimum(np.searchsorted(self.steps, steps), len(self.steps) - 1)
        multiples = np.interp(np.log(steps), np.log(self.steps), self.multiples)
        between = self._wide(multiples * stddevs)
        known = (self.steps[place] == steps) | (steps > self.steps[-1])  # settled
        return np.where(known, self.margins[place], between)

    def later(self, stddevs: Column) -> Column:
        """The margins of steps after the last of the group."""
        if len(self.steps) == 1:  # settled
            return np.full(len(stddevs), self.margins[-1])
        return self._wide(self.multiples[-1] * stddevs)

    def _wide(self, margins: Column) -> Column:
        """Interpolated margins, slightly enlarged."""
        if self.spacing is None:
            return margins * _UPWARD
        return np.ceil(margins * _UPWARD / self.spacing) * self.spacing


@dataclass(frozen=True, eq=False)
class StepErrors:
    """The error distributions of a plan's releases, shared by all of them, without any data."""

    law: Law
    pair: IntegerFactorization = field(repr=False)
    unit: float
    _groups: dict[tuple[float, int], _Group] = field(default_factory=dict, repr=False)

    def margin(self, step: int, confidence: float, *, stddev: float) -> float:
        """The m with P[|error| ≤ m] = confidence at a step whose standard deviation is `stddev`.

        If the error has atoms, m is the smallest margin with at least this probability.
        """
        if isinstance(self.law, Gaussian):
            return normal_multiple(confidence) * stddev
        return float(self.margins(np.array([step]), confidence, stddevs=np.array([stddev]))[0])

    def margins(self, steps: Signed, confidence: float, *, stddevs: Column) -> Column:
        """The margins of the given steps, whose standard deviations are `stddevs`."""
        if isinstance(self.law, Gaussian):
            return normal_multiple(confidence) * stddevs
        return self._margins(steps, stddevs, checked(confidence))

    def bound(self, failure: float, *, stddevs: Column) -> float:
        """The b with Σ_t P[|e_t| > b] = failure over the steps with these standard deviations."""
        n = len(stddevs)
        if isinstance(self.law, Gaussian):
            from scipy.special import ndtr

            top = float(np.max(stddevs)) * math.sqrt(2.0 * math.log(2.0 * n / failure))
            return root_of(lambda b: float(np.sum(2 * ndtr(-b / stddevs))) - failure, 0.0, top)
        log_level = math.log(failure / n)
        steps, curves = self._all_curves(n, log_level)
        shares = np.diff(np.append(0, steps)).astype(
            np.float64
        )  # a step uses the next computed tail
        shares[-1] += n - int(steps[-1])

        def excess(b: float) -> float:
            tails = np.exp([curve.log_tail(b / self.unit) for curve in curves])
            tails[1:] = np.maximum(tails[1:], tails[:-1])  # or the previous one, if it is larger
            return float(shares @ tails) - failure

        top = self.unit * max(curve.quantile(log_level) for curve in curves) * _UPWARD
        bound = root_of(excess, 0.0, top) if excess(0.0) > 0.0 > excess(top) else top
        if all(curve.lattice for curve in curves):
            spacing = min(curve.step for curve in curves) * self.unit
            return float(guarded(np.ceil(bound / spacing - 1e-6) * spacing, spacing))
        return bound + self.unit * max(curve.widening for curve in curves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepErrors) and self._content == other._content

    def __hash__(self) -> int:
        return hash((self.law, self.unit, self.pair.decay))

    @property
    def _content(self) -> tuple[object, ...]:
        pair = self.pair
        gain = None if pair.gain is None else pair.gain.tobytes()
        values, lengths = pair.taps.pieces
        taps = (tuple(values), tuple(lengths), pair.taps.bits)
        return self.law, self.unit, pair.decay, pair.horizon, taps, gain

    # Steps -----------------------------------------------------------------------------------

    def _margins(self, steps: Signed, stddevs: Column, confidence: float) -> Column:
        margins = np.empty(len(steps))
        capped = np.minimum(steps, LAST)
        ends = _group_ends()
        groups = np.searchsorted(ends, capped)
        for number in np.unique(groups).tolist():
            here = groups == number
            group = self._group(number, confidence)
            margins[here] = group.at(capped[here], stddevs[here])
        late = steps > LAST
        if late.any():
            margins[late] = self._group(len(ends) - 1, confidence).later(stddevs[late])
        return margins

    def _group(self, number: int, confidence: float) -> _Group:
        """The group of steps with this number, computed once."""
        key = (confidence, number)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._computed(number, confidence)
        return group

    def _computed(self, number: int, confidence: float) -> _Group:
        ends = _group_ends()
        start = int(ends[number - 1]) if number else 1
        end = min(int(ends[number]), self.pair.horizon or LAST)
        left = self._left(end)
        spacing = self._spacing(left)
        steps = _computed_steps(start, end, lattice=spacing is not None)
        if number and self._settled(left) <= start:
            before = self._group(number - 1, confidence)
            last = before.margins[-1:], before.multiples[-1:]
            return _Group(np.array([start]), *last, before.spacing)
        log_level = math.log1p(-confidence)
        curves = self._curves(steps, left, log_level)
        scale = self.unit * np.array([self._scale(int(step), left) for step in steps])
        smooth = self.unit * np.array([curve.smooth_quantile(log_level) for curve in curves])
        margins = self.unit * np.array([curve.quantile(log_level) for curve in curves])
        if not all(curve.lattice for curve in curves):
            spacing = None
        if spacing is not None:
            spacing *= self.unit
            margins = guarded(margins, spacing)
        return _Group(steps, margins, smooth / scale, spacing)

    def _curves(self, steps: Signed, left: Column, log_level: float) -> list[TailCurve]:
        if self.pair.gain is None:
            pieces = np.split(left[: int(steps[-1])], steps[:-1])
            return list(tail_curves(self.law, pieces, log_level))
        each = ([self._weights(int(step), left)] for step in steps)
        return [next(tail_curves(self.law, weights, log_level)) for weights in each]

    def _all_curves(self, n: int, log_level: float) -> tuple[Signed, list[TailCurve]]:
        """Some of the first n steps, including the last, and their tail curves."""
        left = self._left(min(n, LAST))
        last = min(n, self._settled(left))
        ends, listed, curves = _group_ends(), [], []
        for start, end in zip(np.append(0, ends[:-1]), np.minimum(ends, last), strict=True):
            if start >= end:
                break
            steps = _computed_steps(start, end, lattice=self._spacing(left[:end]) is not None)
            steps = steps[steps > start]
            curves.extend(self._curves(steps, left, log_level))
            listed.extend(steps.tolist())
        return np.array(listed), curves

    def _left(self, n: int) -> Column:
        """l_0, ..., l_{n-1}, with exact zeros in place of rounding errors."""
        return without_rounding(self.pair.left(n))

    def _spacing(self, left: Column) -> float | None:
        """The spacing of the error's lattice in units; None if the error is not on a lattice."""
        return None if self.pair.gain is not None else lattice_spacing(Weights(left))

    def _settled(self, left: Column) -> int:
        """The step after which the distribution no longer changes, judged by these taps."""
        if self.pair.gain is not None:
            return len(left)
        energy = np.cumsum(left**2)
        return 1 + int(np.argmax(energy >= (1.0 - _SETTLED) * energy[-1]))

    def _weights(self, step: int, left: Column) -> Column:
        gain = self.pair.gain
        return left[:step] if gain is None else left[:step] / gain[step - 1 :: -1]

    def _scale(self, step: int, left: Column) -> float:
        """The standard deviation of the error at a step, in units."""
        return self.law.stddev * float(np.linalg.norm(self._weights(step, left)))


def _group_ends() -> Signed:
    """The last step of each group: one octave per group at first, later three octaves."""
    singles, rest = (1, 2, 4, 8, 16, _SINGLE), (256, 2048, 16384, 131072, LAST)
    return np.array(singles + rest)


def _computed_steps(start: int, end: int, *, lattice: bool) -> Signed:
    """The computed steps from start to end: all of them, or two per octave."""
    if end <= (_SINGLE_ON_LATTICE if lattice else _SINGLE):
        return np.arange(start, end + 1)
    steps = np.rint(2.0 ** (np.arange(41) / 2.0)).astype(np.int64)
    return np.concatenate([[start], steps[(steps > start) & (steps < end)], [end]])


def guarded(margins: Column | float, spacing: float) -> Column:
    """Margins on a lattice, slightly enlarged unless the lattice is exact in binary.

    A rounding error of a released value must not push the true sum out of the interval.
    """
    scaled = spacing * 2.0**30
    exact = not math.isfinite(scaled) or scaled % 1.0 == 0.0
    return np.asarray(margins if exact else margins * (1.0 + 2.0**-36))
