"""The privacy loss of a record as it ages, and of a stream as it runs.

A record shifts the noisy values of its own step and of later steps, as far as the taps reach.  With
noise on the inputs, the first release has the whole privacy loss of the record.  With the square
root, every further release reveals more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Gaussian
from hushfade.planning import noise_scale, shifts
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import Case, PrivacyLoss
from hushfade.privacy.rounding import root_up, rounded_up
from hushfade.privacy.unit import Person, Record, Relation, Unit
from hushfade.privacy.unit_words import one_stretch

if TYPE_CHECKING:
    from hushfade.planning.planned_mechanism import PlannedMechanism


class EpsilonAtAge(NamedTuple):
    """The epsilon of one record after a number of releases, at the plan's delta."""

    releases: int
    epsilon: float


def loss_at_age(plan: PlannedMechanism, steps: int) -> PrivacyLoss:
    """The privacy loss of one record after the first `steps` releases that include it."""
    single = replace(plan.guarantee, protects=_in_one_step(plan.guarantee))
    pair = plan.pair
    if isinstance(pair, BlockSums):  # a record is in one sum per level; each step releases one sum
        levels = min(steps, pair.squared_sensitivity())
        cases = [
            shifts.merged(lanes, [(1, levels)], 1) for lanes in shifts.changes(single, plan.grid, 1)
        ]
        loss = PrivacyLoss.shifted(plan.law, cases)
    else:
        loss = _loss(plan, single, replace(pair, taps=_first(pair.taps, steps)))
    return replace(loss, relation=replace(plan, guarantee=single).relation)


def loss_after(plan: PlannedMechanism, steps: int) -> PrivacyLoss:
    """The privacy loss of all records that one person contributed to the first `steps` releases.

    It equals the loss of the same noise for a stream that ends after these steps.  A unit with k
    steps at least b apart has had at most min(k, ceil(steps / b)) of them.
    """
    if steps == 0:
        return PrivacyLoss((Case(),), plan.relation)
    if steps == plan.horizon:
        return plan.privacy
    pair = plan.pair
    if isinstance(pair, BlockSums):
        begun: IntegerFactorization = pair.with_horizon(steps)
    else:
        begun = replace(pair, horizon=steps, gain=None if pair.gain is None else pair.gain[:steps])
    loss = replace(_loss(plan, plan.guarantee, begun), relation=plan.relation)
    return plan.privacy if loss == plan.privacy else loss  # its distribution may be cached


def last_age(plan: PlannedMechanism) -> int:
    """The number of releases after which the loss of a record no longer grows.

    With block sums, a record is in one sum per level.  In the worst case these are the first sums.
    """
    pair = plan.pair
    reach = pair.squared_sensitivity() if isinstance(pair, BlockSums) else pair.taps.support
    return min(reach, plan.horizon or reach)


def epsilons_at_ages(plan: PlannedMechanism, ages: Iterable[int]) -> list[EpsilonAtAge]:
    """The epsilon of one record at each of these ages, in rising order, at the plan's delta.

    The values are upper bounds that never decrease.  Each is at most 0.2 % above the smallest
    possible epsilon, and never above the epsilon of the guarantee.
    """
    delta, most = plan.guarantee.delta, float(plan.guarantee.epsilon)
    found: list[EpsilonAtAge] = []
    for age in sorted(set(ages), reverse=True):
        loss = loss_at_age(plan, age)
        if isinstance(plan.law, Gaussian):
            epsilon = loss.epsilon(delta)
        else:
            # above the largest loss delta is 0, and a search from there is slow
            guess = min(most, 0.99 * loss.epsilon(0.0))
            epsilon = epsilon_of_loss(loss, delta, guess)
        most = min(most, epsilon)  # a younger record has not revealed more
        found.append(EpsilonAtAge(age, most))
    return found[::-1]


