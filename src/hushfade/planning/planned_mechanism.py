"""The mechanism of a plan: factors and noise, with the privacy and the accuracy that follow.

R̃   integer taps over 2^bits, so R̃x is exact          sensitivity from R̃ itself
z   integer noise on the grid resolution · 2^-bits       its law from the guarantee (noise_scale)
L   g / r̃, whatever r̃ is                              errors stddev(z) ‖L_t‖, no bias
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidType
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Gaussian, Law
from hushfade.planning import noise_scale
from hushfade.planning.exact_factors import Method
from hushfade.planning.shifts import cases
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.unit import Relation
from hushfade.private.grid import Grid

if TYPE_CHECKING:
    from hushfade.planning.certificate import Certificate
    from hushfade.public.step_errors import StepErrors


class Considered(NamedTuple):
    """A mechanism that the search compared, and its largest standard deviation."""

    method: str
    law: str
    error: float  # in the unit of the records, over the compared steps


@dataclass(frozen=True, eq=False)
class PlannedMechanism:
    """The decay, the guarantee, the factors and the noise: what decides privacy and accuracy."""

    decay: Decay
    guarantee: Guarantee
    grid: Grid
    horizon: int | None
    method: Method
    pair: IntegerFactorization = field(repr=False)
    law: Law
    loss: float  # relative error that the integer taps add to the exact factors
    considered: tuple[Considered, ...] = field(
        default=(), repr=False
    )  # the chosen mechanism first; empty if none were compared
    every: str | None = field(default=None, repr=False)  # step length: "1h", "rows", or undeclared

    # Privacy ---------------------------------------------------------------------------------

    @cached_property
    def privacy(self) -> PrivacyLoss:
        """The privacy loss of one record or person, as `epsilon(delta)` and `delta(epsilon)`.

        Both are upper bounds.  `a.privacy + b.privacy` is the loss of two plans on the same data.

        >>> from hushfade import Guarantee, SlidingWindow, plan
        >>> week = plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=0), method="best")
        >>> week.privacy.epsilon(0), round(week.privacy.delta(0.5), 3)
        (1.0, 0.221)
        """
        if isinstance(self.law, Gaussian):
            loss = PrivacyLoss.gaussian(self.guarantee.mu)
        else:
            loss = PrivacyLoss.shifted(self.law, cases(self.guarantee, self.grid, self.pair))
        return replace(loss, relation=self.relation)

    @property
    def relation(self) -> Relation:
        """The unit of privacy, with the step length if a person may have several records."""
        unit = self.guarantee.relation
        return unit if unit.single else unit._replace(step=self.every)

    def privacy_at_age(self, steps: int) -> PrivacyLoss:
        """The privacy loss of one record after `steps` releases, its own step included.

        `privacy` is the loss in the end, of all records of one person together.

        >>> from hushfade import Exponential, Guarantee, plan
        >>> paper = plan(Exponential(half_life=24), Guarantee(1, 1e-6), method="square_root")
        >>> [round(paper.privacy_at_age(n).epsilon(1e-6), 2) for n in (1, 24, 1000)]
        [0.73, 0.99, 1.0]
        """
        from hushfade.planning.privacy_over_time import loss_at_age

        return loss_at_age(self, check.count(steps=steps))

    def privacy_after(self, steps: int) -> PrivacyLoss:
        """The privacy loss of the most exposed record or person after the first `steps` steps.

        Guarantee: an upper bound for all records that one person has contributed so far, if the
        number of steps was chosen without looking at the released values.  A person with records in
        several steps has had as many of them as fit into these steps.

        >>> from hushfade import Exponential, Person, plan
        >>> twice = Guarantee(1, 1e-6, protects=Person(steps=2, apart=100))
        >>> day = plan(Exponential(half_life=24), twice, method="square_root")
        >>> [round(day.privacy_after(n).epsilon(1e-6), 2) for n in (0, 1, 100, 101, 1000)]
        [0.0, 0.5, 0.69, 0.87, 1.0]
        """
        from hushfade.planning.privacy_over_time import loss_after

        return loss_after(self, check.count(steps=steps, least=0, most=self.horizon))

    @cached_property
    def sensitivity(self) -> float:
        """The ℓ2 sensitivity of the private half to one person's records, in the unit of the
        records."""
        squared = noise_scale.squared_sensitivity(self.guarantee, self.grid, self.pair)
        return math.sqrt(squared) * self.unit

    @property
    def sigma(self) -> float:
        """The standard deviation of Gaussian noise in grid units, before rounding."""
        if not isinstance(self.law, Gaussian):
            raise InvalidType("sigma exists for Gaussian noise only", got=self.law.name)
        return self.law.sigma

    @cached_property
    def unit(self) -> float:
        """The grid of the noise in the unit of the records: resolution · 2^-bits."""
        return self.grid.resolution * 2.0**-self.bits

    @property
    def noise_stddev(self) -> float:
        """The standard deviation of the noise z_t in the unit of the records."""
        return self.law.stddev * self.unit

    @property
    def bits(self) -> int:
        """The binary places of the noisy values: places of the taps plus places of the gain."""
        return self.pair.places

    @property
    def taps(self) -> IntegerTaps:
        """The right factor's integer taps."""
        return self.pair.taps

    # Accuracy --------------------------------------------------------------------------------

    def stddevs(self, n: int) -> Column:
        """The standard deviations of the error at steps 1, ..., n, in the unit of the records."""
        return self.noise_stddev * self.pair.errors(self._steps(n))

    def stddev(self, step: int) -> float:
        """The standard deviation of the error at one step; the first step is 1."""
        return float(self.stddevs(check.count(step=step, most=self.horizon))[-1])

    def max_stddev(self, n: int) -> float:
        """The largest standard deviation of the first n steps."""
        return self.noise_stddev * self.pair.largest_error(self._steps(n))

    def margins(self, n: int, confidence: float = 0.95) -> Column:
        """The margins of steps 1, ..., n: |error| is at most the margin with this probability.

        Each margin holds at its step alone; `error_bound` holds at all steps together.
        """
        return self.errors.margins(np.arange(1, n + 1), confidence, stddevs=self.stddevs(n))

    def interval(self, step: int, confidence: float = 0.95) -> tuple[float, float]:
        """The interval (-m, m) that contains the error at a step with this probability.

        The true sum lies between value - m and value + m of a release: see `Release.interval`.

        >>> from hushfade import Exponential, plan
        >>> p = plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6))
        >>> "{:.1f} {:.1f}".format(*p.interval(1000))
        '-11.5 11.5'
        """
        margin = self.errors.margin(step, confidence, stddev=self.stddev(step))
        return 0.0 - margin, margin

    @cached_property
    def errors(self) -> StepErrors:
        """The distribution of the error at every step."""
        if isinstance(self.pair, BlockSums):
            from hushfade.public.block_step_errors import BlockStepErrors

            return BlockStepErrors(self.law, self.pair, self.unit)
        from hushfade.public.step_errors import StepErrors

        return StepErrors(self.law, self.pair, self.unit)

    def error_bound(self, n: int, failure: float = 0.05) -> float:
        """A bound on |error| at all of the first n steps together, with probability 1 - failure.

        This is the union bound over the tails of all steps: the b with Σ_t P[|e_t| > b] = failure.
        For normal errors with equal standard deviations s it is about s √(2 ln(n/failure)).  The
        paper's s √(ln n) is too small.
        """
        failure = check.probability(failure=failure)
        return max(0.0, self.errors.bound(failure, stddevs=self.stddevs(n)))

    def error_factor(self, n: int) -> float:
        """‖L‖·‖R‖ of the plan's integer taps over the first n steps."""
        return self.pair.error_factor(self._steps(n))

    def certificate(self, n: int | None = None) -> Certificate:
        """The error of the first n steps compared with the smallest of any Gaussian factorization.

        By default n is the horizon, or 1000 steps without a horizon.  `ratio` is below 1 if another
        law of noise beats every Gaussian mechanism.  For repeated participation the lower bound is
        loose.  For delta = 0 there is no certificate, because Gaussian noise needs delta > 0.

        The bound uses the smallest change that every mechanism must hide: the change of one record
        within its key, before or after rounding to the grid, whichever is less.

        >>> from hushfade import Exponential, plan
        >>> day, guarantee = Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6)
        >>> plan(day, guarantee).certificate(10_000).sentence()
        'Over the first 10000 steps this error is at most 75.78 % of the smallest error of any
        Gaussian factorization. So no Gaussian mechanism with this guarantee has an error this
        small.'
        >>> plan(day, guarantee, method="square_root").certificate(10_000).sentence()
        'Over the first 10000 steps no Gaussian factorization mechanism can have less than 99.90 %
        of this error.'
        """
        from hushfade.planning.certificate import plan_certificate

        return plan_certificate(self, self._steps((self.horizon or 1000) if n is None else n))

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)
