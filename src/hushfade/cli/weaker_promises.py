"""A plan's guarantee beyond its unit of privacy: two people, a changed record, a second release.

    Gaussian noise    if the shift grows by a factor, mu grows by the same factor
    other laws        the privacy loss of the larger shifts, if a plan with these shifts exists;
                      else group privacy: (2 epsilon, (1 + e^epsilon) delta) for two successive
                      neighbours (Vadhan 2017, Lemma 2.2)

Every number is rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hushfade.laws import Gaussian
from hushfade.planning.plan import Plan
from hushfade.planning.shifts import cases
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounding import epsilon_up, root_up, rounded_up

_SAME = "at the same delta"


def two_people(plan: Plan) -> str:
    """The guarantee for two people together, or for a record that moves to another step."""
    if isinstance(plan.law, Gaussian):
        return _scaled(plan.guarantee, 4)
    epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
    if plan.guarantee.pure:
        return f"epsilon = {rounded_up(2 * epsilon)}"
    grown = delta * (1.0 + math.exp(epsilon)) * (1.0 + 1e-12)
    return f"epsilon = {rounded_up(2 * epsilon)} at delta = {rounded_up(grown, 3)}"


def changed_value(plan: Plan) -> str:
    """The guarantee for a changed value, if the plan's neighbours add or remove a record."""
    grid = plan.grid
    if grid.norm is not None:
        return _scaled(plan.guarantee, 4)
    if grid.statistic is not None:  # another value takes from some lanes and adds to others
        return changed_key(plan)
    low, high = grid.low_unit, grid.high_unit
    square = Fraction((high - low) ** 2, max(abs(low), abs(high)) ** 2)
    if isinstance(plan.law, Gaussian) or square == 1:
        return _scaled(plan.guarantee, square)
    return _replaced(replace(plan, grid=replace(grid, keys=None)))


def changed_key(plan: Plan) -> str:
    """The guarantee for a record that moves to another key with the same value."""
    if isinstance(plan.law, Gaussian):
        return _scaled(plan.guarantee, 2)
    return _replaced(plan)


def second_release(plan: Plan) -> str:
    """The guarantee of two releases of the same data with independent noise."""
    if isinstance(plan.law, Gaussian):
        return _scaled(plan.guarantee, 2)
    return _text(plan.privacy + plan.privacy, plan.guarantee)


def _replaced(plan: Plan) -> str:
    """The guarantee of the plan's noise if neighbours replace a record."""
    other = replace(plan.guarantee, neighbours="replace")
    larger = cases(other, plan.grid, plan.pair)
    return _text(PrivacyLoss.shifted(plan.law, larger), plan.guarantee)


def _text(loss: PrivacyLoss, guarantee: Guarantee) -> str:
    epsilon = epsilon_of_loss(loss, guarantee.delta, 1.5 * guarantee.epsilon)
    return f"epsilon = {rounded_up(epsilon)}" + ("" if guarantee.pure else f" {_SAME}")


def _scaled(guarantee: Guarantee, square: Fraction | int) -> str:
    """Epsilon if the square of the shift grows by the factor `square`."""
    if square == 1:
        same = "" if guarantee.pure else f" {_SAME}"
        return f"epsilon = {rounded_up(guarantee.epsilon)}{same}"
    mu = root_up(square * Fraction(guarantee.mu) ** 2)
    return f"epsilon = {epsilon_up(mu, guarantee.delta)} {_SAME}"
