"""The guarantee of a stream in all its epochs.

An older copy of a store that continues as a new epoch publishes some steps again, with new noise.
The ledger charges each epoch, and its composed charges bound what all releases reveal together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hushfade import check
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian, Laplace
from hushfade.planning.charge import charge_of
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import Guarantee, epsilon_of
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounded_losses import Shift

_SAME = 1e-9  # relative amount by which another machine may compute an epsilon differently
_FIELDS = {"epochs", "epsilon", "delta", "mu"}


@dataclass(frozen=True)
class Epochs:
    """A plan, the number of epochs, and the guarantee of all of them together."""

    plan: Plan
    guarantee: Guarantee
    count: int = 1

    @classmethod
    def one(cls, plan: Plan) -> Epochs:
        """The plan with its own guarantee, for a stream that has a single epoch."""
        return cls(plan, plan.guarantee)

    @property
    def several(self) -> bool:
        """Whether the stream has more than one epoch."""
        return self.count > 1

    @property
    def mu(self) -> float | None:
        """The mu of all epochs; None if the noise, or the account of its charges, has none."""
        if not isinstance(self.plan.law, Gaussian):
            return None
        if self.several and self.guarantee.declared_mu is None:
            return None
        return self.guarantee.mu

    @cached_property
    def privacy(self) -> PrivacyLoss:
        """A privacy loss that dominates the loss of all epochs, except for `rest`.

        Charges that add up to (epsilon, delta) have at most the privacy curve of randomised
        response with epsilon, plus delta (Kairouz, Oh, Viswanath 2015, Theorem 3.1).
        """
        if not self.several:
            return self.plan.privacy
        if self.mu is not None:
            loss = PrivacyLoss.gaussian(self.mu)
        else:
            law = Laplace(float(self.guarantee.epsilon))
            loss = PrivacyLoss.shifted(law, [[Shift(1, times=1)]])
        return replace(loss, relation=self.plan.relation)

    @property
    def rest(self) -> float:
        """The probability that `privacy` does not cover."""
        return float(self.guarantee.delta) if self.several and self.mu is None else 0.0

    def document(self) -> dict[str, Any]:
        """The composed guarantee as JSON data."""
        return {
            "epochs": self.count,
            "epsilon": float(self.guarantee.epsilon),
            "delta": float(self.guarantee.delta),
            "mu": self.mu,
        }


def epochs_of(plan: Plan, document: object) -> Epochs:
    """The composed guarantee in JSON data.  Raise InvalidValue unless it agrees with the plan."""
    if not isinstance(document, dict) or set(document) != _FIELDS:
        raise InvalidValue(f"the composed guarantee must have the fields {sorted(_FIELDS)}")
    count = int(check.count(epochs=document["epochs"], most=2**31))
    epsilon, delta = check.real(epsilon=document["epsilon"]), check.real(delta=document["delta"])
    mu = None if document["mu"] is None else check.positive(mu=document["mu"])
    if count == 1:
        found = Epochs.one(plan)
    else:
        _check_enough(plan, count, epsilon, delta, mu)
        if mu is None:
            changes: dict[str, Any] = {"declared_mu": None}
        else:
            epsilon = max(epsilon, epsilon_of(mu, delta))
            changes = {"declared_mu": mu}
        guarantee = replace(
            plan.guarantee, epsilon=epsilon, delta=delta, declared_rho=None, **changes
        )
        found = Epochs(plan, guarantee, count)
    written = found.document()
    for name in ("epsilon", "delta", "mu"):
        if not _agree(written[name], document[name]):
            raise InvalidValue(
                f"the composed {name} must agree with the plan and its epochs: {written[name]!r}",
                got=repr(document[name]),
            )
    return found


def _agree(one: float | None, two: float | None) -> bool:
    if one is None or two is None:
        return one is two
    return math.isclose(one, two, rel_tol=_SAME)


def _check_enough(plan: Plan, count: int, epsilon: float, delta: float, mu: float | None) -> None:
    """Raise unless the numbers are at least the charges of all epochs.

    The first charge of a stream may be part of a joint charge, which is not known here, so this
    counts the other epochs and requires something more for the first.
    """
    loss = charge_of(plan).loss
    others = (count - 1) * (1.0 - _SAME)
    if mu is not None:
        enough = isinstance(plan.law, Gaussian) and mu**2 > others * plan.guarantee.mu**2
        enough = enough and delta == plan.guarantee.delta
    else:
        enough = epsilon > others * loss.epsilon and delta >= others * loss.delta
    # the first epoch adds something: two epochs never have the numbers of one
    if not enough or epsilon <= loss.epsilon * (1.0 + _SAME):
        raise InvalidValue(
            f"the composed guarantee must cover the charges of all {count} epochs",
            got=f"epsilon = {epsilon!r}",
        )
