"""The privacy charge of a plan's stream: declared numbers, never a computed bound."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushfade.laws import Gaussian, Laplace
from hushfade.planning import shifts
from hushfade.privacy.account import Charge, Loss

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def charge_of(plan: Plan) -> Charge:
    """The charge of a plan: the loss of its guarantee, and its mu if its noise is Gaussian.

    Laplace noise whose total loss is at most epsilon is charged with delta = 0.  The test
    slope · Σ shifts ≤ epsilon uses integers and fractions only.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> charge_of(plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6))).loss
    Loss(epsilon=1.0, delta=0.0, law='laplace')
    """
    guarantee, law = plan.guarantee, plan.law
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    if isinstance(law, Gaussian):
        return Charge(Loss(epsilon, delta, law.name), guarantee.mu)
    if isinstance(law, Laplace):
        several = shifts.cases(guarantee, plan.grid, plan.pair)
        largest = max(sum(size * times for size, times in case) for case in several)
        if Fraction(law.slope) * largest <= Fraction(epsilon):
            delta = 0.0
    return Charge(Loss(epsilon, delta, law.name))
