"""The privacy loss of a record at each age."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian
from hushfade.planning.privacy_over_time import epsilons_at_ages, last_age
from hushfade.plots import style
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushfade.planning.plan import Plan

_POINTS = 40  # points per curve
_FEW = 12  # points for noise that is not Gaussian, where each point takes longer
_SHORTEST = 10  # the smallest number of ages in the figure


def privacy_by_age(plans: Mapping[str, Plan]) -> Figure:
    """Epsilon of one record against the number of releases that include it, one curve per plan.

    Epsilon is at the plan's delta, or pure epsilon for delta = 0.  Noise on the inputs has a flat
    curve: the first release already has the whole privacy loss.

    Guarantee: each marked point is an upper bound on the privacy loss of a record of that age.
    """
    if not plans:
        raise InvalidValue("plans must contain at least one plan", got="none")
    end = max(_SHORTEST, *(last_age(plan) for plan in plans.values()))
    figure = style.figure(8.5, 5.4)
    axes = figure.add_subplot()
    for rank, (name, plan) in enumerate(plans.items()):
        ages, epsilons = _curve(plan, end)
        colour, dashes = style.line(rank)
        first, last = rounded_up(epsilons[0], 3), rounded_up(epsilons[-1], 3)
        grown = (
            f"all at once, epsilon = {last}" if first == last else f"epsilon from {first} to {last}"
        )
        delta = rounded_up(plan.guarantee.delta, 3)
        axes.plot(
            ages,
            epsilons,
            color=colour,
            linestyle=dashes,
            linewidth=1.8,
            marker="o",
            markersize=3.5,
            label=f"{style.short(name, 50)}: {grown} at delta = {delta}",
        )
    style.epsilon_axes(
        axes,
        x="age of the record: releases since its arrival, including its own step (logarithmic)",
        title="Epsilon of one record by its age",
    )
    style.plain_numbers(axes)
    kinds = {style.terms(plan.decay, plan.guarantee) for plan in plans.values()}
    terms = kinds.pop() if len(kinds) == 1 else ""
    style.headline(figure, "Privacy loss of a record so far", terms)
    return figure


def _curve(plan: Plan, end: int) -> tuple[Column, Column]:
    """Ages up to `end`, and epsilon at each."""
    last = last_age(plan)
    points = _POINTS if isinstance(plan.law, Gaussian) else _FEW
    drawn = np.unique(np.geomspace(1, last, points).round().astype(int)).tolist()
    ages, epsilons = zip(*epsilons_at_ages(plan, drawn), strict=True)
    if last < end:  # the privacy loss no longer grows
        ages, epsilons = (*ages, end), (*epsilons, epsilons[-1])
    return np.array(ages, dtype=np.float64), np.array(epsilons)
