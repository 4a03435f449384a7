"""What a stream of a plan costs its dataset: declared numbers, never a bound that was computed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushfade.laws import Gaussian, Laplace
from hushfade.planning import shifts
from hushfade.privacy.account import Charge, Loss

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def charge_of(plan: Plan) -> Charge:
    """The loss of the plan's guarantee, and its mu if its noise is Gaussian.

    Laplace noise whose whole loss is at most epsilon needs no delta.  That is decided by integers
    and fractions: slope · Σ shifts ≤ epsilon.

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
