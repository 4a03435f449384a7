"""The promise: how much one person's data may change what is released, and the noise it needs.

Everything here is Gaussian, so one number carries the promise exactly: μ, the ratio of the
largest shift of the private half's output to the noise's standard deviation (Gaussian
differential privacy; Dong, Roth, Su 2022).  (ε, δ) and zCDP's ρ are ways to say μ:

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)      Balle & Wang 2018, Theorem 8; tight
    ρ = μ²/2                                       Bun & Steinke 2016
    μ_total² = Σ μ_i²                              composition, exact, adaptive too
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from hushfade import check
from hushfade.errors import InvalidType, InvalidValue
from hushfade.numerics.root_finding import root_of

Neighbours = Literal["add_remove", "replace"]
_LEAST = 1e-5  # mu below which δ loses digits to cancellation
_SAFE = 1.0 - 1e-9  # of delta: what is left for the rounding of `delta_of`


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy for streams that differ in one person's records.

    Guarantee: for neighbouring streams x, x' and every set S of released series,
    P[x → S] ≤ e^epsilon P[x' → S] + delta.  `neighbours` says which streams are neighbours:

    * "add_remove": one record is there or not;
    * "replace": one record has another value (and, with keys, maybe another key), at its step.

    A person with records in up to `participations` steps, at most `records_per_step` in each and
    those steps at least `separation` apart, is covered as a whole.

    >>> one = Guarantee(epsilon=1, delta=1e-6)
    >>> round(one.mu, 6), round(one.noise_multiplier, 6)
    (0.236704, 4.224679)
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = "add_remove"
    participations: int = 1
    separation: int = 1
    records_per_step: int = 1
    mu: float = field(init=False)

    def __post_init__(self) -> None:
        self._set("epsilon", check.positive(epsilon=self.epsilon))
        self._set("delta", _probability(delta=self.delta))
        if not isinstance(self.neighbours, str):
            raise InvalidType(
                "must be a str", argument="neighbours", got=type(self.neighbours).__name__
            )
        if self.neighbours not in get_args(Neighbours):
            choices = " or ".join(repr(choice) for choice in get_args(Neighbours))
            raise InvalidValue(
                f"must be {choices}", argument="neighbours", got=repr(self.neighbours)
            )
        self._set("participations", check.count(participations=self.participations))
        self._set("separation", check.count(separation=self.separation))
        most = check.count(records_per_step=self.records_per_step, most=2**31)
        self._set("records_per_step", most)
        self._set("mu", mu_of(self.epsilon, self.delta))

    @classmethod
    def from_mu(
        cls,
        mu: float,
        *,
        delta: float = 1e-6,
        neighbours: Neighbours = "add_remove",
        participations: int = 1,
        separation: int = 1,
        records_per_step: int = 1,
    ) -> Guarantee:
        """The guarantee of Gaussian differential privacy `mu`, told as epsilon at `delta`."""
        mu = check.positive(mu=mu)
        epsilon = epsilon_of(mu, delta)
        if not epsilon > 0:
            raise InvalidValue(
                f"must be below {delta_of(mu, 0.0):.3g} for this mu", argument="delta", got=delta
            )
        found = cls(epsilon, delta, neighbours, participations, separation, records_per_step)
        found._set("mu", mu)
        return found

    @property
    def relation(self) -> tuple[str, int, int, int]:
        """To whom it promises: guarantees add up only where this is the same."""
        return self.neighbours, self.participations, self.separation, self.records_per_step

    @classmethod
    def from_rho(
        cls,
        rho: float,
        *,
        delta: float = 1e-6,
        neighbours: Neighbours = "add_remove",
        participations: int = 1,
        separation: int = 1,
        records_per_step: int = 1,
    ) -> Guarantee:
        """The guarantee of zero-concentrated privacy `rho` by Gaussian noise: mu = √(2 rho)."""
        mu = math.sqrt(2 * check.positive(rho=rho))
        return cls.from_mu(
            mu,
            delta=delta,
            neighbours=neighbours,
            participations=participations,
            separation=separation,
            records_per_step=records_per_step,
        )

    @property
    def noise_multiplier(self) -> float:
        """The noise's standard deviation for a shift of 1: 1/mu."""
        return 1.0 / self.mu

    @property
    def rho(self) -> float:
        """zCDP: mu²/2."""
        return self.mu**2 / 2

    def change(self, low: float, high: float, *, keyed: bool = False) -> float:
        """The largest ℓ2 change of one step's total when a person's records there change.

        For a record in [low, high]: add_remove: max(|low|, |high|).  replace: high - low; with keys
        the record may leave one key and enter another, which changes two totals:
        √2 max(|low|, |high|) if that is more.  So much for each of `records_per_step` records: all
        may move the same totals the same way.
        """
        most, largest = self.records_per_step, max(abs(low), abs(high))
        if self.neighbours == "add_remove":
            return most * largest
        apart = most * (high - low)
        return max(apart, math.sqrt(2.0) * most * largest) if keyed else apart

    def vector_change(self, norm: float) -> float:
        """The same for vectors of ℓ2 norm at most `norm`: norm, or 2 norm when replaced."""
        return self.records_per_step * (norm if self.neighbours == "add_remove" else 2.0 * norm)

    def sentence(self, who: str | None = None) -> str:
        """The guarantee in plain words; `who` it is for, if somebody keeps the limits."""
        who = self._who() if who is None else who
        deed = "adding or removing" if self.neighbours == "add_remove" else "replacing"
        return (
            f"{deed.capitalize()} {who} changes the probability of any published series by at "
            f"most a factor e^{self.epsilon:.4g}, up to {self.delta:.3g} "
            f"(mu = {self.mu:.4g}, rho = {self.rho:.3g})."
        )

    def _who(self) -> str:
        apart = f"at least {self.separation} steps apart"
        several = self.records_per_step > 1
        if self.participations == 1 and not several:
            return "any one record"
        if self.participations == 1:
            return f"any {self.records_per_step} records of one person in one step"
        if several:
            each = f"up to {self.records_per_step} in each of {self.participations} steps"
            return f"one person's records, {each}" + (f" {apart}," if self.separation > 1 else ",")
        apart = apart if self.separation > 1 else "in different steps"
        return f"any {self.participations} records of one person, {apart},"

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def delta_of(mu: float, epsilon: float) -> float:
    """δ(ε) of Gaussian privacy mu; relative error below 1e-9 for mu ≥ 1e-5 and δ ≥ 1e-30.

    With e^ε φ(b) = φ(a), a = ε/μ - μ/2, b = ε/μ + μ/2, both terms share the factor φ(a):
    δ = ½ e^(-a²/2) [erfcx(a/√2) - erfcx(b/√2)], which does not cancel in the tails.
    """
    from scipy.special import erfcx, ndtr

    mu = check.positive(mu=mu)
    epsilon = check.real(epsilon=epsilon)
    if not epsilon >= 0:
        raise InvalidValue("must be >= 0", argument="epsilon", got=repr(epsilon))
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a < -5.0:  # here erfcx(a) grows while Φ(-a) is near 1 and nothing cancels
        tail = math.exp(-a * a / 2) * float(erfcx(b / math.sqrt(2.0))) / 2
        return float(ndtr(-a)) - tail
    scaled = float(erfcx(a / math.sqrt(2.0))) - float(erfcx(b / math.sqrt(2.0)))
    return 0.5 * math.exp(-a * a / 2) * scaled


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon ≥ 0 with δ(epsilon) ≤ delta for Gaussian privacy mu.

    Rounded up by more than `delta_of` can err.
    """
    mu, delta = check.positive(mu=mu), _probability(delta=delta)
    delta *= _SAFE
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(mu, high) > delta:
        high *= 2.0
    root = root_of(lambda e: _log(delta_of(mu, e)) - math.log(delta), 0.0, high, tolerance=1e-14)
    while delta_of(mu, root) > delta:
        root += 1e-13 * max(root, 1e-3)
    return root


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu whose δ(epsilon) ≤ delta: the tight calibration of Gaussian noise.

    Rounded down by more than `delta_of` can err, and refused below 1e-5, where it errs more.
    """
    epsilon, delta = check.positive(epsilon=epsilon), _probability(delta=delta)
    delta *= _SAFE
    low, high = 1e-12, 1.0
    while delta_of(high, epsilon) <= delta:
        high *= 2.0
    while delta_of(low, epsilon) > delta:
        low /= 16.0

    def gap(log_mu: float) -> float:
        return _log(delta_of(math.exp(log_mu), epsilon)) - math.log(delta)

    while not gap(math.log(high)) > 0.0:  # the root is high itself, up to rounding
        high *= 2.0
    mu = math.exp(root_of(gap, math.log(low), math.log(high), tolerance=1e-15))
    while delta_of(mu, epsilon) > delta:
        mu *= 1.0 - 1e-13
    if not mu >= _LEAST:
        raise InvalidValue(
            f"epsilon and delta must allow a mu >= {_LEAST:g}: below it the noise cannot be "
            "calibrated to the last digits",
            got=f"{mu:.3g}",
        )
    return mu


