"""Seeded bugs in Laplace and Huber noise: a wrong law, or an incomplete accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from hushfade import Plan
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Huber, Laplace, Law
from hushfade.planning import noise_scale
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounded_losses import Shift
from lab.audits.seeded_bugs.stream_noise import Sized
from lab.audits.seeded_bugs.subjects import BLOCKS, HUBER, LAPLACE, MOVED, SINGLE, Bug, Seeded


class Planned(Seeded):
    """The plan has another law than its guarantee requires."""

    def __init__(self, law: Callable[[Plan], Law]) -> None:
        self.law = law

    def plan(self, promised: Plan) -> Plan:
        """The plan with the wrong law."""
        return replace(promised, law=self.law(promised))


class Unaccounted(Planned):
    """The plan has another law, and its accounting leaves out some shifts."""

    def __init__(
        self, law: Callable[[Plan], Law], kept: Callable[[tuple[Shift, ...]], list[Shift]]
    ) -> None:
        super().__init__(law)
        self.kept = kept

    def plan(self, promised: Plan) -> Plan:
        """The plan with the wrong law and the wrong privacy loss."""
        wrong = super().plan(promised)
        if promised.grid.norm is None:
            cases = [shifts for case in promised.privacy.cases for _, shifts in case.shifted]
            kept = [self.kept(shifts) for shifts in cases]
            wrong.__dict__["privacy"] = PrivacyLoss.shifted(wrong.law, kept)
        return wrong


def steeper(plan: Plan) -> Law:
    """The same law, 5 % too steep."""
    assert isinstance(plan.law, Laplace | Huber)
    return replace(plan.law, slope=1.05 * plan.law.slope)


def wider(plan: Plan) -> Law:
    """Huber's law with a core that is twice as wide."""
    assert isinstance(plan.law, Huber)
    return replace(plan.law, core=2 * plan.law.core)


def like_gaussian(plan: Plan) -> Law:
    """Laplace noise with the standard deviation of the plan's noise."""
    return Laplace(math.sqrt(2.0) / plan.law.stddev)


def without_first_tap(plan: Plan) -> Law:
    """The noise for all taps but the first."""
    taps = IntegerTaps.of(plan.taps.integers[1:], plan.taps.bits)
    return _huber(plan, plan.guarantee.delta, taps)


def for_more_delta(plan: Plan) -> Law:
    """The noise for a delta that is 5 % larger, as if the bound's slack were not needed."""
    return _huber(plan, 1.05 * plan.guarantee.delta, plan.taps)


def for_one_key(plan: Plan) -> Law:
    """The noise for a record that stays in its key."""
    alone = replace(plan, grid=replace(plan.grid, keys=None))
    return _huber(alone, plan.guarantee.delta, plan.taps)


def for_a_level_less(plan: Plan) -> Law:
    """The noise of block sums with one level less."""
    assert isinstance(plan.law, Laplace)
    levels = plan.pair.squared_sensitivity()
    return Laplace(plan.law.slope * levels / (levels - 1))


def _huber(plan: Plan, delta: float, taps: IntegerTaps) -> Huber:
    assert isinstance(plan.law, Huber)
    grid = replace(plan.grid, norm=None, width=1)
    guarantee = replace(plan.guarantee, delta=delta)
    pair = replace(plan.pair, taps=taps)
    return noise_scale.huber(guarantee, grid, pair, plan.law.kappa, plan.law.slope)


def all_but_the_largest(shifts: tuple[Shift, ...]) -> list[Shift]:
    """The shifts without the first tap."""
    return list(shifts[:-1])


def all_but_one_of_the_smallest(shifts: tuple[Shift, ...]) -> list[Shift]:
    """The shifts without the last tap."""
    (size, times), *others = shifts
    return [Shift(size, times - 1), *others]


def half_of_each(shifts: tuple[Shift, ...]) -> list[Shift]:
    """The shifts of only one of the two keys."""
    return [Shift(size, times // 2) for size, times in shifts]


BUGS: dict[str, Bug] = {
    "Laplace slope 5 % too steep": Bug(Planned(steeper), LAPLACE),
    "Huber slope 5 % too steep": Bug(Planned(steeper), HUBER),
    "Laplace noise drawn 5 % too steep": Bug(Sized(steeper), LAPLACE),
    "Huber noise drawn 5 % too steep": Bug(Sized(steeper), HUBER),
    "Huber core drawn twice as wide": Bug(Sized(wider), HUBER),
    "Huber core planned twice as wide": Bug(Planned(wider), HUBER),
    "first tap missing from the accounting": Bug(
        Unaccounted(lambda plan: plan.law, all_but_the_largest), HUBER
    ),
    "last tap missing from the accounting": Bug(
        Unaccounted(lambda plan: plan.law, all_but_one_of_the_smallest), HUBER
    ),
    "noise planned without the first tap": Bug(Planned(without_first_tap), HUBER),
    "delta exceeded by 5 %, as if slack were not needed": Bug(Planned(for_more_delta), HUBER),
    "Laplace noise drawn for Gaussian noise": Bug(Sized(like_gaussian), SINGLE),
    "Laplace noise planned for Gaussian noise": Bug(Planned(like_gaussian), SINGLE),
    "a record that moves between keys counts once": Bug(
        Unaccounted(for_one_key, half_of_each), MOVED
    ),
    "a level of blocks missing from the accounting": Bug(
        Unaccounted(for_a_level_less, all_but_one_of_the_smallest), BLOCKS
    ),
    "noise planned for a level of blocks less": Bug(Planned(for_a_level_less), BLOCKS),
}
