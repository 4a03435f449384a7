"""plan_together(...): several series about the same people under one guarantee.

All plans are fixed before any of them releases a number.  So their privacy losses compose: the
distribution of the summed loss matters, not the sum of the epsilons.  The search compares two kinds
of plans:

    Gaussian noise        Σ mu_i² = mu², exactly; best for many series
    the best law of each  every plan has its own (epsilon_i, delta'), with all epsilons scaled until
                          the composed loss is (epsilon, delta); best for one or two short memories

delta' is not part of the joint guarantee.  It only sets the shape of the noise.  With a larger
delta', the noise is closer to Gaussian noise, which composes better.

The guarantee of each plan is part of its digest, and the search computes it in floating point.  So
every number that enters a guarantee is rounded to 16 bits.  Machines differ by a relative 1e-12,
and find the same plans.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

from hushfade import check, duration
from hushfade.decays import Decay
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.planning.joint_loss import MOST, composed_epsilon
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.mechanism_search import LawName, settled
from hushfade.planning.plan import Plan
from hushfade.planning.series import Series
from hushfade.privacy.guarantee import Guarantee, epsilon_of
from hushfade.privacy.loss import PrivacyLoss, composed
from hushfade.privacy.rounding import root_down, rounded_up

_SHAPES = (1.0, 0.5, 0.45, 0.6)  # delta' = delta^shape; of equally good plans the first wins
_POWERS = (1 / 3, 1 / 2)  # epsilon_i grows like weight_i^power; 1/2 if losses add up
_ROUNDS = 12  # rounds of the search for a scale
_NEAR = 0.002  # relative distance of the composed epsilon from the guarantee
_ROUNDING = Fraction(1, 1 << 40)  # share of mu² reserved for the rounding of sums
_BITS = 16  # of the shares, scales and delta' that determine the guarantees of the plans
_RATIO = 1e6  # the largest weight divided by the smallest, at most


@dataclass(frozen=True, eq=False)
class JointPlan:
    """Plans for several series about the same people, under one joint `guarantee`.

    The guarantee holds if every plan is used once.  Each plan also has a guarantee of its own.
    """

    guarantee: Guarantee
    series: tuple[Series, ...]
    plans: tuple[Plan, ...]
    errors: tuple[float, ...]  # the largest standard deviation of each
    alone: tuple[float, ...]  # the same for each series alone under the whole guarantee

    @property
    def privacy(self) -> PrivacyLoss:
        """The privacy loss of one record or person in all series together."""
        return composed(made.privacy for made in self.plans)

    @property
    def sentence(self) -> str:
        """The guarantee as a sentence in plain words."""
        steps = {made.every for made in self.plans}
        return self.guarantee.sentence(every=steps.pop() if len(steps) == 1 else None)

    def __str__(self) -> str:
        lines = [self.sentence, "This guarantee covers all series together.", ""]
        for place, made in enumerate(self.plans):
            own, name = made.guarantee, self.series[place].name
            shown = ("" if name is None else f"{name}, ") + repr(made.decay)
            shown += "" if made.statistic is None else f", {made.statistic.name}"
            shown += "" if made.every is None else f" every {made.every}"
            lines.append(
                f"  {place + 1}. {shown}: {mechanism_name(made.method, made.law.name)}, "
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

    Each series is a `Series`, or a decay for records in [0, 1].  The plans minimise the sum of
    weight · (error / error of the series alone); by default all weights are 1.  Equal series are
    planned once.

    Series may have different step lengths, such as an hour and a day, if the guarantee is for one
    record.  Limits per person count in steps, so they require one step length for all series.

    Guarantee: all series together have `guarantee`, if every plan is used once.  Records may depend
    on earlier releases of all series, and so may the way in which a person's records differ between
    neighbouring streams: each plan has one dominating pair (docs/explanation/composition.md).  All
    plans must be fixed in advance.  A plan that is chosen after a release of another plan is a
    separate charge.

    >>> from hushfade import Exponential, Guarantee, SlidingWindow
    >>> both = plan_together(
    ...     [SlidingWindow(length=7), Exponential(half_life=24)], Guarantee(epsilon=1, delta=1e-6)
    ... )
    >>> [made.law.name for made in both.plans], both.privacy.epsilon(1e-6) <= 1
    (['laplace', 'huber'], True)
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("must be a Guarantee", argument="guarantee", got=type(guarantee).__name__)
    if not isinstance(series, Iterable) or not isinstance(weights, Sequence | None):
        raise InvalidType("series and weights must be lists")
    several = [one if isinstance(one, Series) else Series(decay=_decay(one)) for one in series]
    if not 1 <= len(several) <= MOST:
        raise InvalidValue(f"must have 1 to {MOST} entries", argument="series", got=len(several))
    if weights is not None and len(weights) != len(several):
        raise InvalidValue(
            f"must have one entry per series, {len(several)}", argument="weights", got=len(weights)
        )
    weights = [1.0] * len(several) if weights is None else weights
    checked = [check.positive(weights=weight) for weight in weights]
    if not max(checked) <= _RATIO * min(checked):
        raise InvalidValue(f"must differ by at most a factor of {_RATIO:g}", argument="weights")
    _check_steps(several, guarantee)
    return _Search(several, guarantee, checked).best()


def _decay(decay: object) -> Decay:
    if not isinstance(decay, Decay):
        raise InvalidType("must be Series or decays", argument="series", got=type(decay).__name__)
    return decay


def _check_steps(series: list[Series], guarantee: Guarantee) -> None:
    """Raise InvalidValue if limits per person would mean different things in different series."""
    if guarantee.relation.single:
        return
    steps = [
        "not declared" if one.every is None else duration.declared_step(one.every) for one in series
    ]
    if len(set(steps)) > 1:
        raise InvalidValue(
            "must be the same for all series if the guarantee protects a person: the limits per "
            "person count in steps",
            argument="every",
            got=", ".join(dict.fromkeys(steps)),
        )


def _short(value: float) -> float:
    """The value, rounded down to 16 bits.

    A value within a relative 2^-36 below a number of 16 bits counts as that number, because
    another machine may find the number itself.

    >>> _short(1.0), _short(1.0 - 2.0**-50), _short(1 / 3) < 1 / 3
    (1.0, 1.0, True)
    """
    mantissa, exponent = math.frexp(value * (1.0 + 2.0**-36))
    return math.ldexp(math.floor(mantissa * (1 << _BITS)), exponent - _BITS)


@contextmanager
def _naming(series: Series, place: int) -> Iterator[None]:
    """A context in which errors about a series state its name, or its position."""
    try:
        yield
    except HushfadeError as error:
        name = str(place + 1) if series.name is None else repr(series.name)
        problem = f"series {name}: {error.rule}"
        raise type(error)(problem, got=error.got, remedy=error.remedy) from None


class _Search:
    def __init__(self, series: list[Series], guarantee: Guarantee, weights: list[float]) -> None:
        self.series, self.guarantee, self.weights = series, guarantee, weights
        self.made: dict[tuple[Series, Guarantee, LawName | None], Plan] = {}
        self.measured: dict[tuple[Series, Plan], float] = {}
        law: LawName | None = "gaussian" if guarantee.gaussian_only else None
        self.single = self._plans([guarantee] * len(series), law)
        self.alone = self._errors(self.single)

    def best(self) -> JointPlan:
        """The joint plan with the smallest weighted error."""
        best = self.single if len(self.series) == 1 else self._best_of_several()
        errors = tuple(self._errors(best))
        series, alone = tuple(self.series), tuple(self.alone)
        return JointPlan(self.guarantee, series, tuple(best), errors, alone)

    def _best_of_several(self) -> list[Plan]:
        several = []
        least = math.inf
        if not self.guarantee.pure:
            several.append(self._gaussian())
            least = self._cost(several[0])
        if not self.guarantee.gaussian_only:
            shapes = _SHAPES if not self.guarantee.pure else _SHAPES[:1]
            for power in _POWERS if len(set(self.weights)) > 1 else _POWERS[:1]:
                for shape in shapes:
                    plans = self._scaled(power, shape, least)
                    if plans is not None:
                        several.append(plans)
                        least = min(least, self._cost(plans))
        return min(several, key=self._cost)

    def _cost(self, plans: list[Plan]) -> int:
        """The logarithm of the weighted error, rounded more coarsely than machines differ."""
        parts = zip(self.weights, self._errors(plans), self.alone, strict=True)
        return settled(math.fsum(weight * error / alone for weight, error, alone in parts))

    def _gaussian(self) -> list[Plan]:
        """Plans with Gaussian noise, whose shares of mu² grow like (weight · error)^(2/3)."""
        whole, parts = self.guarantee, []
        errors = self._errors(self._plans([whole] * len(self.series), "gaussian"))
        triples = zip(self.weights, errors, self.alone, strict=True)
        costs = [
            Fraction(_short((weight * error / alone) ** (2 / 3)))
            for weight, error, alone in triples
        ]
        total = sum(costs)
        for cost in costs:
            share = cost / total * (1 - _ROUNDING)
            mu = root_down(Fraction(whole.mu) ** 2 * share)
            epsilon = epsilon_of(mu, float(whole.delta))
            parts.append(replace(whole, epsilon=epsilon, declared_mu=mu, declared_rho=None))
        return self._plans(parts, "gaussian")

    def _scaled(self, power: float, shape: float, least: float) -> list[Plan] | None:
        """Plans with the best law for each series, with all epsilons scaled to the joint guarantee.

        None if no scale keeps the guarantee, because noise of this shape reveals too much with
        probability delta.  Also None if no scale that keeps it costs less than `least`.  The cost
        falls with the scale, so a scale that breaks the guarantee and still costs `least` or more
        ends the search.
        """
        whole = self.guarantee
        epsilon, delta = float(whole.epsilon), float(whole.delta)
        each = _short(delta**shape) if delta > 0 else 0.0
        shares = [weight**power for weight in self.weights]
        shares = [_short(share / math.fsum(shares)) for share in shares]
        low, high = 0.5, 4.0 * math.sqrt(len(self.series))
        scale, slope = 1.0, 1.0  # slope: about d ln(composed epsilon) / d ln(scale)
        last: tuple[float, float] | None = None
        kept: list[Plan] | None = None
        for _ in range(_ROUNDS):
            parts = [
                replace(whole, epsilon=scale * share * epsilon, delta=each) for share in shares
            ]
            plans = self._plans(parts)
            if all(made.law.name == "gaussian" for made in plans):
                return None  # `_gaussian` divides mu² better
            over = composed_epsilon(plans, delta) / epsilon - 1.0
            if over <= 0.0:
                low, kept = scale, plans
            else:
                high = scale
                if self._cost(plans) >= least:
                    return None
            if -_NEAR <= over <= 0.0 or high - low < 1e-3 * high:
                break
            reached = math.log(scale), math.log(max(1.0 + over, 0.05))
            if last is not None:
                slope = min(max((reached[1] - last[1]) / (reached[0] - last[0]), 0.5), 2.0)
            last = reached
            scale *= math.exp(-reached[1] / slope) * (1.0 - _NEAR / 4)
            scale = _short(min(max(scale, low * 1.0005), high * 0.9995))
        return kept

    def _plans(self, guarantees: list[Guarantee], law: LawName | None = None) -> list[Plan]:
        """The plans of all series, each under its own guarantee."""
        return [self._plan(place, part, law) for place, part in enumerate(guarantees)]

    def _plan(self, place: int, guarantee: Guarantee, law: LawName | None) -> Plan:
        one = self.series[place]
        key = (one, guarantee, law)
        if key not in self.made:
            with _naming(one, place):
                self.made[key] = one.plan(guarantee, law=law)
        return self.made[key]

    def _errors(self, plans: list[Plan]) -> list[float]:
        """The error of each series."""
        pairs = list(zip(self.series, plans, strict=True))
        for one, made in pairs:
            if (one, made) not in self.measured:
                self.measured[one, made] = one.error(made)
        return [self.measured[pair] for pair in pairs]
