"""Decays: the weight f_k of a record that is k steps old, for k = 0, 1, 2, ...

    NoDecay            f_k = 1                        continual counting
    Exponential        f_k = 2^(-k / half_life)       rates, moving averages
    PowerLaw           f_k = (k + 1)^-power           long memories
    SlidingWindow      f_k = 1 for k < length         'the last 7 days'
    CustomDecay        f_k as listed, then zeros
    Mixture            Σ w_i f_i:  0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1)

The paper writes f(k+1) for f_k, and calls g(x) = Σ f_k x^k the associated symbol.  Every object
with the attributes of the `Decay` protocol is a decay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Column
from hushfade.errors import InvalidType, InvalidValue
from hushfade.numerics import polylogarithm, portable_exp2, unit_disk

ComplexColumn: TypeAlias = NDArray[np.complex128]
Kind = TypeVar("Kind")


@runtime_checkable
class Decay(Protocol):
    """The interface of a decay.

    The four properties are *proven*: True means that the property holds for every k.  False claims
    nothing.
    """

    def __hash__(self) -> int: ...

    @property
    def monotone(self) -> bool:
        """f_0 ≥ f_1 ≥ ... ≥ 0."""

    @property
    def log_convex(self) -> bool:
        """f_k > 0 and f_k² ≤ f_{k-1} f_{k+1}: no coefficient of √g is negative (Kaluza 1928)."""

    @property
    def completely_monotone(self) -> bool:
        """f_k = ∫ θ^k dν(θ) over [0, 1] with ν ≥ 0, which implies `monotone` and `log_convex`."""

    @property
    def horizon_free(self) -> bool:
        """Σ a_n² < ∞ for the square root Σ a_n x^n: one noise level suffices for all steps."""

    def weights(self, n: int) -> Column:
        """f_0, ..., f_{n-1}."""

    def symbol(self, theta: Column) -> ComplexColumn:
        """g(e^iθ) = Σ f_k e^ikθ at angles in (0, π]."""

    def knots(self) -> Column:
        """Angles in (0, π) at which to split an integral over θ; |g(e^iθ)| is smooth in between."""


class Mixable:
    """Adds the operators of weighted mixtures: `2 * decay`, `decay + decay`, `decay - decay`."""

    def __mul__(self, weight: Any) -> Decay:
        return _mixture([(check.real(weight=weight), self)])

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Decay:
        return _mixture([(1.0, self), (1.0, other)])

    def __sub__(self, other: Any) -> Decay:
        return _mixture([(1.0, self), (-1.0, other)])


@dataclass(frozen=True)
class NoDecay(Mixable):
    """Records never lose weight: f_k = 1, continual counting.

    This is the only monotone decay whose square root has Σ a_n² = ∞, so it needs a horizon.

    >>> NoDecay().weights(3)
    array([1., 1., 1.])
    """

    monotone = log_convex = completely_monotone = True
    horizon_free = False

    def weights(self, n: int) -> Column:
        return np.ones(check.count(n=n))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta))

    def knots(self) -> Column:
        return np.empty(0)


@dataclass(frozen=True, init=False)
class Exponential(Mixable):
    """The weight halves every `half_life` steps: f_k = 2^(-k / half_life) = alpha^-k.

    >>> Exponential(half_life=1).weights(4)
    array([1.   , 0.5  , 0.25 , 0.125])
    >>> Exponential(alpha=2) == Exponential(half_life=1)
    True
    """

    half_life: float

    monotone = log_convex = completely_monotone = horizon_free = True

    def __init__(self, half_life: float | None = None, *, alpha: float | None = None) -> None:
        if (half_life is None) == (alpha is None):
            raise InvalidType("Exponential takes exactly one of half_life and alpha")
        if alpha is not None:
            alpha = check.real(alpha=alpha)
            if not alpha > 1:
                raise InvalidValue(
                    "must be > 1", argument="alpha", got=alpha, remedy="for alpha = 1 use NoDecay()"
                )
            # correctly rounded, so that the same alpha is the same decay on every machine
            half_life = float(Decimal(2).ln() / Decimal(alpha).ln())
        object.__setattr__(self, "half_life", check.positive(half_life=half_life))

    @property
    def alpha(self) -> float:
        """The alpha of f_k = alpha^-k; inf if the half-life is too short for a float64."""
        return float(np.exp2(1.0 / self.half_life))

    def weights(self, n: int) -> Column:
        return self.at(np.arange(check.count(n=n), dtype=np.float64))

    def at(self, age: Column) -> Column:
        """f_k at whole ages k."""
        # k/half_life = whole + part/half_life, both exact, so each weight has an error of 1e-16
        with np.errstate(over="ignore", invalid="ignore"):  # half-lives near the smallest float
            whole, part = np.divmod(age, self.half_life)
        whole, part = np.nan_to_num(whole, nan=2000.0), np.nan_to_num(part)
        weights = portable_exp2.exp2(-part / self.half_life)
        return np.ldexp(weights, -np.minimum(whole, 2000).astype(np.int64))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta - math.log(2.0) / self.half_life))

    def knots(self) -> Column:
        return np.empty(0)


@dataclass(frozen=True)
class PowerLaw(Mixable):
    """The weight falls with a power of the age: f_k = (k + 1)^-power, for any power > 0.

    >>> PowerLaw(power=1).weights(4)
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    power: float

    monotone = log_convex = completely_monotone = horizon_free = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", check.positive(power=self.power))

    def weights(self, n: int) -> Column:
        return self.at(np.arange(check.count(n=n), dtype=np.float64))

    def at(self, age: Column) -> Column:
        """f_k at whole ages k."""
        return np.asarray((age + 1.0) ** -self.power)

    def symbol(self, theta: Column) -> ComplexColumn:
        return polylogarithm.over_x(self.power, theta)

    def knots(self) -> Column:
        return np.empty(0)


