"""A dataset's account: its privacy budget, the charges so far, and whether one more charge fits.

The first charge decides how an account adds up charges.  This rule never changes:

    gaussian    Σ mu_i² ≤ mu²                        if the first charge is Gaussian noise
    basic       Σ epsilon_i ≤ epsilon, Σ delta_i ≤ delta    if it is any other noise

`gaussian` accepts Gaussian noise only.  It is the privacy filter of Gaussian differential privacy
(Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023).  `basic` accepts every law.  It is the
filter of basic composition (Rogers, Roth, Ullman and Vadhan 2016).  Charges may depend on earlier
releases.  Streams that run at the same time are interactive mechanisms, to which both filters
extend (Haney, Shoemate, Tian, Vadhan, Vyrros, Xu and Zhang 2023).

An account must not switch between the rules, nor divide its budget between them while it is in use.
An analyst could wait for releases, and then spend the rest by the rule that reveals more.  With
epsilon(Σ mu_i²) + Σ epsilon_i ≤ 2 at delta = 1e-6 the loss would exceed epsilon = 2 by 1.69e-6 of
probability (docs/decisions/0027-budgets-for-all-laws.md).  The first charge depends on no release,
so it may decide.

A budget that was declared by mu or rho is `gaussian` from the start, and a budget with delta = 0 is
`basic`.  `basic` adds the losses exactly, as the decimal numbers that the ledger's text shows.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, NamedTuple

from hushfade.errors import InvalidValue, Refused
from hushfade.privacy.calibration import epsilon_of, mu_of
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounding import epsilon_up, root_down, root_up, rounded_down, rounded_up
from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import words

Composition = Literal["gaussian", "basic"]

_ROUNDING = 1e-12  # relative amount by which charges may exceed a budget: two halves must fit
_LEAST_DELTA = Fraction("1e-300")  # the smallest delta > 0 of a guarantee
_REMEDY = "plan it with law='gaussian' (--law gaussian)"


class Loss(NamedTuple):
    """A charge (epsilon, delta) for basic composition, and the law of its noise."""

    epsilon: float
    delta: float
    law: str | None = None


class Charge(NamedTuple):
    """The charge of a plan: its loss, and its mu if its noise is Gaussian."""

    loss: Loss
    mu: float | None = None


Spending = float | Loss  # the amount that an entry spends: a mu, or a loss


class Total(NamedTuple):
    """The exact sum of losses."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def plus(self, loss: Loss) -> Total:
        """The sum plus one more loss.

        >>> Total().plus(Loss(0.1, 0.0)).plus(Loss(0.2, 1e-6)).epsilon
        Fraction(3, 10)
        """
        return Total(self.epsilon + decimal(loss.epsilon), self.delta + decimal(loss.delta))

    def within(self, epsilon: float, delta: float) -> bool:
        """Whether the sum is at most (epsilon, delta)."""
        return self.epsilon <= decimal(epsilon) and self.delta <= decimal(delta)

    def up(self) -> Loss:
        """The sum as a loss, rounded up to fifteen digits."""
        delta = max(self.delta, _LEAST_DELTA) if self.delta > 0 else self.delta
        return Loss(float(rounded_up(self.epsilon, 15)), float(rounded_up(delta, 15)))


