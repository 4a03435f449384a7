"""The distribution of the error at every step of a plan with block sums.

    e_t = unit · Σ_τ w_τ z_τ        the weights w differ from step to step

For NoDecay and SlidingWindow all weights are -1, 0 or 1.  So e_t is a sum of m draws of the noise,
and the standard deviation determines m: margins are exact.

For all other decays the margin in standard deviations depends mostly on the effective number of
weights, (Σ w²)² / Σ w⁴.  It is computed at a few steps of every group of steps, from the smallest
to the largest effective number.  Between them it is interpolated and enlarged by 2^-7, so that it
is conservative, by 1 % or less.  The first 32 steps are computed one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors.block_factors import BlockSums
from hushfade.public.cumulants import without_rounding
from hushfade.public.fourier_inversion import tail_curves
from hushfade.public.root_finding import root_of
from hushfade.public.step_errors import LAST, StepErrors, guarded
from hushfade.public.tail_curves import TailCurve

_GROUPS = (32, 256, 2048, 16384, 131072, LAST)  # the last step of each group
_COMPUTED = 9  # steps of a large group whose margins are computed
_SINGLE = 256  # up to this number of equal weights, each number has its own margin
_UPWARD = 1.0 + 2.0**-7  # interpolated margins are enlarged to be conservative
_BIN = 2.0**-6  # steps with ln Σ w² in one bin of this width share a tail in `bound`


@dataclass(frozen=True, eq=False)
class BlockStepErrors(StepErrors):
    """The error distributions of a plan with block sums, shared by all its releases."""

    pair: BlockSums = field(repr=False)
    _multiples: dict[tuple[float, int], tuple[Column, Column]] = field(
        default_factory=dict, repr=False
    )
    _equal: dict[tuple[float, int], float] = field(default_factory=dict, repr=False)

    def bound(self, failure: float, *, stddevs: Column) -> float:
        """A b with Σ_t P[|e_t| > b] ≤ failure over the steps with these standard deviations.

        The tail of a step is replaced by the tail of m equal weights with the same variance, where
        m is the least number that the largest possible weight allows.  For a given variance, few
        large weights have the largest exponential moments.  Near the centre a normal law may have
        the larger tail; then its tail is used.  With weights -1, 0 and 1 the tails are exact.
        """
        from scipy.special import ndtr

        energies = self._energies(stddevs)
        bins = np.rint(energies) if self._exact else np.floor(np.log(energies) / _BIN + 1e-9)
        different, counts = np.unique(bins, return_counts=True)
        largest = 1.0 if self._exact else self._largest_weight(len(stddevs))
        log_level = math.log(failure / len(stddevs))
        groups = []
        for place, count in zip(different.tolist(), counts, strict=True):
            energy = place if self._exact else math.exp((place + 1.0) * _BIN)
            least = place if self._exact else math.exp(place * _BIN)
            number = _rounded(max(1, math.floor(least / largest**2 * (1.0 + 1e-9))))
            curve = self._curve(number, log_level)
            scale = self.unit * math.sqrt(energy / number)
            groups.append((curve, scale, float(count), self.unit * math.sqrt(energy)))

        def excess(b: float) -> float:
            total = 0.0
            for curve, scale, count, deviation in groups:
                tail = math.exp(curve.log_tail(max(0.0, b / scale - curve.widening)))
                if not self._exact:
                    normal = 2.0 * float(ndtr(-b / (deviation * self.law.stddev)))
                    tail = max(tail, normal)
                total += count * min(1.0, tail)
            return total - failure

        top = max(
            max(curve.quantile(log_level) * scale, deviation * self.law.stddev * 40.0)
            for curve, scale, _, deviation in groups
        )
        bound = root_of(excess, 0.0, top) if excess(0.0) > 0.0 > excess(top) else top
        if self._exact and all(curve.lattice for curve, *_ in groups):
            return float(guarded(np.ceil(bound / self.unit - 1e-6) * self.unit, self.unit))
        return bound * (1.0 if self._exact else _UPWARD)

    @property
    def _content(self) -> tuple[object, ...]:
        return *super()._content, self.pair.schedule

    @property
    def _exact(self) -> bool:
        """Whether all weights are -1, 0 or 1."""
        return self.pair.decay.flat

    def _margins(self, steps: Signed, stddevs: Column, confidence: float) -> Column:
        if self._exact:
            numbers = np.rint(self._energies(stddevs)).astype(np.int64)
            different, place = np.unique(numbers, return_inverse=True)
            each = np.array([self._equal_margin(int(m), confidence) for m in different])
            return np.asarray(each[place])
        margins = np.empty(len(steps))
        capped = self._in_table(steps)
        groups = np.searchsorted(_GROUPS, capped)
        for number in np.unique(groups).tolist():
            here = groups == number
            margins[here] = stddevs[here] * self._group_multiples(number, capped[here], confidence)
        return margins

    def _energies(self, stddevs: Column) -> Column:
        """Σ w² at each step."""
        return np.asarray((stddevs / (self.unit * self.law.stddev)) ** 2)

    # Equal weights -------------------------------------------------------------------------------

    def _equal_margin(self, number: int, confidence: float) -> float:
        """The margin of a sum of `number` draws; for more than 256 draws, slightly enlarged."""
        key = confidence, number
        margin = self._equal.get(key)
        if margin is None:
            log_level = math.log1p(-confidence)
            curve = self._curve(_rounded(number), log_level)
            if number <= _SINGLE:
                margin = self.unit * curve.quantile(log_level)
            else:
                multiple = curve.smooth_quantile(log_level) / math.sqrt(_rounded(number))
                other = self._curve(_rounded(2 * number), log_level)
                further = other.smooth_quantile(log_level) / math.sqrt(_rounded(2 * number))
                margin = max(multiple, further) * math.sqrt(number) * _UPWARD
                margin = self.unit * (math.ceil(margin) if curve.lattice else margin)
            if curve.lattice:
                margin = float(guarded(margin, self.unit))
            self._equal[key] = margin
        return margin

    def _curve(self, number: int, log_level: float) -> TailCurve:
        return next(tail_curves(self.law, [np.ones(number)], log_level))

    # Other weights -------------------------------------------------------------------------------

    def _in_table(self, steps: Signed) -> Signed:
        """The steps; steps after LAST are replaced by the last earlier ones of the same phase."""
        period = self.pair.schedule.period
        if period >= LAST:
            return np.minimum(steps, LAST)
        late = LAST - (LAST - steps) % period
        return np.where(steps > LAST, late, steps)

    def _group_multiples(self, number: int, steps: Signed, confidence: float) -> Column:
        """The margins of steps of one group, in standard deviations."""
        key = confidence, number
        if key not in self._multiples:
            self._multiples[key] = self._computed_multiples(number, confidence)
        computed, multiples = self._multiples[key]
        if number == 0:
            return np.asarray(multiples[steps - 1])
        spread = self._spread(number, steps)
        return np.asarray(np.interp(spread, computed, multiples) * _UPWARD)

    def _computed_multiples(self, number: int, confidence: float) -> tuple[Column, Column]:
        """1 / (effective number) in rising order, and the corresponding margins."""
        start = _GROUPS[number - 1] if number else 0
        steps = np.arange(start + 1, self._end(number) + 1)
        spread = self._spread(number, steps)
        if number:
            order = np.argsort(spread, kind="stable")
            even = np.linspace(spread[order[0]], spread[order[-1]], _COMPUTED)
            places = np.searchsorted(spread[order], even - 1e-12)
            chosen = order[np.unique(np.minimum(places, len(order) - 1))]
            steps, spread = steps[chosen], spread[chosen]
        log_level = math.log1p(-confidence)
        multiples = []
        for step in steps.tolist():
            weights = without_rounding(self.pair.weights_of_noise(step))
            curve = next(tail_curves(self.law, [weights], log_level))
            deviation = self.law.stddev * float(np.linalg.norm(weights))
            multiples.append(curve.quantile(log_level) / deviation)
        return spread, np.array(multiples)

    def _spread(self, number: int, steps: Signed) -> Column:
        """1 / (effective number), Σ w⁴ / (Σ w²)², at some steps of a group."""
        squares, fourths = self.pair.power_sums(self._end(number))
        return np.asarray(fourths[steps - 1] / squares[steps - 1] ** 2)

    def _end(self, number: int) -> int:
        """The last step of a group."""
        return min(_GROUPS[number], self.pair.horizon or LAST)

    def _largest_weight(self, n: int) -> float:
        """An upper bound on the weights: the largest f_k, or difference of two f_k."""
        f = self.pair.decay.weights(min(n, LAST))
        return max(0.0, float(np.max(f))) - min(0.0, float(np.min(f)))


def _rounded(number: int) -> int:
    """The number; above 256, rounded down to a grid of eight numbers per octave."""
    if number <= _SINGLE:
        return number
    shift = number.bit_length() - 4
    return number >> shift << shift