@dataclass(frozen=True)
class SlidingWindow(Mixable):
    """The last `length` steps count fully, and older steps do not count: f_k = 1 for k < length.

    >>> SlidingWindow(length=2).weights(4)
    array([1., 1., 0., 0.])
    """

    length: int

    monotone = horizon_free = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check.count(length=self.length))

    @property
    def log_convex(self) -> bool:
        return self.length == 1

    @property
    def completely_monotone(self) -> bool:
        return self.length == 1

    def weights(self, n: int) -> Column:
        return (np.arange(check.count(n=n)) < self.length).astype(np.float64)

    def symbol(self, theta: Column) -> ComplexColumn:
        # the geometric sum as a real ratio and a phase, stable near θ = 0
        ratio = np.sin(self.length * theta / 2) / np.sin(theta / 2)
        return np.asarray(ratio * np.exp(0.5j * (self.length - 1) * theta))

    def knots(self) -> Column:
        return np.linspace(0.0, 2 * np.pi, self.length + 1)[1 : (self.length + 1) // 2]


@dataclass(frozen=True)
class CustomDecay(Mixable):
    """The listed weights, then zeros.  They may rise, or be negative; f_0 must be > 0.

    >>> CustomDecay([1, 0.5, 0.25]).weights(4)
    array([1.  , 0.5 , 0.25, 0.  ])
    >>> CustomDecay([1, 1.9, 2.71]).monotone
    False
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        column = check.coefficients(weights=self.values)
        if not column[0] > 0:
            raise InvalidValue("must start with a weight > 0", argument="weights", got=column[0])
        support = int(np.flatnonzero(column)[-1]) + 1
        object.__setattr__(self, "values", tuple(column[:support].tolist()))

    @property
    def monotone(self) -> bool:
        return unit_disk.falls(np.array(self.values))

    @property
    def log_convex(self) -> bool:
        return len(self.values) == 1

    @property
    def completely_monotone(self) -> bool:
        return len(self.values) == 1

    @property
    def horizon_free(self) -> bool:
        """Whether g has no zero inside the unit disk; then √g is bounded there."""
        return unit_disk.zeros_inside(np.array(self.values)) == 0

    def weights(self, n: int) -> Column:
        out = np.zeros(check.count(n=n))
        kept = min(n, len(self.values))
        out[:kept] = self.values[:kept]
        return out

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(
            np.polynomial.polynomial.polyval(np.exp(1j * theta), np.array(self.values))
        )

    def knots(self) -> Column:
        return np.linspace(0.0, np.pi, 2 * len(self.values) + 1)[1:-1]


@dataclass(frozen=True)
class Mixture(Mixable):
    """Σ w_i f_i, made with `*`, `+` and `-`.  Equal parts are merged, so order does not matter.

    Example: momentum in training, f_k = (1 - β^(k+1)) / (1 - β) with β = 1/2.

    >>> (2 * NoDecay() - Exponential(half_life=1)).weights(4)
    array([1.   , 1.5  , 1.75 , 1.875])
    """

    parts: tuple[tuple[float, Decay], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(map(tuple, self.parts)))  # lists have no hash

    def _all(self, name: str) -> bool:
        return all(weight > 0 and getattr(part, name) for weight, part in self.parts)

    @property
    def monotone(self) -> bool:
        return self._all("monotone")

    @property
    def log_convex(self) -> bool:
        return self._all("log_convex")

    @property
    def completely_monotone(self) -> bool:
        return self._all("completely_monotone")

    @property
    def horizon_free(self) -> bool:
        """Whether the mixture is monotone and all its parts are horizon-free.

        A monotone g has no zero in the disk, and g is integrable on the circle if its parts are.
        """
        return self.monotone and self._all("horizon_free")

    def weights(self, n: int) -> Column:
        return np.asarray(sum(weight * part.weights(n) for weight, part in self.parts))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(sum(weight * part.symbol(theta) for weight, part in self.parts))

    def knots(self) -> Column:
        return np.unique(np.concatenate([part.knots() for _, part in self.parts]))

    def __repr__(self) -> str:
        signed = (f"{'-' if w < 0 else '+'} {abs(w)!r} * {part!r}" for w, part in self.parts)
        return " ".join(signed).removeprefix("+ ")


def of_kind(decay: Decay, kind: type[Kind]) -> Kind:
    """The decay, if it is an instance of `kind`; raises InvalidType otherwise."""
    if not isinstance(decay, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidType(
            f"must be {article} {kind.__name__}", argument="decay", got=type(decay).__name__
        )
    return decay


def checked_decay(decay: Any) -> Decay:
    """The argument, if it is a decay; raises InvalidType otherwise."""
    if not isinstance(decay, Decay):
        raise InvalidType(
            "must be a decay",
            argument="decay",
            got=type(decay).__name__,
            remedy="use one such as Exponential(half_life=24)",
        )
    return decay


def checked_weights(decay: Decay, n: int) -> Column:
    """f_0, ..., f_{n-1} of a decay; raises InvalidType if `decay` is none."""
    return checked_decay(decay).weights(n)


def weights_between(decay: Decay, first: int, last: int) -> Column:
    """f_first, ..., f_{last-1}.

    >>> weights_between(PowerLaw(power=1), 3, 5)
    array([0.25, 0.2 ])
    """
    match decay:
        case Exponential() | PowerLaw():
            return decay.at(np.arange(first, last, dtype=np.float64))
        case Mixture():
            return np.asarray(sum(w * weights_between(d, first, last) for w, d in decay.parts))
        case NoDecay():
            return np.ones(last - first)
        case SlidingWindow():
            return (np.arange(first, last) < decay.length).astype(np.float64)
        case _:
            return decay.weights(last)[first:]


def reach(decay: Decay) -> int:
    """The smallest age from which all weights are 0; 0 if the weights never end."""
    match decay:
        case SlidingWindow():
            return decay.length
        case CustomDecay():
            return len(decay.values)
        case Mixture():
            return max(reach(part) for _, part in decay.parts)
        case _:
            return 0


def _mixture(terms: list[tuple[float, Any]]) -> Decay:
    """One decay for all terms: nested mixtures are flattened, equal parts are merged, and positive
    parts come first.  A single part with weight 1 is returned as it is."""
    merged: dict[Decay, float] = {}
    for weight, decay in terms:
        if not isinstance(decay, Decay):
            raise InvalidType("a decay can only be mixed with decays", got=type(decay).__name__)
        for inner, part in decay.parts if isinstance(decay, Mixture) else ((1.0, decay),):
            merged[part] = merged.get(part, 0.0) + weight * inner
    kept = [(weight, part) for part, weight in merged.items() if weight != 0]
    parts = tuple(sorted(kept, key=lambda term: (term[0] < 0, repr(term[1]))))
    if len(parts) == 1 and parts[0][0] == 1.0:
        return parts[0][1]
    total = sum(float(w * d.weights(1)[0]) for w, d in parts)
    if not (math.isfinite(total) and total > 0):
        raise InvalidValue("a mixture must start with a weight > 0", got=f"f_0 = {total}")
    return Mixture(parts)
