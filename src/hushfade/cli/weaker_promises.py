"""A plan's guarantee beyond its unit of privacy: two people, a changed record, a second release.

    Gaussian noise    if the shift grows by a factor, mu grows by the same factor
    other laws        the privacy loss of the larger shifts, if a plan with these shifts exists;
                      else group privacy: (2 epsilon, (1 + e^epsilon) delta) for two successive
                      neighbours (Vadhan 2017, Lemma 2.2)

A stream with several epochs has the guarantee of all of them.  For noise that is not Gaussian only
their epsilon and delta are known, so group privacy replaces the privacy loss of larger shifts.

Every number is rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hushfade.planning.epochs import Epochs
from hushfade.planning.plan import Plan
from hushfade.planning.shifts import cases
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounding import epsilon_up, root_up, rounded_up

_SAME = "at the same delta"


def two_people(epochs: Epochs) -> str:
    """The guarantee for two people together, or for a record that moves to another step."""
    guarantee = epochs.guarantee
    if epochs.mu is not None:
        return _scaled(guarantee, 4)
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if guarantee.pure:
        return f"epsilon = {rounded_up(2 * epsilon)}"
    grown = delta * (1.0 + math.exp(epsilon)) * (1.0 + 1e-12)
    return f"epsilon = {rounded_up(2 * epsilon)} at delta = {rounded_up(grown, 3)}"


def changed_value(epochs: Epochs) -> str:
    """The guarantee for a changed value, if the plan's neighbours add or remove a record."""
    plan = epochs.plan
    grid = plan.grid
    if grid.norm is not None:
        return _scaled(epochs.guarantee, 4)
    if grid.statistic is not None:  # another value takes from some lanes and adds to others
        return changed_key(epochs)
    low, high = grid.low_unit, grid.high_unit
    square = Fraction((high - low) ** 2, max(abs(low), abs(high)) ** 2)
    if epochs.mu is not None or square == 1:
        return _scaled(epochs.guarantee, square)
    if epochs.several:
        return two_people(epochs)
    return _replaced(replace(plan, grid=replace(grid, keys=None)))


def changed_key(epochs: Epochs) -> str:
    """The guarantee for a record that moves to another key with the same value."""
    if epochs.mu is not None:
        return _scaled(epochs.guarantee, 2)
    return two_people(epochs) if epochs.several else _replaced(epochs.plan)


def second_release(epochs: Epochs) -> str:
    """The guarantee of two releases of the same data with independent noise."""
    plan, guarantee = epochs.plan, epochs.guarantee
    if epochs.mu is not None:
        return _scaled(guarantee, 2)
    if epochs.several:
        at = "" if guarantee.pure else f" at delta = {rounded_up(2 * guarantee.delta, 3)}"
        return f"epsilon = {rounded_up(2 * guarantee.epsilon)}{at}"
    return _text(plan.privacy + plan.privacy, guarantee)


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