def decimal(number: float) -> Fraction:
    """The shortest decimal that reads back as the number, as JSON shows it.

    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(number)))


@dataclass(frozen=True)
class Account:
    """A dataset's privacy budget, the amount spent, and the unit that its streams protect."""

    name: str
    mu: float | None  # the whole budget for Gaussian noise; None if delta is 0
    delta: float
    relation: Relation  # the unit
    spent: float = 0.0  # the mu spent so far
    declared: float | None = None  # the epsilon of the budget; None if mu was declared
    losses: Total | None = None  # the losses spent so far under basic composition
    last: Spending | None = field(default=None, compare=False)  # the last charge, for reports

    @classmethod
    def of(cls, name: str, guarantee: Guarantee, step: str | None = None) -> Account:
        """A new account with this guarantee as its budget; all streams must protect its unit.

        `step` is the step length, for a unit with several records per person.  If it is None, the
        first stream decides.

        >>> Account.of("clinics", Guarantee(epsilon=1, delta=0)).composition
        'basic'
        """
        mu = None if guarantee.pure else guarantee.mu
        declared = None if guarantee.gaussian_only else float(guarantee.epsilon)
        unit = guarantee.relation
        if not unit.single:
            unit = unit._replace(step=step)
        return cls(name, mu, float(guarantee.delta), unit, declared=declared)

    @property
    def composition(self) -> Composition | None:
        """The rule by which charges add up; None before the first charge, which decides."""
        if self.declared is None:
            return "gaussian"
        if self.mu is None or self.losses is not None:
            return "basic"
        return "gaussian" if self.spent > 0 else None

    @property
    def used(self) -> bool:
        """Whether the account has a charge."""
        return self.spent > 0 or self.losses is not None

    # Amounts ---------------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """The largest mu that can still be charged; 0 if the account accepts no mu."""
        if self.mu is None or self.composition == "basic":
            return 0.0
        return root_down(Fraction(self.mu) ** 2 - Fraction(self.spent) ** 2)

    @property
    def epsilon(self) -> float:
        """The whole budget as an epsilon at delta; rounded up to nine digits if it is a mu."""
        return self._epsilon(self.mu or 0.0) if self.declared is None else self.declared

    @property
    def spent_epsilon(self) -> float:
        """The spent budget as an epsilon at `spent_delta`, rounded up to nine digits."""
        if self.composition == "basic":
            return float(rounded_up(self._total.epsilon, 9))
        return self._epsilon(self.spent)

    @property
    def spent_delta(self) -> float:
        """The delta of `spent_epsilon`, rounded up to nine digits."""
        if self.composition == "basic":
            return float(rounded_up(self._total.delta, 9))
        return self.delta if self.spent > 0 else 0.0

    @property
    def left_epsilon(self) -> float:
        """The largest epsilon, to nine digits, that one more stream can have at `left_delta`.

        >>> whole = Account.of("clinics", Guarantee.from_mu(mu_of(2.0, 1e-6), delta=1e-6))
        >>> whole.left_epsilon, whole.charged(mu_of(1.0, 1e-6)).left_epsilon
        (2.0, 1.67327427)
        >>> Account.of("clinics", Guarantee(2, 1e-6)).charged(Loss(0.7, 0.0)).left_epsilon
        1.3
        """
        if self.declared is not None and self.composition != "gaussian":
            return float(rounded_down(self._left.epsilon, 9))
        whole = epsilon_of(self.left, self.delta) if self.left > 0 else 0.0
        for text in (rounded_up(whole, 9), rounded_down(whole, 9)):
            with suppress(InvalidValue):  # too little is left for any stream
                if self.affords(mu_of(float(text), self.delta)):
                    return float(text)
        return 0.0

    @property
    def left_delta(self) -> float:
        """The largest delta, to nine digits, that one more stream can have."""
        return float(rounded_down(self._left.delta, 9)) if self.losses else self.delta

    @property
    def next_epsilon(self) -> float | None:
        """The `spent_epsilon` after one more charge like the last; None before the first charge.

        >>> whole = Account.of("clinics", Guarantee(2, 1e-6))
        >>> whole.charged(mu_of(1.0, 1e-6)).next_epsilon
        1.45467108
        """
        if self.last is None:
            return None
        return self._after(self.last, None).spent_epsilon

    def _epsilon(self, mu: float) -> float:
        return float(epsilon_up(mu, self.delta, 9)) if mu > 0 else 0.0

    @property
    def _total(self) -> Total:
        return self.losses or Total()

    @property
    def _left(self) -> Total:
        """The budget that is left under basic composition."""
        epsilon, delta = decimal(self.declared or 0.0), decimal(self.delta)
        left = epsilon - self._total.epsilon, delta - self._total.delta
        return Total(max(Fraction(0), left[0]), max(Fraction(0), left[1]))

    # Charges ---------------------------------------------------------------------------------

    def spending(self, charge: Charge) -> Spending:
        """The amount that a plan's charge spends in this account: its mu or its loss.

        Raises Refused if its noise is not Gaussian but the account accepts Gaussian noise only.
        """
        if self.composition == "basic":
            return charge.loss
        if charge.mu is not None:
            return charge.mu
        if self.composition is None:
            return charge.loss
        raise Refused(self._only_gaussian(charge.loss.law))

    def affords(self, spending: Spending) -> bool:
        """Whether the budget is large enough for this mu, or this loss."""
        if isinstance(spending, Loss):
            if self.declared is None or self.composition == "gaussian":
                return False
            return self._total.plus(spending).within(self.declared, self.delta)
        if self.mu is None or self.composition == "basic":
            return False
        return math.hypot(self.spent, spending) <= self.mu * (1.0 + _ROUNDING)

    def charged(self, spending: Spending, relation: Relation | None = None) -> Account:
        """The account after a charge.

        Raises Refused if the charge exceeds the budget, follows the other rule, or protects another
        unit.  Without a relation it protects the account's unit.

        >>> Account.of("clinics", Guarantee.from_mu(5, delta=1e-6)).charged(3.0).charged(4.0).left
        0.0
        """
        self._check_adds_up(spending)
        amount = spending.epsilon if isinstance(spending, Loss) else spending
        if amount <= 0 or (isinstance(spending, Loss) and spending.delta < 0):
            raise InvalidValue("a charge must be above 0", got=repr(spending))
        if not self.affords(spending):
            raise Refused(self._overspent(spending))
        return replace(self._after(spending, relation), last=spending)

    def with_lost(self, spending: Spending, relation: Relation | None = None) -> Account:
        """The account after a `lost` entry, which is spent even if it exceeds the budget.

        A lost loss is rounded up, so it may exceed the budget in its last digit.
        """
        if not isinstance(spending, Loss):
            return self.charged(spending, relation)
        self._check_adds_up(spending)
        return self._after(spending, relation)

    def lacking(self, known: Account) -> Spending | None:
        """The amount that `known` has spent and this account has not; None if there is none.

        If the two accounts use different rules, they do not share a history.  The result is then
        all that is left.
        """
        if not known.spent and known.losses is None:
            return None
        if known.losses is None and self.composition != "basic":
            mu = root_up(max(Fraction(0), Fraction(known.spent) ** 2 - Fraction(self.spent) ** 2))
            return mu or None
        if self.composition == "gaussian":
            return self.left or None
        lost = self._left
        if known.losses is not None:
            epsilon = known.losses.epsilon - self._total.epsilon
            delta = known.losses.delta - self._total.delta
            lost = Total(max(Fraction(0), epsilon), max(Fraction(0), delta))
        return lost.up() if any(lost) else None

    def _after(self, spending: Spending, relation: Relation | None) -> Account:
        account = replace(self, relation=self._unit(relation))
        if isinstance(spending, Loss):
            return replace(account, losses=self._total.plus(spending))
        return replace(account, spent=root_up(Fraction(self.spent) ** 2 + Fraction(spending) ** 2))

    def _unit(self, relation: Relation | None) -> Relation:
        """The account's unit after one more stream, which must protect the same unit."""
        own = self.relation
        if relation is None:
            return own
        if own.step is None and not self.used:  # the first stream decides the length of a step
            own = own._replace(step=relation.step)
        if relation != own:
            raise Refused(
                f"all streams of dataset {self.name!r} must protect the same unit, so that their "
                f"losses add up: {words(own)}. This stream protects {words(relation)}"
            )
        return own

    def _check_adds_up(self, spending: Spending) -> None:
        if isinstance(spending, Loss) and self.composition == "gaussian":
            raise Refused(self._only_gaussian(spending.law))
        if not isinstance(spending, Loss) and self.composition == "basic":
            raise Refused(f"dataset {self.name!r} adds up epsilon and delta, and accepts no mu")

    def _only_gaussian(self, law: str | None) -> str:
        why = "its budget is a mu" if self.declared is None else "its first stream uses it"
        return (
            f"dataset {self.name!r} accepts Gaussian noise only, because {why}, but this stream "
            f"uses the law {law}: {_REMEDY}"
        )

    def _overspent(self, spending: Spending) -> str:
        start = f"the budget of dataset {self.name!r} must not be overspent:"
        if not isinstance(spending, Loss):
            return (
                f"{start} mu = {rounded_down(self.left, 6)} is left, {rounded_up(spending, 6)} is "
                "needed"
            )
        left = self._left
        problem = (
            f"{start} epsilon = {rounded_down(left.epsilon)} and delta = "
            f"{rounded_down(left.delta, 3)} are left, epsilon = {rounded_up(spending.epsilon)} and "
            f"delta = {rounded_up(spending.delta, 3)} are needed"
        )
        smaller = "delta" if decimal(spending.epsilon) <= left.epsilon else "epsilon"
        return f"{problem}. Plan the stream with a smaller {smaller}"
