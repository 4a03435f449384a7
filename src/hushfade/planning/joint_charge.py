"""The charge for the streams of a joint plan.

The plans are fixed together, before any of them releases a number.  So the distribution of the sum
of their losses determines the charge, not the sum of their epsilons
(docs/explanation/composition.md).  Streams that run at the same time compose in the same way,
because each of them has one dominating pair (Vadhan and Zhang 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hushfade.errors import InvalidType, InvalidValue, Refused
from hushfade.laws import Gaussian, Laplace
from hushfade.planning import shifts
from hushfade.planning.joint_loss import MOST, composed_epsilon
from hushfade.planning.plan import Plan
from hushfade.privacy.account import Charge, Loss
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounding import rounded_up
from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import words


@dataclass(frozen=True)
class JointCharge:
    """Streams whose plans are fixed together, and the charge for all of them.

    `JointCharge.of` computes the loss of the plans and compares it with the guarantee.  So a
    caller cannot pay less than the plans reveal.
    """

    streams: tuple[tuple[str, Plan], ...]
    charge: Charge
    relation: Relation

    @classmethod
    def of(cls, streams: Mapping[str, Plan], guarantee: Guarantee) -> JointCharge:
        """The charge for these plans under a joint guarantee; `streams` maps names to plans.

        Raise Refused unless the plans together keep the guarantee: Σ mu_i² ≤ mu² if all noise is
        Gaussian, otherwise by the composed loss.

        >>> from hushfade import SlidingWindow, plan
        >>> week = plan(SlidingWindow(length=7), Guarantee(epsilon=0.5, delta=1e-6))
        >>> JointCharge.of({"beds": week, "staff": week}, Guarantee(epsilon=1, delta=1e-6)).charge
        Charge(loss=Loss(epsilon=1.0, delta=0.0, law='laplace'), mu=None)
        """
        if not isinstance(streams, Mapping):
            raise InvalidType("must be plans by the names of their streams", argument="streams")
        plans = list(streams.values())
        if not isinstance(guarantee, Guarantee):
            raise InvalidType("must be a Guarantee", argument="guarantee")
        if not all(isinstance(plan, Plan) for plan in plans):
            raise InvalidType("must be plans by the names of their streams", argument="streams")
        if not 1 <= len(plans) <= MOST:
            raise InvalidValue(f"must have 1 to {MOST} entries", argument="streams", got=len(plans))
        relation = _unit(plans, guarantee)
        return cls(tuple(streams.items()), _charge(plans, guarantee), relation)


def _unit(plans: list[Plan], guarantee: Guarantee) -> Relation:
    """The unit of privacy, which all plans and the guarantee must share."""
    relation = plans[0].relation
    for plan in plans:
        if plan.relation != relation:
            raise Refused(
                "the streams of a joint charge must protect the same unit, but one protects "
                f"{words(relation)} and another {words(plan.relation)}"
            )
    if guarantee.relation != relation._replace(step=None):
        raise Refused(
            f"the joint guarantee must protect the unit of its streams, {words(relation)}, but it "
            f"protects {words(guarantee.relation)}"
        )
    return relation


def _charge(plans: list[Plan], guarantee: Guarantee) -> Charge:
    """The declared guarantee as a charge.  Raise Refused unless the plans together keep it."""
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    laws = list(dict.fromkeys(plan.law.name for plan in plans))
    if all(isinstance(plan.law, Gaussian) for plan in plans) and not guarantee.pure:
        square = sum(Fraction(plan.guarantee.mu) ** 2 for plan in plans)
        if square > Fraction(guarantee.mu) ** 2:
            raise _broken(guarantee)
        return Charge(Loss(epsilon, delta, "gaussian"), guarantee.mu)
    if guarantee.gaussian_only:
        raise Refused(
            "a joint guarantee that is declared by mu or rho requires Gaussian noise in all plans"
        )
    if delta > 0.0:
        pure = _pure_epsilon(plans)
        if pure is not None and pure <= Fraction(epsilon):
            return Charge(Loss(epsilon, 0.0, " + ".join(laws)))
    if not composed_epsilon(plans, delta) <= epsilon:
        raise _broken(guarantee)
    return Charge(Loss(epsilon, delta, " + ".join(laws)))


def _pure_epsilon(plans: list[Plan]) -> Fraction | None:
    """The sum of the largest losses, as an exact fraction; None unless all laws are Laplace."""
    total = Fraction(0)
    for plan in plans:
        if not isinstance(plan.law, Laplace):
            return None
        several = shifts.cases(plan.guarantee, plan.grid, plan.pair)
        largest = max(sum(size * times for size, times in case) for case in several)
        total += Fraction(plan.law.slope) * largest
    return total


def _broken(guarantee: Guarantee) -> Refused:
    return Refused(
        f"these plans together do not keep epsilon = {rounded_up(float(guarantee.epsilon))} at "
        f"delta = {rounded_up(float(guarantee.delta), 3)}: charge the guarantee for which "
        "plan_together made them"
    )
