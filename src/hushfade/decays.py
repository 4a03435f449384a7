"""Decays: the weight f_k of a record that is k steps old, for k = 0, 1, 2, ...

    NoDecay            f_k = 1                        continual counting
    Exponential        f_k = 2^(-k / half_life)       rates, moving averages
    PowerLaw           f_k = (k + 1)^-power           long memories
    SlidingWindow      f_k = 1 for k < length         'the last 7 days'
    CustomDecay        f_k as listed, then zeros
    Mixture            Σ w_i f_i:  0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1)

The paper writes f(k+1) for f_k, and calls g(x) = Σ f_k x^k the associated symbol.

A class here is everything that hushfade knows about a decay: its weights, what is proven about
them, the square root of its series, the recursion that releases its sums, its parameters in
documents, and its words.  To add a decay, add a class and its entry in `AnyDecay`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import msgspec
import numpy as np

from hushfade import check, duration
from hushfade.check import Column, ComplexColumn
from hushfade.duration import Length
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors import power_series, root_series, zeros
from hushfade.factors.columns import parts

_TINY = 1e-200  # half-lives that are so short may lead to quotients beyond float64
_FARTHEST, _RELATIVE = 1 << 34, 1e-10  # the largest lag of a power law's sum, its relative error


class Recursion(NamedTuple):
    """The sums s = M u of a decay in constant memory, step by step.

        poles      e_i ← e_i - q_i e_i + u,  s += w_i e_i
        windows    s += weight · (sum of the last length u)
        listed     s += Σ_k f_k u_{t-k}

    A pole p is stored as q = 1 - p, because float64 could not represent the half-life of a p within
    1e-16 of 1.
    """

    fades: tuple[float, ...] = ()  # q
    pole_weights: tuple[float, ...] = ()
    windows: tuple[int, ...] = ()
    window_weights: tuple[float, ...] = ()
    listed: tuple[float, ...] = ()
    relative_error: float = 0.0  # of the weights

    @property
    def memory(self) -> int:
        """The number of past u that it needs in addition to its sums."""
        return max([0, len(self.listed), *(length + 1 for length in self.windows)])

    def plus(self, weight: float, other: Recursion) -> Recursion:
        """The recursion of this decay plus `weight` times another one."""
        listed = [0.0] * max(len(self.listed), len(other.listed))
        listed[: len(self.listed)] = self.listed
        for k, f in enumerate(other.listed):
            listed[k] += weight * f
        return Recursion(
            self.fades + other.fades,
            self.pole_weights + tuple(weight * w for w in other.pole_weights),
            self.windows + other.windows,
            self.window_weights + tuple(weight * w for w in other.window_weights),
            tuple(listed),
            max(self.relative_error, other.relative_error),
        )


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """The base of all decays, with operators for weighted mixtures: `2 * decay`, `a + b`, `a - b`.

    A subclass gives `weights`, and `reach` if its weights end.  The four properties are *proven*:
    True means that the property holds for every k.  False claims nothing.
    """

    rate: ClassVar[float | None] = None
    """The r of f_k = e^(-rk), for decays of this form."""
    window: ClassVar[int | None] = None
    """The w of f_k = 1 for k < w and 0 from then on, for decays of this form."""

    @property
    def monotone(self) -> bool:
        """f_0 ≥ f_1 ≥ ... ≥ 0."""
        return self.completely_monotone

    @property
    def log_convex(self) -> bool:
        """f_k > 0 and f_k² ≤ f_{k-1} f_{k+1}: no coefficient of √g is negative (Kaluza 1928)."""
        return self.completely_monotone

    @property
    def completely_monotone(self) -> bool:
        """f_k = ∫ θ^k dν(θ) over [0, 1] with ν ≥ 0, which implies `monotone` and `log_convex`."""
        return False

    @property
    def horizon_free(self) -> bool:
        """Σ a_n² < ∞ for the square root Σ a_n x^n: one noise level suffices for all steps."""
        return False

    @property
    def flat(self) -> bool:
        """Every weight is 0 or 1, first ones and then zeros."""
        return self.rate == 0.0 or self.window is not None

    @property
    def reach(self) -> int:
        """The smallest age from which all weights are 0; 0 if the weights never end."""
        return self.window or 0

    @property
    def terms(self) -> tuple[tuple[float, Decay], ...]:
        """The decay as a weighted sum of decays that are no mixtures."""
        return ((1.0, self),)

    @property
    def first(self) -> float:
        """f_0."""
        return float(self.weights(1)[0])

    def weights(self, n: int) -> Column:
        """f_0, ..., f_{n-1}."""
        raise NotImplementedError

    def between(self, first: int, last: int) -> Column:
        """f_first, ..., f_{last-1}."""
        return self.weights(last)[first:]

    def symbol(self, theta: Column) -> ComplexColumn:
        """g(e^iθ) = Σ f_k e^ikθ at angles in (0, π]."""
        if not self.reach:
            raise self._unsupported("the symbol")
        f = self.weights(self.reach)
        return np.asarray(np.polynomial.polynomial.polyval(np.exp(1j * theta), f))

    def knots(self) -> Column:
        """Angles in (0, π) at which to split an integral over θ; |g(e^iθ)| is smooth in between."""
        return np.linspace(0.0, np.pi, 2 * self.reach + 1)[1:-1] if self.reach else np.empty(0)

    def root(self, n: int) -> Column:
        """a_0, ..., a_{n-1} of √g, by a closed form where there is one.

        Counting, exponentials and windows have the same bits on every machine.  Other decays differ
        in the last bits, as FFTs and powers do.  Cost: one pass for counting and exponentials,
        n²/2w multiply-adds for windows, 300 multiply-adds per coefficient for the far lags of power
        laws, and 8 FFT products otherwise.

        >>> NoDecay().root(4), SlidingWindow(length=2).root(4)
        (array([1.    , 0.5   , 0.375 , 0.3125]), array([ 1.    ,  0.5   , -0.125 ,  0.0625]))
        """
        return power_series.square_root(self.weights(n))

    def recursion(self) -> Recursion:
        """The recursion of s = M u, which is exact except for power laws."""
        if not self.reach:
            raise self._unsupported("a stream")
        return Recursion(listed=tuple(self.weights(self.reach).tolist()))

    def exponentials(self, steps: int) -> tuple[Column, Column]:
        """(w, s) with f_k = Σ_j w_j e^(-s_j k) for k < steps, to a relative error of 1e-10.

        Only for completely monotone decays.
        """
        if self.reach != 1:
            raise self._unsupported("a sum of exponentials")
        return self.weights(1), np.full(1, np.inf)

    def span(self, reference: int) -> float:
        """The steps within which right taps of a small loss end; inf for heavy tails.

        A tail is heavy if Σ f_k² diverges.  Then the error grows beyond the reach of any taps.
        `reference` is the most steps to consider.
        """
        if self.reach:
            return 10.0 * self.reach
        energy = np.cumsum(self.weights(reference) ** 2)
        return reference if energy[-1] <= 1.01 * energy[reference // 2] else math.inf

    def resolved(self, step: Length) -> Decay:
        """The decay with its durations as numbers of steps of this length."""
        return self

    def words(self, steps: Callable[[float], str]) -> str:
        """A short name, such as 'half-life of 24 steps'; `steps` puts a number of steps in words.

        >>> SlidingWindow(length=7).words("{:g} days".format)
        'window of 7 days'
        """
        return repr(self)

    def clause(self, steps: Callable[[float], str]) -> str:
        """How records fade, as the end of the sentence 'hushfade publishes a decaying sum ...'."""
        return f"with the weights {self!r}"

    def __mul__(self, weight: Any) -> Decay:
        return _mixture([(check.real(weight=weight), self)])

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Decay:
        return _mixture([(1.0, self), (1.0, other)])

    def __sub__(self, other: Any) -> Decay:
        return _mixture([(1.0, self), (-1.0, other)])

    def _unsupported(self, what: str) -> InvalidType:
        return InvalidType(
            f"{what} needs a built-in decay",
            got=type(self).__name__,
            remedy="list its weights in a CustomDecay",
        )


class NoDecay(Decay, frozen=True, tag="none"):
    """Records never lose weight: f_k = 1, continual counting.

    This is the only monotone decay whose square root has Σ a_n² = ∞, so it needs a horizon.

    >>> NoDecay().weights(3)
    array([1., 1., 1.])
    """

    rate: ClassVar[float] = 0.0

    @property
    def completely_monotone(self) -> bool:
        return True

    def weights(self, n: int) -> Column:
        return np.ones(check.count(n=n))

    def between(self, first: int, last: int) -> Column:
        return np.ones(last - first)

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta))

    def root(self, n: int) -> Column:
        return root_series.central(n)

    def recursion(self) -> Recursion:
        return Recursion(fades=(0.0,), pole_weights=(1.0,))

    def exponentials(self, steps: int) -> tuple[Column, Column]:
        return np.ones(1), np.zeros(1)

    def span(self, reference: int) -> float:
        return math.inf

    def words(self, steps: Callable[[float], str]) -> str:
        return "no decay"

    def clause(self, steps: Callable[[float], str]) -> str:
        return "in which every record counts fully, however old it is"


class Exponential(Decay, frozen=True, tag="exponential"):
    """The weight halves every `half_life` steps: f_k = 2^(-k / half_life).

    The half-life is a number of steps, or a duration such as "24h" that a plan resolves.

    >>> Exponential(half_life=1).weights(4)
    array([1.   , 0.5  , 0.25 , 0.125])
    """

    half_life: float | str

    def __post_init__(self) -> None:
        if not isinstance(self.half_life, str):
            _settle(self, half_life=check.positive(half_life=self.half_life))

    @classmethod
    def from_alpha(cls, alpha: float) -> Exponential:
        """The decay f_k = alpha^-k, for alpha > 1.

        >>> Exponential.from_alpha(2)
        Exponential(half_life=1.0)
        """
        alpha = check.real(alpha=alpha)
        if not alpha > 1:
            raise InvalidValue(
                "must be > 1", argument="alpha", got=alpha, remedy="for alpha = 1 use NoDecay()"
            )
        # correctly rounded, so that the same alpha is the same decay on every machine
        return cls(half_life=float(Decimal(2).ln() / Decimal(alpha).ln()))

    @property
    def first(self) -> float:
        return 1.0

    @property
    def rate(self) -> float:  # type: ignore[override]
        return math.log(2.0) / self._steps

    @property
    def alpha(self) -> float:
        """The alpha of f_k = alpha^-k; inf if the half-life is too short for a float64."""
        return float(np.exp2(1.0 / self._steps))

    @property
    def completely_monotone(self) -> bool:
        return True

    @property
    def horizon_free(self) -> bool:
        return True

    @property
    def _steps(self) -> float:
        return _number(half_life=self.half_life)

    def weights(self, n: int) -> Column:
        weights = np.empty(check.count(n=n))
        for here in parts(n):
            weights[here] = self.between(here.start, here.stop)
        return weights

    def between(self, first: int, last: int) -> Column:
        # k/half_life = whole + part/half_life, both exact, so each weight has an error of 1e-16
        age, half_life = np.arange(first, last, dtype=np.float64), self._steps
        with np.errstate(over="ignore", invalid="ignore"):
            whole, part = np.divmod(age, half_life)
        if half_life < _TINY:
            whole, part = np.nan_to_num(whole, nan=2000.0), np.nan_to_num(part)
        weights = root_series.exp2(-part / half_life)
        return np.ldexp(weights, -np.minimum(whole, 2000).astype(np.int64))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta - self.rate))

    def root(self, n: int) -> Column:
        root = root_series.central(n)
        root *= root_series.weights_of(self, n)
        return root

    def recursion(self) -> Recursion:
        return Recursion(fades=(-math.expm1(-self.rate),), pole_weights=(1.0,))

    def exponentials(self, steps: int) -> tuple[Column, Column]:
        return np.ones(1), np.full(1, self.rate)

    def span(self, reference: int) -> float:
        return 5.0 * self._steps

    def resolved(self, step: Length) -> Decay:
        if not isinstance(self.half_life, str):
            return self
        return Exponential(float(duration.steps(self.half_life, step, name="half_life")))

    def words(self, steps: Callable[[float], str]) -> str:
        return f"half-life of {steps(self._steps)}"

    def clause(self, steps: Callable[[float], str]) -> str:
        return f"in which the weight of a record halves every {steps(self._steps)}"


class PowerLaw(Decay, frozen=True, tag="power_law"):
    """The weight falls with a power of the age: f_k = (k + 1)^-power, for any power > 0.

    >>> PowerLaw(power=1).weights(4)
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    power: float

    def __post_init__(self) -> None:
        _settle(self, power=check.positive(power=self.power))

    @property
    def completely_monotone(self) -> bool:
        return True

    @property
    def horizon_free(self) -> bool:
        return True

    def weights(self, n: int) -> Column:
        return self.between(0, check.count(n=n))

    def between(self, first: int, last: int) -> Column:
        return np.asarray((np.arange(first, last, dtype=np.float64) + 1.0) ** -self.power)

    def symbol(self, theta: Column) -> ComplexColumn:
        return root_series.polylogarithm_over_x(self.power, theta)

    def root(self, n: int) -> Column:
        if self.power > root_series.STEEPEST or n <= root_series.NEAR:
            return super().root(n)
        near = power_series.square_root(self.weights(root_series.NEAR))
        cut = partial(root_series.power_law_on_cut, self.power)
        return root_series.with_far(near, cut, (1.0 + self.power) / 2.0, n)

    def recursion(self) -> Recursion:
        if self.power > 10:  # below 1e-20 within a hundred steps, relative to the first weight
            return Recursion(listed=tuple(self.weights(100).tolist()), relative_error=1e-20)
        weights, rates = self.exponentials(_FARTHEST)
        fades, poles = (-np.expm1(-rates)).tolist(), weights.tolist()
        return Recursion(tuple(fades), tuple(poles), relative_error=_RELATIVE)

    def exponentials(self, steps: int) -> tuple[Column, Column]:
        # (k+1)^-c = Γ(c)⁻¹ ∫ s^(c-1) e^-(k+1)s ds, by the trapezoidal rule in log s
        if self.power > 60:  # from f_1 on below 1e-18
            return np.ones(1), np.full(1, np.inf)
        weights, rates = root_series.power_sum(self.power, steps, _RELATIVE)
        return weights * np.exp(-rates), rates

    def span(self, reference: int) -> float:
        return reference if self.power > 0.5 else math.inf

    def words(self, steps: Callable[[float], str]) -> str:
        return f"power law with exponent {self.power:g}"

    def clause(self, steps: Callable[[float], str]) -> str:
        return f"in which a record that is k steps old has weight 1/(k+1)^{self.power:g}"


