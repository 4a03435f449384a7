"""A plan's mechanism in plain words, and the reason for its choice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hushfade.laws import Gaussian, Huber, Laplace, Law

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

_LAWS = {"gaussian": "Gaussian", "laplace": "Laplace", "huber": "Huber"}
_PLACES = {
    "input": "on the inputs",
    "blocks": "on block sums",
    "blend": "between the inputs and the square root",
    "square_root": "on the square root",
    "normalized": "on the square root with a gain per step",
    "unbounded": "for counting without a horizon",
    "given": "on the factorization that was given",
}


def mechanism_name(method: str, law: str) -> str:
    """The name of a mechanism: the law of the noise, and where the noise is added.

    >>> mechanism_name("input", "laplace"), mechanism_name("square_root", "gaussian")
    ('Laplace noise on the inputs', 'Gaussian noise on the square root (the paper)')
    """
    paper = " (the paper)" if (method, law) == ("square_root", "gaussian") else ""
    return f"{_LAWS.get(law, law)} noise {_PLACES.get(method, method)}{paper}"


def law_name(law: Law, unit: float) -> str:
    """The law and its parameters in the unit of the records; `unit` is the grid of the noise."""
    match law:
        case Gaussian():
            return "Gaussian"
        case Laplace():
            return f"Laplace (two-sided geometric on a grid of {unit:.3g})"
        case Huber():
            return (
                f"Huber (Gaussian up to {law.core * unit:.4g}, Laplace beyond, "
                f"kappa = {law.kappa:.3g})"
            )
        case _:
            return law.name


def choice(plan: Plan) -> str:
    """Sentences that name the mechanism, justify its choice, and compare it with others.

    The others are the runner-up and the paper's mechanism, if the search compared them.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> choice(plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6), resolution=1))
    'Mechanism: Laplace noise on the inputs, which has the smallest error of the 3 mechanisms
    compared. Huber noise between the inputs and the square root has 9 % more error. Gaussian noise
    on the square root (the paper) has 109 % more error.'
    """
    name = mechanism_name(plan.method, plan.law.name)
    if len(plan.considered) < 2:
        return f"Mechanism: {name}. No other mechanism was compared."
    chosen, *others = plan.considered
    others.sort(key=lambda one: one.error)
    smallest = others[0].error >= chosen.error
    shown = others[:1] + [one for one in others[1:] if one.method == "square_root"]
    compared = [
        f"{mechanism_name(one.method, one.law)} has {excess(one.error / chosen.error)}."
        for one in shown
    ]
    of_all = f"of the {len(plan.considered)} mechanisms compared"
    why = (
        f"which has the smallest error {of_all}"
        if smallest
        else f"the simplest {of_all} whose error is within 1 % of the smallest"
    )
    return " ".join([f"Mechanism: {name}, {why}.", *compared])


def excess(ratio: float) -> str:
    """The relative excess of an error in words, rounded down.

    >>> excess(1.994), excess(1.0003), excess(0.995)
    ('99 % more error', 'less than 1 % more error', 'up to 1 % less error')
    """
    if ratio < 1.0:
        return f"up to {math.ceil(100.0 * (1.0 - ratio))} % less error"
    percent = math.floor(100.0 * (ratio - 1.0))
    return f"{percent} % more error" if percent >= 1 else "less than 1 % more error"
