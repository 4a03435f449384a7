"""The mechanism of a plan in plain words, and why the plan uses it."""

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
    """The law of the noise, and where it is added.

    >>> mechanism_name("input", "laplace"), mechanism_name("square_root", "gaussian")
    ('Laplace noise on the inputs', 'Gaussian noise on the square root (the paper)')
    """
    paper = " (the paper)" if (method, law) == ("square_root", "gaussian") else ""
    return f"{_LAWS.get(law, law)} noise {_PLACES.get(method, method)}{paper}"


def law_name(law: Law, unit: float) -> str:
    """The law and its parameters, in the records' unit; `unit` is the grid of the noise."""
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
    """The mechanism, why the plan uses it, and how much worse the others are.

    The others are the runner-up and the paper's mechanism, where they were compared.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> choice(plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6), resolution=1))
    'Mechanism: Laplace noise on the inputs, with the smallest error of the 3 compared. Huber noise
    between the inputs and the square root has 9 % more error. Gaussian noise on the square root
    (the paper) has 109 % more error.'
    """
    name = mechanism_name(plan.method, plan.law.name)
    if len(plan.considered) < 2:
        return f"Mechanism: {name}. No other mechanism was compared."
    chosen, *others = plan.considered
    others.sort(key=lambda one: one.error)
    smallest = others[0].error >= chosen.error
    why = "with the smallest error" if smallest else "the simplest within 1 % of the smallest error"
    shown = others[:1] + [one for one in others[1:] if one.method == "square_root"]
    compared = [
        f"{mechanism_name(one.method, one.law)} has {excess(one.error / chosen.error)}."
        for one in shown
    ]
    return " ".join(
        [f"Mechanism: {name}, {why} of the {len(plan.considered)} compared.", *compared]
    )


def excess(ratio: float) -> str:
    """How much larger an error is, rounded down; or that it is smaller.

    >>> excess(1.994), excess(1.0003), excess(0.995)
    ('99 % more error', 'less than 1 % more error', 'up to 1 % less error')
    """
    if ratio < 1.0:
        return f"up to {math.ceil(100.0 * (1.0 - ratio))} % less error"
    percent = math.floor(100.0 * (ratio - 1.0))
    return f"{percent} % more error" if percent >= 1 else "less than 1 % more error"