@lru_cache(maxsize=8)
def milestones(plan: PlannedMechanism) -> tuple[EpsilonAtAge, ...]:
    """The epsilon of one record at three ages: its own step, one between, and the last.

    >>> from hushfade import Exponential, Guarantee, plan
    >>> day, one = Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6)
    >>> found = milestones(plan(day, one, method="square_root"))
    >>> [(age, rounded_up(epsilon, 3)) for age, epsilon in found]
    [(1, '0.727'), (9, '0.947'), (89, '1')]
    """
    last = last_age(plan)
    if plan.guarantee.protects.steps > 1:
        return tuple(epsilons_at_ages(plan, {1, math.isqrt(last), last}))
    end = EpsilonAtAge(last, float(plan.guarantee.epsilon))  # the plan's promise
    return *epsilons_at_ages(plan, {1, math.isqrt(last)} - {last}), end


def sentences(plan: PlannedMechanism) -> list[str]:
    """Sentences that describe how the privacy loss of a record grows; numbers are rounded up.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> for sentence in sentences(plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=0))):
    ...     print(sentence)
    The whole privacy loss of a record, epsilon = 1, is spent in the release of its own step.
    Later releases reveal nothing more about it.
    """
    guarantee = plan.guarantee
    one, reveals, own, has, it = "a record", "A record reveals", "its own step", "It has", "it"
    if guarantee.protects.records_per_step > 1:
        one = "the records of one person in one step"
        reveals, own = f"{one.capitalize()} reveal", "that step"
        has, it = "They have", "them"
    first, *later = milestones(plan)
    delta = "" if guarantee.pure else f" at delta = {rounded_up(guarantee.delta, 3)}"
    epsilon = f"epsilon = {rounded_up(first.epsilon)}{delta}"
    if later:
        grown = [f"at most {rounded_up(most)} after {age} releases" for age, most in later]
        lines = [
            f"{reveals} at most {epsilon} in the release of {own}.",
            f"{has} revealed {', and '.join(grown)}.",
        ]
    else:
        lines = [f"The whole privacy loss of {one}, {epsilon}, is spent in the release of {own}."]
    if last_age(plan) != plan.horizon and not isinstance(plan.pair, BlockSums):
        lines.append(f"Later releases reveal nothing more about {it}.")
    if guarantee.protects.steps > 1:
        lines.append(
            f"{_together(plan.relation)} together reveal at most epsilon = "
            f"{rounded_up(guarantee.epsilon)}{delta}."
        )
    return lines


def _in_one_step(guarantee: Guarantee) -> Unit:
    """The unit of one person's records in a single step."""
    most = guarantee.protects.records_per_step
    return Record() if most == 1 else Person(records_per_step=most)


def _together(relation: Relation) -> str:
    if relation.lifelong:
        return "All counted records of one person"
    return f"A person's records from {one_stretch(relation)}"


def _loss(plan: PlannedMechanism, guarantee: Guarantee, pair: IntegerFactorization) -> PrivacyLoss:
    """The privacy loss of the plan's noise for this guarantee and this pair of factors."""
    if not isinstance(plan.law, Gaussian):
        return PrivacyLoss.shifted(plan.law, shifts.cases(guarantee, plan.grid, pair))
    squared = noise_scale.squared_sensitivity(guarantee, plan.grid, pair)
    mu = root_up(Fraction(squared) / Fraction(plan.law.sigma) ** 2)
    return PrivacyLoss.gaussian(min(mu, plan.guarantee.mu))


def _first(taps: IntegerTaps, steps: int) -> IntegerTaps:
    """The first taps, without trailing zeros."""
    count = int(np.searchsorted(taps.jumps[:-1], steps))
    ends = np.append(taps.jumps[:count], min(steps, taps.jumps[count]))
    if taps.values[count - 1] == 0:
        count -= 1
        ends = ends[:-1]
    return IntegerTaps(ends, taps.values[:count], taps.bits)
