"""plan_together(...): several series about the same people under one guarantee.

The plans are fixed together, before any of them releases a number.  So their losses compose: the
distribution of the sum decides, and not the sum of the epsilons.  Two kinds of plans are compared:

    Gaussian noise        Σ mu_i² = mu², exactly; best for many series
    the best law of each  every plan for its own (epsilon_i, delta'), with all epsilons scaled until
                          the composed loss is (epsilon, delta); best for one or two short memories

delta' is not a part of the joint guarantee.  It only sets the shape of the noise: the larger it is,
the nearer is the noise to Gaussian noise, which composes better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from hushfade import check
from hushfade.decay import Decay
from hushfade.errors import InvalidType, InvalidValue
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.planning.search_taps import compared_steps
from hushfade.privacy.guarantee import Guarantee, epsilon_of
from hushfade.privacy.loss import PrivacyLoss, composed
from hushfade.privacy.rounding import root_down, rounded_up

_SHAPES = (1.0, 0.5, 0.25)  # delta' = delta^shape
_POWERS = (1 / 3, 1 / 2)  # epsilon_i is like weight_i^power; 1/2 where losses add up
_ROUNDS = 12  # of the search for a scale
_NEAR = 0.002  # relative: how near to the guarantee the composed epsilon comes
_ROUNDING = Fraction(1, 1 << 40)  # of mu², left for the rounding of sums
_MOST = 100  # series


@dataclass(frozen=True, kw_only=True)
class Series:
    """One of several series that are planned together: the arguments of `hushfade.plan`."""

    decay: Decay
    low: float = 0.0
    high: float = 1.0
    horizon: int | None = None
    keys: tuple[str, ...] | None = None
    resolution: float | None = None

    def plan(self, guarantee: Guarantee, method: Method | Literal["best"] = "best") -> Plan:
        """The plan of this series alone."""
        return plan(
            self.decay, guarantee, low=self.low, high=self.high, horizon=self.horizon,
            keys=self.keys, resolution=self.resolution, method=method,
        )  # fmt: skip

    def gaussian(self, guarantee: Guarantee) -> Plan:
        """The plan with Gaussian noise."""
        return plan(
            self.decay, guarantee, low=self.low, high=self.high, horizon=self.horizon,
            keys=self.keys, resolution=self.resolution, law="gaussian",
        )  # fmt: skip

    def error(self, made: Plan) -> float:
        """The largest standard deviation of a plan of this series."""
        return made.max_stddev(compared_steps(self.decay, self.horizon))


@dataclass(frozen=True, eq=False)
class JointPlan:
    """Plans for several series about the same people, which have `guarantee` together.

    The promise holds if every plan is used once.  Each plan also has a guarantee of its own.
    """

    guarantee: Guarantee
    plans: tuple[Plan, ...]
    errors: tuple[float, ...]  # the largest standard deviation of each
    alone: tuple[float, ...]  # what it would be if the series had the guarantee for itself

    @property
    def privacy(self) -> PrivacyLoss:
        """What one record or person can reveal in all series together."""
        return composed(made.privacy for made in self.plans)

    def __str__(self) -> str:
        lines = [self.guarantee.sentence(), "That holds for all series together.", ""]
        for place, made in enumerate(self.plans):
            own = made.guarantee
            lines.append(
                f"  {place + 1}. {made.decay!r}: {mechanism_name(made.method, made.law.name)}, "
                f"epsilon = {rounded_up(own.epsilon, 3)}, standard deviation "
                f"{self.errors[place]:.4g} (alone {self.alone[place]:.4g})"
            )
        return "\n".join(lines)


def plan_together(
    series: Iterable[Series | Decay],
    guarantee: Guarantee,
    *,
    weights: Sequence[float] | None = None,
) -> JointPlan:
    """Plans for several series about the same people, with the smallest weighted error.

    The series are `Series`, or decays of records in [0, 1].  The error that is minimised is the sum
    of weight · (error / error of the series alone); all weights are 1 unless given.

    Guarantee: all series together have `guarantee`, if every plan is used once.  The plans must be
    fixed together: a plan that is chosen after a release of another one is a charge of its own.

    >>> from hushfade import Exponential, Guarantee, SlidingWindow
    >>> both = plan_together(
    ...     [SlidingWindow(length=7), Exponential(half_life=24)], Guarantee(epsilon=1, delta=1e-6)
    ... )
    >>> [made.law.name for made in both.plans], both.privacy.epsilon(1e-6) <= 1
    (['laplace', 'huber'], True)
    """
    several = [one if isinstance(one, Series) else Series(decay=_decay(one)) for one in series]
    if not 1 <= len(several) <= _MOST:
        raise InvalidValue(f"must be 1 to {_MOST}", argument="series", got=len(several))
    if weights is not None and len(weights) != len(several):
        raise InvalidValue(
            f"must be as many as the series, {len(several)}", argument="weights", got=len(weights)
        )
    checked = [check.positive(weights=weight) for weight in weights or [1.0] * len(several)]
    return _Search(several, guarantee, checked).best()


def _decay(decay: object) -> Decay:
    if not isinstance(decay, Decay):
        raise InvalidType("must be Series or decays", argument="series", got=type(decay).__name__)
    return decay


class _Search:
    def __init__(self, series: list[Series], guarantee: Guarantee, weights: list[float]) -> None:
        self.series, self.guarantee, self.weights = series, guarantee, weights
        self.made: dict[tuple[Series, float, float], Plan] = {}
        self.single = [self._plan(one, guarantee.epsilon, guarantee.delta) for one in series]
        self.alone = [one.error(made) for one, made in zip(series, self.single, strict=True)]

    def best(self) -> JointPlan:
        """The joint plan with the smallest weighted error."""
        if len(self.series) == 1:
            return self._joint(self.single)
        several = []
        if not self.guarantee.pure:
            several.append(self._joint(self._gaussian()))
        if not self.guarantee.gaussian_only:
            shapes = _SHAPES if not self.guarantee.pure else _SHAPES[:1]
            for power in _POWERS if len(set(self.weights)) > 1 else _POWERS[:1]:
                found = (self._scaled(power, shape) for shape in shapes)
                several += [self._joint(plans) for plans in found if plans is not None]
        return min(several, key=self._cost)

    def _cost(self, joint: JointPlan) -> float:
        parts = zip(self.weights, joint.errors, joint.alone, strict=True)
        return math.fsum(weight * error / alone for weight, error, alone in parts)

    def _joint(self, plans: list[Plan]) -> JointPlan:
        errors = (one.error(made) for one, made in zip(self.series, plans, strict=True))
        return JointPlan(self.guarantee, tuple(plans), tuple(errors), tuple(self.alone))

    def _gaussian(self) -> list[Plan]:
        """Gaussian noise, with shares of mu² like (weight · error)^(2/3)."""
        whole, found = self.guarantee, []
        costs = []
        for one, weight, alone in zip(self.series, self.weights, self.alone, strict=True):
            costs.append((weight * one.error(one.gaussian(whole)) / alone) ** (2 / 3))
        for one, cost in zip(self.series, costs, strict=True):
            share = Fraction(cost) / sum(map(Fraction, costs)) * (1 - _ROUNDING)
            mu = root_down(Fraction(whole.mu) ** 2 * share)
            epsilon = epsilon_of(mu, float(whole.delta))
            part = replace(whole, epsilon=epsilon, declared_mu=mu, declared_rho=None)
            found.append(one.gaussian(part))
        return found

    def _scaled(self, power: float, shape: float) -> list[Plan] | None:
        """The best law of each series, with all epsilons scaled to the joint guarantee.

        None where no scale keeps it: noise of that shape reveals too much with delta.
        """
        whole = self.guarantee
        epsilon, delta = float(whole.epsilon), float(whole.delta)
        each = delta**shape if delta > 0 else 0.0
        shares = [weight**power for weight in self.weights]
        shares = [share / math.fsum(shares) for share in shares]

        def plans(scale: float) -> list[Plan]:
            pairs = zip(self.series, shares, strict=True)
            return [self._plan(one, scale * share * epsilon, each) for one, share in pairs]

        def excess(found: list[Plan]) -> float:
            return composed(made.privacy for made in found).epsilon(delta) / epsilon - 1.0

        low, high = 0.5, 4.0 * math.sqrt(len(self.series))
        scale = 1.0
        kept: list[Plan] | None = None
        for _ in range(_ROUNDS):
            found = plans(scale)
            over = excess(found)
            if over <= 0.0:
                low, kept = scale, found
            else:
                high = scale
            if -_NEAR <= over <= 0.0 or high - low < 1e-3 * high:
                break
            scale = min(max(scale / (1.0 + over) * (1.0 - _NEAR / 4), low * 1.0005), high * 0.9995)
        return kept

    def _plan(self, one: Series, epsilon: float, delta: float) -> Plan:
        key = (one, epsilon, delta)
        if key not in self.made:
            if self.guarantee.gaussian_only:
                self.made[key] = one.gaussian(self.guarantee)
            else:
                self.made[key] = one.plan(replace(self.guarantee, epsilon=epsilon, delta=delta))
        return self.made[key]