def classical_noise_multiplier(epsilon: float, delta: float) -> float:
    """√(2 ln(1.25/δ)) / ε, the textbook's and the paper's Gaussian noise, for comparison.

    Proven for epsilon < 1 only, and refused otherwise.  The tight `Guarantee.noise_multiplier`
    is smaller: by 1.25 at epsilon near 1, 1.46 at 0.1 (delta = 1e-6).

    >>> round(classical_noise_multiplier(0.5, 1e-6), 4)
    10.5976
    """
    epsilon, delta = check.positive(epsilon=epsilon), _probability(delta=delta)
    if not epsilon < 1:
        raise InvalidValue(
            "must be < 1 for the classical formula", argument="epsilon", got=repr(epsilon)
        )
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def composed_mu(parts: Iterable[Guarantee | float]) -> float:
    """μ of several mechanisms on one data set, also adaptively chosen: √(Σ μ_i²), exact.

    The parts must promise to the same neighbours, participations, separation and records a step;
    else refused.

    >>> round(composed_mu([0.3, 0.4]), 12)
    0.5
    """
    listed = list(parts)
    relations = {part.relation for part in listed if isinstance(part, Guarantee)}
    if len(relations) > 1:
        raise InvalidValue("parts must have one relation of neighbours", got=sorted(relations))
    mus = [p.mu if isinstance(p, Guarantee) else check.positive(mu=p) for p in listed]
    return math.hypot(*mus) if mus else 0.0


def _probability(**argument: float) -> float:
    ((name, value),) = argument.items()
    number = check.real(**argument)
    if not 0 < number < 1:
        raise InvalidValue("must be in (0, 1)", argument=name, got=repr(value))
    return number


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -800.0