class SlidingWindow(Decay, frozen=True, tag="sliding_window"):
    """The last `length` steps count fully, and older steps do not count: f_k = 1 for k < length.

    The length is a whole number of steps, or a duration such as "7d" that a plan resolves.

    >>> SlidingWindow(length=2).weights(4)
    array([1., 1., 0., 0.])
    """

    length: int | str

    def __post_init__(self) -> None:
        if not isinstance(self.length, str):
            _settle(self, length=check.count(length=self.length))

    @property
    def first(self) -> float:
        return 1.0

    @property
    def window(self) -> int:  # type: ignore[override]
        return int(_number(length=self.length))

    @property
    def monotone(self) -> bool:
        return True

    @property
    def completely_monotone(self) -> bool:
        return self.window == 1

    @property
    def horizon_free(self) -> bool:
        return True

    def weights(self, n: int) -> Column:
        return self.between(0, check.count(n=n))

    def between(self, first: int, last: int) -> Column:
        return (np.arange(first, last) < self.window).astype(np.float64)

    def symbol(self, theta: Column) -> ComplexColumn:
        # the geometric sum as a real ratio and a phase, stable near θ = 0
        w = self.window
        ratio = np.sin(w * theta / 2) / np.sin(theta / 2)
        return np.asarray(ratio * np.exp(0.5j * (w - 1) * theta))

    def knots(self) -> Column:
        w = self.window
        return np.linspace(0.0, 2 * np.pi, w + 1)[1 : (w + 1) // 2]

    def root(self, n: int) -> Column:
        w = self.window
        return root_series.window(w, n) if root_series.window_is_quick(w, n) else super().root(n)

    def recursion(self) -> Recursion:
        return Recursion(windows=(self.window,), window_weights=(1.0,))

    def resolved(self, step: Length) -> Decay:
        if not isinstance(self.length, str):
            return self
        return SlidingWindow(duration.whole_steps(self.length, step, name="length"))

    def words(self, steps: Callable[[float], str]) -> str:
        return f"window of {steps(self.window)}"

    def clause(self, steps: Callable[[float], str]) -> str:
        return f"over the last {steps(self.window)}"


class CustomDecay(Decay, frozen=True, tag="custom"):
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
        _settle(self, values=tuple(column[:support].tolist()))

    @property
    def monotone(self) -> bool:
        return zeros.falls(np.array(self.values))

    @property
    def completely_monotone(self) -> bool:
        return len(self.values) == 1

    @property
    def horizon_free(self) -> bool:
        """Whether g has no zero inside the unit disk; then √g is bounded there."""
        return zeros.zeros_inside(np.array(self.values)) == 0

    @property
    def reach(self) -> int:
        return len(self.values)

    def weights(self, n: int) -> Column:
        out = np.zeros(check.count(n=n))
        kept = min(n, len(self.values))
        out[:kept] = self.values[:kept]
        return out

    def clause(self, steps: Callable[[float], str]) -> str:
        return f"in which only the last {len(self.values)} steps count, with the listed weights"


class Mixture(Decay, frozen=True, tag="mixture"):
    """Σ w_i f_i, made with `*`, `+` and `-`.  Equal parts are merged, so order does not matter.

    Example: momentum in training, f_k = (1 - β^(k+1)) / (1 - β) with β = 1/2.

    >>> (2 * NoDecay() - Exponential(half_life=1)).weights(4)
    array([1.   , 1.5  , 1.75 , 1.875])
    """

    parts: tuple[tuple[float, AnyDecay], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidValue("must have at least one part", argument="parts")
        terms = ((check.real(weight=weight), checked_decay(part)) for weight, part in self.parts)
        _settle(self, parts=tuple(terms))  # lists have no hash

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

    @property
    def reach(self) -> int:
        return max(part.reach for _, part in self.parts)

    @property
    def terms(self) -> tuple[tuple[float, Decay], ...]:
        return self.parts

    def weights(self, n: int) -> Column:
        return np.asarray(sum(weight * part.weights(n) for weight, part in self.parts))

    def between(self, first: int, last: int) -> Column:
        return np.asarray(sum(weight * part.between(first, last) for weight, part in self.parts))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(sum(weight * part.symbol(theta) for weight, part in self.parts))

    def knots(self) -> Column:
        return np.unique(np.concatenate([part.knots() for _, part in self.parts]))

    def root(self, n: int) -> Column:
        if len(self.parts) > 1:
            return super().root(n)
        ((weight, part),) = self.parts
        return math.sqrt(weight) * part.root(n)

    def recursion(self) -> Recursion:
        total = Recursion()
        for weight, part in self.parts:
            total = total.plus(weight, part.recursion())
        return total

    def exponentials(self, steps: int) -> tuple[Column, Column]:
        sums = [(weight, *part.exponentials(steps)) for weight, part in self.parts]
        weights = [weight * column for weight, column, _ in sums]
        return np.concatenate(weights), np.concatenate([rates for *_, rates in sums])

    def span(self, reference: int) -> float:
        return max(part.span(reference) for _, part in self.parts)

    def resolved(self, step: Length) -> Decay:
        return _mixture([(weight, part.resolved(step)) for weight, part in self.parts])

    def __repr__(self) -> str:
        signed = (f"{'-' if w < 0 else '+'} {abs(w)!r} * {part!r}" for w, part in self.parts)
        return " ".join(signed).removeprefix("+ ")


AnyDecay: TypeAlias = NoDecay | Exponential | PowerLaw | SlidingWindow | CustomDecay | Mixture
"""All decays that documents may contain."""


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


def decay_document(decay: Decay) -> dict[str, Any]:
    """A built-in decay as JSON data.

    >>> decay_document(Exponential(half_life=24))
    {'kind': 'exponential', 'half_life': 24.0}
    """
    if not all(isinstance(part, AnyDecay) for _, part in decay.terms):
        raise InvalidType("only built-in decays can be saved", got=type(decay).__name__)
    document: dict[str, Any] = msgspec.to_builtins(decay)
    return document


def decay_from(document: Any) -> Decay:
    """The decay in JSON data."""
    try:
        decay: Decay = msgspec.convert(document, AnyDecay)
    except msgspec.ValidationError as error:  # its text would repeat the input
        if isinstance(error.__cause__, InvalidValue | InvalidType):
            raise error.__cause__ from None
        raise InvalidValue("decay must be a decay of hushfade, with its parameters") from None
    return decay


def _settle(new: Decay, **checked: Any) -> None:
    """Give a new decay the checked values of its fields."""
    for name, value in checked.items():
        msgspec.structs.force_setattr(new, name, value)


def _number(**argument: float | str) -> float:
    """The keyword's number of steps.  Raise if it is a duration, because that needs a step."""
    ((name, value),) = argument.items()
    if isinstance(value, str):
        raise InvalidValue(
            "must be a number of steps here", argument=name, got=repr(value[:40]),
            remedy="state the length of a step: hf.plan(..., every='1h')",
        )  # fmt: skip
    return value


def _mixture(terms: list[tuple[float, Any]]) -> Decay:
    """One decay for all terms: nested mixtures are flattened, equal parts are merged, and positive
    parts come first.  A single part with weight 1 is returned as it is."""
    merged: dict[Decay, float] = {}
    for weight, decay in terms:
        if not isinstance(decay, Decay):
            raise InvalidType("a decay can only be mixed with decays", got=type(decay).__name__)
        for inner, part in decay.terms:
            merged[part] = merged.get(part, 0.0) + weight * inner
    kept = [(weight, part) for part, weight in merged.items() if weight != 0]
    parts = tuple(sorted(kept, key=lambda term: (term[0] < 0, repr(term[1]))))
    if len(parts) == 1 and parts[0][0] == 1.0:
        return parts[0][1]
    total = sum(weight * part.first for weight, part in parts)
    if not (math.isfinite(total) and total > 0):
        raise InvalidValue("a mixture must start with a weight > 0", got=f"f_0 = {total}")
    mixed: Any = parts  # which a user's own decay may be part of
    return Mixture(mixed)
