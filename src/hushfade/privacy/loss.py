"""The privacy loss of a mechanism: δ(ε), ε(δ), and composition by addition.

A mechanism has one or more worst cases.  A case is Gaussian noise with some μ, shifts of noise with
other laws, or both.  For each ε, δ(ε) of the mechanism is the largest δ(ε) of its cases.

Several mechanisms compose if each of them has one dominating pair of distributions.  An adversary
who sees the releases of one mechanism may then choose the case of the next one.  The largest δ(ε)
over all fixed combinations of cases is too small against this adversary.  So a mechanism with
several cases becomes a `Choice` when it is added to another one.  The curve of a choice is the
largest δ(ε) of its cases at every ε, and belongs to one dominating pair (`loss_distribution`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from hushfade import check
from hushfade.errors import InvalidType, InvalidValue
from hushfade.laws import Gaussian, Law
from hushfade.privacy.calibration import delta_above, epsilon_of
from hushfade.privacy.loss_distribution import LEAST, Losses
from hushfade.privacy.rounded_losses import Shift
from hushfade.privacy.rounding import root_up
from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import words

_SCALE = 1 << 40  # grid units of Gaussian noise that is composed with other laws


class Shifted(NamedTuple):
    """Noise of one law, and the shifts by one record."""

    law: Law
    shifts: tuple[Shift, ...]


class Choice(NamedTuple):
    """Cases of which each of `times` mechanisms may have any, also one that depends on releases."""

    cases: tuple[Case, ...]
    times: int


@dataclass(frozen=True)
class Case:
    """One worst case: Gaussian noise shifted by mu, shifted noise of other laws, and choices."""

    mu: float = 0.0
    shifted: tuple[Shifted, ...] = ()
    choices: tuple[Choice, ...] = ()

    def __add__(self, other: Case) -> Case:
        mu = root_up(Fraction(self.mu) ** 2 + Fraction(other.mu) ** 2)
        return Case(
            mu, _merged(self.shifted + other.shifted), _counted(self.choices, other.choices)
        )

    @property
    def gaussian(self) -> bool:
        """Whether the case consists of Gaussian noise alone, or of nothing."""
        return not self.shifted and not self.choices

    @cached_property
    def losses(self) -> Losses:
        """The distribution of the loss."""
        parts: list[tuple[Law, Iterable[Shift]]] = [(law, shifts) for law, shifts in self.shifted]
        if self.mu > 0:
            parts.append((Gaussian(float(_SCALE)), [Shift(math.ceil(self.mu * _SCALE), 1)]))
        several = [([case.losses for case in cases], times) for cases, times in self.choices]
        return Losses(parts, choices=several)

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε)."""
        if self.gaussian:
            if not self.mu > 0:
                return 0.0
            return max(float(delta_above(epsilon, self.mu)) * (1 + 2.0**-50), LEAST)
        return self.losses.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """An upper bound on ε(δ)."""
        if not self.gaussian or delta <= 0:
            return self.losses.epsilon(delta)
        return epsilon_of(self.mu, delta) if self.mu > 0 else 0.0


_NOTHING = (Case(),)  # the cases of a mechanism without any loss


def _merged(several: tuple[Shifted, ...]) -> tuple[Shifted, ...]:
    """The same shifts, with one entry per law and per size of a shift."""
    laws: dict[Law, dict[int, int]] = {}
    for law, shifts in several:
        counts = laws.setdefault(law, {})
        for size, times in shifts:
            counts[size] = counts.get(size, 0) + times
    return tuple(
        Shifted(law, tuple(Shift(size, times) for size, times in sorted(counts.items())))
        for law, counts in laws.items()
    )


def _counted(*several: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """All choices, with one entry per set of cases."""
    counts: Counter[tuple[Case, ...]] = Counter()
    for choices in several:
        for cases, times in choices:
            counts[cases] += times
    return tuple(Choice(cases, times) for cases, times in counts.items())


@dataclass(frozen=True)
class PrivacyLoss:
    """The privacy loss of one record, or one person, to an observer of all releases.

    Guarantee: `epsilon` and `delta` are upper bounds that include their own numerical errors.
    `a + b` is the loss of two mechanisms on the same data whose plans were fixed before either
    released anything.  It holds even if the records of one depend on releases of the other.

    >>> once = PrivacyLoss.gaussian(0.3)
    >>> round(once.epsilon(1e-6), 4), round((once + once).epsilon(1e-6), 4)
    (1.2917, 1.8829)
    """

    cases: tuple[Case, ...]
    relation: Relation | None = None  # the unit of privacy, if it is known

    @classmethod
    def gaussian(cls, mu: float) -> PrivacyLoss:
        """The loss of Gaussian noise: a shift by mu standard deviations."""
        return cls((Case(check.positive(mu=mu)),))

    @classmethod
    def shifted(cls, law: Law, cases: Iterable[Iterable[Shift]]) -> PrivacyLoss:
        """The loss of noise with one law, in the worst of several cases."""
        return cls(tuple(Case(0.0, (Shifted(law, tuple(shifts)),)) for shifts in cases))

    def epsilon(self, delta: float) -> float:
        """The smallest ε that holds at this δ, or slightly more.

        At δ = 0 it is finite only if the loss is bounded, as with Laplace noise.
        """
        delta = check.real(delta=delta)
        if not 0 <= delta < 1:
            raise InvalidValue("must be in [0, 1)", argument="delta", got=repr(delta))
        return max(case.epsilon(delta) for case in self.cases)

    def delta(self, epsilon: float) -> float:
        """The smallest δ that holds at this ε, or slightly more."""
        epsilon = check.real(epsilon=epsilon)
        if not epsilon >= 0:
            raise InvalidValue("must be >= 0", argument="epsilon", got=repr(epsilon))
        return max(case.delta(epsilon) for case in self.cases)

    def to_json(self) -> str:
        """The loss as a JSON document, from which anyone can compute epsilon and delta again."""
        from hushfade.privacy import loss_document

        return loss_document.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> PrivacyLoss:
        """The loss in a JSON document that `to_json` wrote.

        >>> PrivacyLoss.from_json(PrivacyLoss.gaussian(0.3).to_json()) == PrivacyLoss.gaussian(0.3)
        True
        """
        from hushfade.privacy import loss_document

        return loss_document.read(text)

    def __radd__(self, zero: int) -> PrivacyLoss:
        """The loss itself, so that `sum`, which starts with 0, can add losses."""
        return self if zero == 0 else NotImplemented

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        if None not in (self.relation, other.relation) and self.relation != other.relation:
            raise InvalidValue(
                "losses must be for the same unit of privacy to add up, but one is for "
                f"{words(self.relation)} and the other for {words(other.relation)}"
            )
        cases: tuple[Case, ...]
        if _NOTHING in (self.cases, other.cases):
            cases = self.cases if other.cases == _NOTHING else other.cases
        else:
            cases = (self._dominating() + other._dominating(),)
        return PrivacyLoss(cases, self.relation or other.relation)

    def _dominating(self) -> Case:
        """One case with a dominating pair of the mechanism."""
        return self.cases[0] if len(self.cases) == 1 else Case(choices=(Choice(self.cases, 1),))


def composed(several: Iterable[PrivacyLoss]) -> PrivacyLoss:
    """The privacy loss of several mechanisms on the same data, whose plans are fixed in advance."""
    total = PrivacyLoss(_NOTHING)
    for loss in several:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidType(
                "composed needs privacy losses, such as plan.privacy", got=type(loss).__name__
            )
        total += loss
    return total
