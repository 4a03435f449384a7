"""A plan: what will be released, how private and how accurate it will be, before any record.

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

from hushfade import check, duration
from hushfade.check import Column
from hushfade.decay import Decay
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Gaussian, Laplace, Law
from hushfade.planning import noise_scale
from hushfade.planning.exact_factors import Method
from hushfade.planning.shifts import cases
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.unit import Relation
from hushfade.private.grid import Grid

if TYPE_CHECKING:
    from hushfade.crossing.key_file import Noise
    from hushfade.planning.certificate import Certificate
    from hushfade.planning.cost import Cost
    from hushfade.public.step_errors import StepErrors
    from hushfade.stream.stream import Stream

_ROOM = 1 << 54  # |y| stays below it: far from int64's end, and float64 rounds it by 1 unit


class NoiseOutOfRange(InvalidValue):
    """The noise has fewer or more grid units than its tables serve."""


class Considered(NamedTuple):
    """A mechanism that the search compared, and its largest standard deviation."""

    method: str
    law: str
    error: float  # in the records' unit, over the steps that were compared


@dataclass(frozen=True, eq=False)
class Plan:
    """A mechanism, fixed to the last bit.  `hushfade.plan` makes it; it depends on no data.

    `version_1` marks a plan that 0.1.0 wrote.  Such a plan keeps its noise and its digest, so that
    its streams continue.
    """

    decay: Decay
    guarantee: Guarantee
    grid: Grid
    horizon: int | None
    method: Method
    pair: IntegerFactorization = field(repr=False)
    law: Law
    loss: float  # of the integer taps, relative to the exact factors
    considered: tuple[Considered, ...] = field(
        default=(), repr=False
    )  # the chosen one first, if any
    version_1: bool = field(default=False, repr=False)
    every: str | None = field(default=None, repr=False)  # a step: "1h", "rows", or not declared

    # Privacy ---------------------------------------------------------------------------------

    @cached_property
    def privacy(self) -> PrivacyLoss:
        """What one record or person can reveal: `privacy.epsilon(delta)`, `privacy.delta(epsilon)`.

        Upper bounds.  `a.privacy + b.privacy` is the loss of two plans on the same data.

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
        """The unit of privacy, with the length of a step if a person may have several records."""
        unit = self.guarantee.relation
        return unit if unit.single else unit._replace(step=self.every)

    def privacy_at_age(self, steps: int) -> PrivacyLoss:
        """What one record has revealed after `steps` releases; that of its own step is the first.

        `privacy` is what it reveals in the end, and for several records per person of all of them.

        >>> from hushfade import Exponential, Guarantee, plan
        >>> paper = plan(Exponential(half_life=24), Guarantee(1, 1e-6), method="square_root")
        >>> [round(paper.privacy_at_age(n).epsilon(1e-6), 2) for n in (1, 24, 1000)]
        [0.73, 0.99, 1.0]
        """
        from hushfade.planning.privacy_over_time import loss_at_age

        return loss_at_age(self, check.count(steps=steps))

    def privacy_after(self, steps: int) -> PrivacyLoss:
        """What a stream has revealed of the most exposed record or person after its first steps.

        Guarantee: an upper bound for everything that one person contributed so far, for a number of
        steps that was chosen without the released values.  A person with several participations has
        had as many as fit into the steps.

        >>> from hushfade import Exponential, plan
        >>> twice = Guarantee(1, 1e-6, participations=2, separation=100)
        >>> day = plan(Exponential(half_life=24), twice, method="square_root")
        >>> [round(day.privacy_after(n).epsilon(1e-6), 2) for n in (0, 1, 100, 101, 1000)]
        [0.0, 0.5, 0.69, 0.87, 1.0]
        """
        from hushfade.planning.privacy_over_time import loss_after

        return loss_after(self, check.count(steps=steps, least=0, most=self.horizon))

    @cached_property
    def sensitivity(self) -> float:
        """The largest ℓ2 change of the private half's output for one person's change, in the
        records' unit."""
        squared = noise_scale.squared_sensitivity(self.guarantee, self.grid, self.pair)
        return math.sqrt(squared) * self.unit

    @property
    def sigma(self) -> float:
        """The standard deviation of Gaussian noise in grid units, before rounding."""
        if not isinstance(self.law, Gaussian):
            raise InvalidType("sigma is a property of Gaussian noise", got=self.law.name)
        return self.law.sigma

    @cached_property
    def unit(self) -> float:
        """The grid of what crosses, in the records' unit: resolution · 2^-bits."""
        return self.grid.resolution * 2.0**-self.bits

    @property
    def noise_stddev(self) -> float:
        """The standard deviation of z_t in the records' unit."""
        return self.law.stddev * self.unit

    @property
    def bits(self) -> int:
        """Binary places of what crosses: those of the taps, and of the gain."""
        return self.pair.places

    @property
    def taps(self) -> IntegerTaps:
        """The right factor's integer taps."""
        return self.pair.taps

    # Accuracy --------------------------------------------------------------------------------

    def stddevs(self, n: int) -> Column:
        """The error's standard deviation at steps 1, ..., n, in the records' unit."""
        return self.noise_stddev * self.pair.errors(self._steps(n))

    def stddev(self, step: int) -> float:
        """The error's standard deviation at one step; the first is 1."""
        return float(self.stddevs(check.count(step=step, most=self.horizon))[-1])

    def max_stddev(self, n: int) -> float:
        """The largest standard deviation of the first n steps."""
        return float(np.max(self.stddevs(n)))

    def margins(self, n: int, confidence: float = 0.95) -> Column:
        """The margins of steps 1, ..., n: |error| is at most the margin with this probability.

        At each step by itself; `error_bound` is for all steps at once.
        """
        return self.errors.margins(np.arange(1, n + 1), confidence, stddevs=self.stddevs(n))

    def interval(self, step: int, confidence: float = 0.95) -> tuple[float, float]:
        """The two ends (-m, m) that hold the error at a step with this probability.

        A release holds the true sum between value - m and value + m: see `Release.interval`.

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
        """A bound of |error| at all of the first n steps at once, with probability 1 - failure.

        The union bound with each step's own tail: the b with Σ_t P[|e_t| > b] = failure.  For
        normal errors with equal deviations s about s √(2 ln(n/failure)); never the paper's
        s √(ln n), which is too small.
        """
        failure = check.probability(failure=failure)
        return max(0.0, self.errors.bound(failure, stddevs=self.stddevs(n)))

    def error_factor(self, n: int) -> float:
        """‖L‖·‖R‖ over the first n steps, of the taps in use."""
        return self.pair.error_factor(self._steps(n))

    def certificate(self, n: int | None = None) -> Certificate:
        """The error of the first n steps compared with the smallest of any Gaussian factorization.

        Without n: the whole horizon, or 1000 steps if there is none.  `ratio` is below 1 where
        another law of noise beats every Gaussian mechanism.  For repeated participation the lower
        bound is loose.  There is none for delta = 0, which Gaussian noise cannot give.

        The change is that of one record within its key, before or after rounding to the grid,
        whichever is less: what every mechanism must hide.

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
        if self.guarantee.pure:
            raise InvalidValue(
                "a certificate compares with Gaussian noise, which needs delta > 0",
                remedy="see planning.certificate.single_step_bound for delta = 0",
            )
        steps = self._steps((self.horizon or 1000) if n is None else n)
        grid, guarantee = self.grid, self.guarantee
        if grid.norm is None:
            exact = guarantee.change(grid.low, grid.high)
            on_grid = guarantee.change(grid.low_unit, grid.high_unit) * grid.resolution
        else:
            exact = guarantee.vector_change(grid.norm)
            on_grid = guarantee.vector_change(float(grid.norm_unit)) * grid.resolution
        from hushfade.planning.certificate import certificate

        return certificate(
            self.decay,
            steps,
            self.max_stddev(steps) * guarantee.mu / min(exact, on_grid),
            participations=guarantee.participations,
            separation=guarantee.separation,
            gaussian=isinstance(self.law, Gaussian),
        )

    # Use -------------------------------------------------------------------------------------

    def start(self, noise: Noise | None = None) -> Stream:
        """A stream at step 0.  `noise` is fresh unless given.

        A `KeyFile` records the new stream under its name and refuses a second one there.
        """
        from hushfade.stream.stream import Stream

        return Stream.begin(self, noise)

    def step_length(self, given: int | None = None, *, name: str = "every") -> int | None:
        """The length of a step in nanoseconds; None if it has none.

        `given` is what a caller says: it must agree with the plan, whose decay counts in steps.

        >>> from hushfade import SlidingWindow, plan
        >>> week = plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=0), every="1d")
        >>> week.step_length(3600 * 10**9)
        Traceback (most recent call last):
        hushfade.errors.InvalidValue: every must be 1d, the plan's step, got '1h'
        """
        if self.every is None:
            return given
        if self.every == duration.ROWS:
            if given is not None:
                raise InvalidValue("must not be given: the plan's steps are rows", argument=name)
            return None
        own = duration.nanoseconds(self.every)
        if given not in (None, own):
            raise InvalidValue(
                f"must be {self.every}, the plan's step",
                argument=name,
                got=repr(duration.shown(given)),
            )
        return own

    def check_declared(self, every: object, *, name: str = "every") -> None:
        """Raise if somebody declares that steps are rows, and the plan declares a length."""
        if isinstance(every, str) and every == duration.ROWS and self.every not in (None, every):
            raise InvalidValue(
                f"must be {self.every}, the plan's step", argument=name, got=repr(every)
            )

    def quantise(self, values: object) -> Column:
        """Records clipped and put on the grid, for a caller who sums them: see step_total."""
        return self.grid.quantise(values)

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The declared keys."""
        return self.grid.keys

    @property
    def jumps(self) -> int:
        """The number of additions per step of the private half."""
        return len(self.taps.jumps)

    @cached_property
    def cost(self) -> Cost:
        """What a stream of this plan costs at most: memory, and work per step."""
        from hushfade.planning.cost import cost

        return cost(self.pair, self.grid.lanes)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything that matters to privacy or to the released values.

        It covers integers and declared parameters, so it is the same on every machine.
        """
        from hushfade.planning import plan_file

        return plan_file.digest(self)

    def to_json(self) -> str:
        """The plan as a JSON document."""
        from hushfade.planning import plan_file

        return plan_file.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan of a JSON document; refuses what was not written by `to_json`."""
        from hushfade.planning import plan_file

        return plan_file.read(text)

    def __str__(self) -> str:
        from hushfade.planning import summary

        return summary.table(self)

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)


def sized(plan: Plan) -> Plan:
    """The plan with the largest total that int64 can carry, if the noise fits its tables."""
    least = 0.0 if isinstance(plan.law, Laplace) else 8.0  # it is exact on any grid
    if not least < plan.law.stddev <= 2.0**34:
        raise NoiseOutOfRange(
            f"must put the noise between {least:g} and 2^34 grid units",
            argument="resolution",
            got=f"{plan.law.stddev:.3g} units with a resolution of {plan.grid.resolution!r}",
            remedy="give another resolution, to which each record is then rounded",
        )
    reach = sum(abs(value) * length for value, length in zip(*plan.taps.pieces, strict=True))
    room, noises = _ROOM, 1
    if isinstance(plan.pair, BlockSums):
        # differences of prefix sums, with the noise of all open blocks, stay exact in float64
        room, noises = 1 << 53, 2 + plan.pair.schedule.total
        reach *= plan.pair.longest
    if plan.pair.integer_gain is not None:
        reach *= int(np.max(plan.pair.integer_gain))
    largest = (room - noises * math.ceil(farthest(plan.law))) // reach
    if largest < 1:
        raise NoiseOutOfRange(
            f"must leave room for sums over {reach} steps",
            argument="resolution",
            got=plan.grid.resolution,
            remedy="give a larger resolution, or fewer steps",
        )
    # also below 2^52, where float64 still distinguishes neighbouring totals
    return replace(plan, grid=replace(plan.grid, largest_total=min(largest, 2**52)))


def farthest(law: Law) -> float:
    """Units that no draw exceeds: the tables end far below it."""
    return 64.0 * law.sigma if isinstance(law, Gaussian) else 128.0 * law.stddev + 256.0
