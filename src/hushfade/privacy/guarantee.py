"""The guarantee: how much one person's data may change the distribution of the releases.

For Gaussian noise one number describes the guarantee exactly: μ, the ratio of the sensitivity of
the private half to the standard deviation of the noise (Gaussian differential privacy; Dong,
Roth, Su 2022).  (ε, δ) and the ρ of zCDP follow from μ:

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)      Balle & Wang 2018, Theorem 8; tight
    ρ = μ²/2                                       Bun & Steinke 2016
    μ_total² = Σ μ_i²                              composition, exact, also if adaptive
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from hushfade import check
from hushfade.errors import InvalidType, InvalidValue
from hushfade.privacy.calibration import checked_delta, delta_of, epsilon_of, mu_of
from hushfade.privacy.rounding import (
    exponential_up,
    root_down,
    root_up,
    rounded_down,
    rounded_up,
)
from hushfade.privacy.unit import RECORD, Relation, Unit, checked_unit
from hushfade.privacy.unit_words import person_words, words

__all__ = [
    "Guarantee",
    "Neighbours",
    "classical_noise_multiplier",
    "composed_mu",
    "delta_of",
    "epsilon_of",
    "mu_of",
]

Neighbours = Literal["add_remove", "replace"]

_EPSILONS = 1e-12, 1e130  # the least and the largest epsilon
_MUS = 1e-5, 1e60  # the least and the largest mu


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for streams that differ in one unit of privacy.

    Guarantee: for neighbouring streams x, x' and every set S of released series,
    P[x → S] ≤ e^epsilon P[x' → S] + delta.  `neighbours` defines the neighbouring streams:

    * "add_remove": one stream lacks the records of one unit, which the other stream has;
    * "replace": the records of one unit have other values at the same steps, and with keys possibly
      other keys.

    `protects` is the unit: `Record()`, one record, or `Person(...)`, the records of one person.
    `from_mu` and `from_rho` declare mu or rho, and compute epsilon from it.

    >>> one = Guarantee(epsilon=1, delta=1e-6)
    >>> round(one.mu, 6), round(one.noise_multiplier, 6)
    (0.236704, 4.224679)
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = "add_remove"
    protects: Unit = RECORD
    declared_mu: float | None = field(default=None, kw_only=True, repr=False)
    declared_rho: float | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _within(_EPSILONS, epsilon=self.epsilon)
        if not self.pure:
            if not 0 < check.real(delta=self.delta) < 1:
                raise InvalidValue("must be in [0, 1)", argument="delta", got=repr(self.delta))
            checked_delta(self.delta)
        if not isinstance(self.neighbours, str):
            raise InvalidType(
                "must be a str", argument="neighbours", got=type(self.neighbours).__name__
            )
        if self.neighbours not in get_args(Neighbours):
            choices = " or ".join(repr(choice) for choice in get_args(Neighbours))
            raise InvalidValue(
                f"must be {choices}", argument="neighbours", got=repr(self.neighbours)
            )
        checked_unit(self.protects)
        if self.declared_mu is not None and self.declared_rho is not None:
            raise InvalidType("mu and rho must not both be declared", remedy="leave out one")
        if self.pure and self.gaussian_only:
            raise InvalidValue("must be > 0 if mu or rho is declared", argument="delta", got=0)
        mu = 0.0 if self.pure else self.mu  # raises if no mu belongs to epsilon and delta
        if self.gaussian_only:
            least = epsilon_of(mu, float(self.delta))
            if not self.epsilon >= least:
                raise InvalidValue(
                    f"must be at least {least!r} for this mu and delta",
                    argument="epsilon",
                    got=repr(self.epsilon),
                )

    @property
    def pure(self) -> bool:
        """Whether delta is 0.  Then only noise with a bounded privacy loss is possible."""
        return isinstance(self.delta, float | int) and self.delta == 0

    @property
    def gaussian_only(self) -> bool:
        """Whether mu or rho was declared.  Either promises more than (epsilon, delta), and only
        Gaussian noise keeps that promise."""
        return self.declared_mu is not None or self.declared_rho is not None

    @cached_property
    def mu(self) -> float:
        """The declared mu, or the largest mu that epsilon and delta allow.

        The value is the same on every machine.  It describes Gaussian noise only.
        """
        if self.pure:
            raise InvalidValue("must be > 0 for Gaussian noise", argument="delta", got=0)
        if self.declared_mu is not None:
            return _within(_MUS, mu=self.declared_mu)
        if self.declared_rho is not None:
            return _mu_of_rho(self.declared_rho)
        return mu_of(float(self.epsilon), float(self.delta))

    @classmethod
    def from_mu(
        cls,
        mu: float,
        *,
        delta: float = 1e-6,
        neighbours: Neighbours = "add_remove",
        protects: Unit = RECORD,
    ) -> Guarantee:
        """The guarantee of Gaussian differential privacy `mu`, with epsilon computed at `delta`."""
        return cls(
            _translated(_within(_MUS, mu=mu), delta),
            delta,
            neighbours,
            protects,
            declared_mu=float(mu),
        )

    @classmethod
    def from_rho(
        cls,
        rho: float,
        *,
        delta: float = 1e-6,
        neighbours: Neighbours = "add_remove",
        protects: Unit = RECORD,
    ) -> Guarantee:
        """The guarantee of rho-zCDP, kept by Gaussian noise with mu = √(2 rho)."""
        mu = _mu_of_rho(rho)
        return cls(
            _translated(mu, delta),
            delta,
            neighbours,
            protects,
            declared_rho=float(rho),
        )

    @property
    def relation(self) -> Relation:
        """The unit of privacy.  Guarantees compose only if they protect the same unit."""
        return Relation.of(self.neighbours, self.protects)

    @property
    def noise_multiplier(self) -> float:
        """The standard deviation of Gaussian noise for a sensitivity of 1: 1/mu."""
        return 1.0 / self.mu

    @property
    def rho(self) -> float:
        """The rho of zCDP: mu²/2."""
        return self.mu**2 / 2

    def change(self, low: float, high: float, *, keyed: bool = False) -> float:
        """The largest ℓ2 change of one step's total when a person's records there change.

        For one record in [low, high] the change is max(|low|, |high|) under add_remove, and
        high - low under replace.  With keys, a replaced record may also move from one key to
        another, which changes two totals: √2 max(|low|, |high|), if this is larger.  The result is
        multiplied by the records per step, because all records may change the same totals in the
        same direction.
        """
        most, largest = self.protects.records_per_step, max(abs(low), abs(high))
        if self.neighbours == "add_remove":
            return most * largest
        apart = most * (high - low)
        return max(apart, math.sqrt(2.0) * most * largest) if keyed else apart

    def vector_change(self, norm: float) -> float:
        """The largest change for vectors of ℓ2 norm at most `norm`: norm, or 2 norm if replaced."""
        return self.protects.records_per_step * (
            norm if self.neighbours == "add_remove" else 2.0 * norm
        )

    def squared_change(self, low: int, high: int, *, keyed: bool = False) -> int:
        """The square of `change` for integer bounds, exactly.

        >>> Guarantee(1, 1e-6, neighbours="replace").squared_change(-3, 3, keyed=True)
        36
        """
        most, largest = int(self.protects.records_per_step), max(abs(low), abs(high))
        if self.neighbours == "add_remove":
            return (most * largest) ** 2
        apart = (most * (high - low)) ** 2
        return max(apart, 2 * (most * largest) ** 2) if keyed else apart

    def squared_vector_change(self, norm: int) -> int:
        """The square of `vector_change` for an integer norm, exactly."""
        most = int(self.protects.records_per_step)
        return (most * norm * (1 if self.neighbours == "add_remove" else 2)) ** 2

    def sentence(self, who: str | None = None, *, every: str | None = None) -> str:
        """The guarantee as a sentence in plain words.

        `who` names the protected records, if the caller enforces the limits per person.  `every` is
        the length of a step, if it is known.  Every number is rounded up, so the printed sentence
        is true.

        >>> from hushfade.privacy.unit import Person
        >>> Guarantee(1, 0, protects=Person(within=7)).sentence(every="1d")
        "Adding or removing any one person's records from any seven consecutive days, at most 1 per
        step, changes the probability of any published outcome by at most a factor of 2.72
        (epsilon = 1)."
        """
        who = self._who(every) if who is None else who
        deed = "adding or removing" if self.neighbours == "add_remove" else "replacing"
        return (
            f"{deed.capitalize()} {who} changes the probability of any published outcome by at "
            f"most a factor of {exponential_up(self.epsilon)} (epsilon = "
            f"{rounded_up(self.epsilon)})"
            + ("." if self.pure else f", plus {rounded_up(self.delta, 3)} (delta).")
        )

    def _who(self, every: str | None) -> str:
        unit = self.relation
        steps, most = unit.steps, unit.records_per_step
        apart = f"at least {unit.apart} steps apart"
        if unit.renewed is not None and not unit.lifelong:
            limits = f"at most {most} per step"
            if not unit.renewed.startswith("within"):
                limits += f" in {'1 step' if steps == 1 else f'{steps} steps'}"
                limits += f" {apart}" if steps > 1 and unit.apart > 1 else ""
            return f"{person_words(unit._replace(step=every))}, {limits},"
        if steps == 1:
            if most == 1:
                return "any one record" if unit.single else "any one person with one record"
            return f"any {most} records of one person in one step"
        if most > 1:
            each = f"up to {most} in each of {steps} steps"
            return f"one person's records, {each}" + (f" {apart}," if unit.apart > 1 else ",")
        apart = apart if unit.apart > 1 else "in different steps"
        return f"any {steps} records of one person, {apart},"


def classical_noise_multiplier(epsilon: float, delta: float) -> float:
    """√(2 ln(1.25/δ)) / ε, the noise multiplier of the textbooks and of the paper, for comparison.

    The formula is proven for epsilon < 1 only; any other epsilon raises InvalidValue.  The tight
    `Guarantee.noise_multiplier` is smaller: by a factor of 1.25 at epsilon near 1, and of 1.46 at
    0.1 (delta = 1e-6).

    >>> round(classical_noise_multiplier(0.5, 1e-6), 4)
    10.5976
    """
    epsilon, delta = check.positive(epsilon=epsilon), checked_delta(delta)
    if not epsilon < 1:
        raise InvalidValue(
            "must be < 1 for the classical formula", argument="epsilon", got=repr(epsilon)
        )
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def composed_mu(parts: Iterable[Guarantee | float]) -> float:
    """The μ of several mechanisms on one dataset: √(Σ μ_i²), rounded up.

    The mechanisms may be chosen adaptively.  They must protect the same unit of privacy: the same
    neighbours, and the same records.

    >>> round(composed_mu([0.3, 0.4]), 12)
    0.5
    """
    several = list(parts)
    for part in several:
        if not isinstance(part, Guarantee | float | int):
            raise InvalidType(
                "must be guarantees or numbers mu", argument="parts", got=type(part).__name__,
                remedy="for plans use composed([a.privacy, b.privacy])",
            )  # fmt: skip
    relations = {part.relation for part in several if isinstance(part, Guarantee)}
    if len(relations) > 1:
        raise InvalidValue(
            "must protect the same unit of privacy",
            argument="parts",
            got="; ".join(sorted(map(words, relations))),
        )
    mus = [part.mu if isinstance(part, Guarantee) else check.positive(mu=part) for part in several]
    return root_up(sum((Fraction(mu) ** 2 for mu in mus), Fraction(0)))


def _within(limits: tuple[float, float], **argument: float) -> float:
    """The single keyword's value as a float, if it is within the limits."""
    number, (least, most) = check.positive(**argument), limits
    if not least <= number <= most:
        ((name, value),) = argument.items()
        raise InvalidValue(f"must be from {least:g} to {most:g}", argument=name, got=repr(value))
    return number


def _mu_of_rho(rho: float) -> float:
    """The mu of rho-zCDP, rounded down."""
    limits = _MUS[0] ** 2 / 2.0, _MUS[1] ** 2 / 2.0
    return root_down(2 * Fraction(_within(limits, rho=rho)))


def _translated(mu: float, delta: float) -> float:
    epsilon = epsilon_of(mu, delta)
    if not epsilon > 0:
        raise InvalidValue(
            f"must be below {rounded_down(delta_of(mu, 0.0), 3)} for this mu",
            argument="delta",
            got=delta,
        )
    return epsilon
