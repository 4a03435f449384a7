"""The taps r_0, r_1, ... of the right factor: by formula, as a list, or as scaled integers.

RootTaps       r = √g, the paper's choice
BlendedTaps    r = 1 + c (√g - 1): between noise on the inputs and the paper's choice
CountingTaps   r = (1-x)^-½ ℓ^-β, ℓ = 1 + c ln(1/(1-x)): counting without a horizon
ListedTaps     r as listed, then zeros
IntegerTaps    r = integers / 2^bits, then zeros, for a private half in integers
Jumps          the pieces of integer taps, as the compiled loops read them
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from hushfade import check
from hushfade.check import Column, Signed
from hushfade.errors import InvalidValue, Unstable
from hushfade.factors import _blend_norms, limit_norms, power_series, root_series
from hushfade.factors.columns import fitted
from hushfade.factors.fast_division import quotient, stepped_quotient
from hushfade.group_sizes import BLOCK

if TYPE_CHECKING:
    from hushfade.decays import Decay

Sealed = TypeVar("Sealed", Column, Signed)

MOST_TAPS = 1 << 26  # the most taps of a plan; each lane of its stream keeps as many totals
_LARGEST_ROOT = 1e150  # the largest coefficient of √g, so that sums of squares are finite
LARGEST = 1 << 53  # the largest integer tap: it fits float64, and differences fit int64


class Taps:
    """A right series r(x), and what depends on its form."""

    @property
    def support(self) -> int | None:
        """The number of taps up to the last one that is not 0; None if they never end."""
        return None

    @property
    def memory(self) -> int | None:
        """The number of values that a sum with these taps needs; None if it needs all."""
        return self.support

    def first(self, n: int) -> Column:
        """r_0, ..., r_{n-1}."""
        raise NotImplementedError

    def energy(self) -> float:
        """Σ r_n² over all n, or an upper bound on it; raises Diverges if it is infinite."""
        raise NotImplementedError

    def left(self, decay: Decay, n: int) -> Column:
        """l_0, ..., l_{n-1} of l = g/r, by the fastest formula for these taps."""
        inverse = power_series.inverse(self.first(n))
        return power_series.multiply(root_series.weights_of(decay, n), inverse)

    def squared_left(self, decay: Decay, n: int) -> float | None:
        """Σ_{k<n} l_k² by a closed form; None if there is none."""
        return None

    def scaled(self) -> Taps:
        """The taps in the scale in which a plan rounds them: the scale of a pair is arbitrary."""
        return self


@dataclass(frozen=True)
class RootTaps(Taps):
    """r = √g: (r * r)_n = f_n."""

    decay: Decay

    def first(self, n: int) -> Column:
        return _root(self.decay, n)

    def energy(self) -> float:
        found = limit_norms.energy(self.decay)
        return found.value + found.error

    def left(self, decay: Decay, n: int) -> Column:
        return self.first(n)


@dataclass(frozen=True)
class BlendedTaps(Taps):
    """r = 1 + c (√(g/g_0) - 1) with 0 < c ≤ 1."""

    decay: Decay
    c: float

    def first(self, n: int) -> Column:
        return blended(_root(self.decay, n), self.c)

    def energy(self) -> float:
        """1 + c² Σ_{n≥1} (a_n / a_0)²."""
        first = float(_root(self.decay, 1)[0])
        return 1.0 + self.c**2 * (RootTaps(self.decay).energy() / first**2 - 1.0)

    def left(self, decay: Decay, n: int) -> Column:
        if decay.rate is None:
            return quotient(root_series.weights_of(decay, n), self.first(n))
        return root_series.blended_left(self.c, n) * root_series.weights_of(decay, n)

    def squared_left(self, decay: Decay, n: int) -> float | None:
        return _blend_norms.squared_left(decay, self.c, n)


def blended(root: Column, c: float) -> Column:
    """The taps 1 + c (√(g/g_0) - 1), computed from the taps of √g.

    >>> blended(np.array([2.0, 1.0, 0.75]), 0.5)
    array([1.    , 0.25  , 0.1875])
    """
    taps: Column = c / root[0] * root
    taps[0] = 1.0
    return taps


@dataclass(frozen=True)
class CountingTaps(Taps):
    """r = (1-x)^-½ ℓ(x)^-β with ℓ = 1 + c ln(1/(1-x)), 0 < c ≤ 1 and β > ½.

    With a `support`, the taps are 0 from this lag on.  r_n falls like n^-½ (ln n)^-β, so Σ r_n²
    converges even without a support, but very slowly.

    >>> CountingTaps(c=0.125, beta=2.0).first(2)  # r_1 = ½ - βc
    array([1.  , 0.25])
    """

    c: float
    beta: float
    support: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 < check.real(c=self.c) <= 1.0:
            raise InvalidValue("must be > 0 and <= 1", argument="c", got=repr(self.c))
        if not check.real(beta=self.beta) > 0.5:
            raise InvalidValue("must be > 0.5", argument="beta", got=repr(self.beta))
        if self.support is not None:
            check.count(support=self.support)

    def first(self, n: int) -> Column:
        if self.support is None or n <= self.support:
            return _counting(self.c, self.beta, n)
        return fitted(_counting(self.c, self.beta, self.support), n)

    def energy(self) -> float:
        """Σ r_n² up to the support; without a support, an upper bound that is tight to 1e-6.

        By Parseval the infinite sum is (1/π) ∫_0^π dθ / (2 sin(θ/2) |ℓ|^2β), where
        |ℓ(e^iθ)|² = (1 + c ln(1/(2 sin(θ/2))))² + c² (π - θ)²/4.  The Gauss-Legendre rule with 24
        nodes has an error below 1e-14 on each octave of θ, because the nearest singularity is the
        zero of ℓ, where θ = π + i ln(e^(1/c) - 1).  Below θ_0 = π 2^-1000 the chord 2 sin(θ/2) is θ
        up to a relative 2^-2000, so the integrand is at most 1/(θ (1 + c ln(1/θ))^2β), which has a
        closed integral.
        """
        if self.support is not None:
            r = self.first(self.support)
            return float(np.sum(r * r))
        c, beta = self.c, self.beta
        nodes, weights = np.polynomial.legendre.leggauss(24)
        u = math.log(2.0) * (np.arange(1000)[:, None] + (nodes[None, :] + 1) / 2)
        theta = np.pi * np.exp(-u)
        chord = 2 * np.sin(theta / 2)
        square = (1.0 - c * np.log(chord)) ** 2 + (c * (np.pi - theta) / 2) ** 2
        body = float(np.sum((theta / chord * square**-beta) @ weights)) * math.log(2.0) / 2
        depth = 1.0 + c * (1000 * math.log(2.0) - math.log(math.pi))
        tail = depth ** (1 - 2 * beta) / (c * (2 * beta - 1))
        return float((body + tail) / math.pi * (1 + 1e-12))

    def left(self, decay: Decay, n: int) -> Column:
        if self.support is None or n <= self.support:
            return root_series.counting(self.c, -self.beta, n)
        return quotient(root_series.weights_of(decay, n), self.first(n))


@dataclass(frozen=True, eq=False)
class ListedTaps(Taps):
    """r as listed, then zeros."""

    values: Column

    def __post_init__(self) -> None:
        column = check.coefficients(right=self.values)
        if not column[0] != 0:
            raise InvalidValue("must start with a tap != 0", argument="right", got=column[0])
        support = int(np.flatnonzero(column)[-1]) + 1
        check.settle(self, values=_sealed(column[:support]))

    @property
    def support(self) -> int:
        return len(self.values)

    def first(self, n: int) -> Column:
        return fitted(self.values, n)

    def energy(self) -> float:
        return float(np.sum(self.values**2))

    def left(self, decay: Decay, n: int) -> Column:
        if self.support == 1:
            return _divided(root_series.weights_of(decay, n), float(self.values[0]))
        return super().left(decay, n)

    def scaled(self) -> ListedTaps:
        """The taps with r_0 = 1, which gives the finest grid of noisy values."""
        return ListedTaps(self.values / self.values[0])


@dataclass(frozen=True, eq=False)
class IntegerTaps(Taps):
    """r_n = integers_n / 2^bits, then zeros, so that R x is exact in integers.

    The object stores the constant pieces: their `values`, and the lags `jumps` at which they begin,
    with the end of the support last.  The integers themselves are computed on first use.

    >>> IntegerTaps(np.array([0, 1, 4]), np.array([8, 5]), bits=3).integers
    array([8, 5, 5, 5])
    """

    jumps: Signed
    values: Signed
    bits: int

    def __post_init__(self) -> None:
        jumps, values = self.jumps, self.values
        bits = check.count(bits=self.bits, least=0, most=40)
        if not (len(jumps) == len(values) + 1 > 1 and jumps[0] == 0 and np.all(np.diff(jumps) > 0)):
            raise InvalidValue("jumps must rise from 0, and have one more entry than values")
        if not values[0] > 0:
            raise InvalidValue(
                "must leave the first tap > 0", argument="bits", got=f"bits = {bits}"
            )
        if np.any(values[1:] == values[:-1]) or values[-1] == 0:
            raise InvalidValue("values must change at each jump")
        if not -LARGEST <= int(np.min(values)) <= int(np.max(values)) <= LARGEST:
            raise InvalidValue("must be at most 2^53 in size", argument="integers")
        check.settle(self, jumps=_sealed(jumps), values=_sealed(values), bits=bits)

    @classmethod
    def of(cls, integers: Signed, bits: int) -> IntegerTaps:
        """The taps integers_n / 2^bits."""
        column = np.asarray(integers, dtype=np.int64)
        return cls.merging(np.arange(len(column) + 1), column, bits)

    @classmethod
    def merging(cls, ends: Signed, values: Signed, bits: int) -> IntegerTaps:
        """The taps of pieces from each of the ends up to the next, whose values may be equal or 0.

        >>> IntegerTaps.merging(np.array([0, 1, 2, 4, 5]), np.array([8, 5, 5, 0]), bits=3).pieces
        ([8, 5], [1, 3])
        """
        last = values != np.append(values[1:], 0)  # the last pieces before a change
        last[0] |= not last.any()  # all taps are 0, which the constructor rejects
        return cls(np.append(0, ends[1:][last]), values[last], bits)

    @property
    def support(self) -> int:
        return int(self.jumps[-1])

    @cached_property
    def integers(self) -> Signed:
        """The taps times 2^bits, up to the end of the support."""
        return _sealed(np.repeat(self.values, np.diff(self.jumps)))

    @cached_property
    def pieces(self) -> tuple[list[int], list[int]]:
        """The values of the constant pieces, and their lengths.

        >>> IntegerTaps.of(np.array([8, 5, 5, 5, 2]), bits=3).pieces
        ([8, 5, 2], [1, 3, 1])
        """
        return self.values.tolist(), np.diff(self.jumps).tolist()

    @cached_property
    def heights(self) -> Signed:
        """The changes of the integers at the jumps; they add up to 0.

        v_t = v_{t-1} + Σ_jumps (r_n - r_{n-1}) x_{t-n}: one addition per jump and step.

        >>> taps = IntegerTaps.of(np.array([8, 5, 5, 5, 2]), bits=3)
        >>> taps.jumps, taps.heights
        (array([0, 1, 4, 5]), array([ 8, -3, -3, -2]))
        """
        return _sealed(np.diff(self.values, prepend=0, append=0))

    def first(self, n: int) -> Column:
        lengths = np.diff(np.minimum(self.jumps, n))
        return fitted(np.repeat(np.ldexp(self.values.astype(np.float64), -self.bits), lengths), n)

    def energy(self) -> float:
        """Σ r_n², computed exactly as the sum of squared integers over 4^bits."""
        return self.sum_of_squares() / (1 << 2 * self.bits)

    def sum_of_squares(self, steps: int | None = None) -> int:
        """The exact Σ integers_n², over n < steps if given.  Cost: one product per piece.

        >>> IntegerTaps.of(np.array([8, 5, 5, 5, 2]), bits=3).sum_of_squares(3)
        114
        """
        total, left = 0, self.support if steps is None else steps
        for value, length in zip(*self.pieces, strict=True):
            total += value * value * max(0, min(length, left))
            left -= length
        return total

    def left(self, decay: Decay, n: int) -> Column:
        weights = root_series.weights_of(decay, n)
        if self.support == 1:
            return _divided(weights, float(self.first(1)[0]))
        heights = np.ldexp(self.heights.astype(np.float64), -self.bits)
        return stepped_quotient(weights, self.jumps, heights)


class Jumps(NamedTuple):
    """Integer taps as the loops of both halves read them: (1 - x) r̃(x) = Σ_j D_j x^(n_j).

    The private half multiplies by r̃, and the public half divides by it.  Each costs one
    multiply-add per jump and step.  A single tap needs neither: it only scales the current value.
    """

    lags: Signed  # they fall, so that the nearest is added last
    rises: Signed  # D_j
    heights: Column  # D_j as floats
    levels: Column  # the value of r̃ from this lag on
    near: Column  # D at lags 1, ..., BLOCK; 0 if there is no jump
    single: int  # the only tap r̃_0, or 0 if there are more


def jumps_of(taps: IntegerTaps, horizon: int | None = None) -> Jumps:
    """The jumps of the taps, except those that a stream of this horizon never reaches."""
    kept = taps.jumps < (horizon or np.iinfo(np.int64).max)
    lags, rises = taps.jumps[kept], taps.heights[kept]
    near = np.zeros(BLOCK + 1)
    near[lags[lags <= BLOCK]] = rises[lags <= BLOCK]
    levels = np.cumsum(rises)[::-1].astype(np.float64)
    falling = lags[::-1].copy(), rises[::-1].copy(), rises[::-1].astype(np.float64)
    single = int(taps.integers[0]) if taps.support == 1 else 0
    return Jumps(*falling, levels, near[1:].copy(), single)


def _divided(weights: Column, first: float) -> Column:
    return weights if first == 1.0 else np.asarray(weights / first)


def _root(decay: Decay, n: int) -> Column:
    if n > 2 * MOST_TAPS:
        raise InvalidValue(
            f"a plan must need at most {2 * MOST_TAPS} steps of the decay",
            got=n,
            remedy="use longer steps, or a shorter horizon or window",
        )
    if decay.rate is None and decay.window is None:
        return _series(decay, n)
    kept = _closed(decay)  # the terms of a closed form do not depend on n
    if not kept or len(kept[0]) < n:
        kept[:] = [_sealed(decay.root(n))]
    return kept[0][:n]


@lru_cache(maxsize=2)
def _closed(decay: Decay) -> list[Column]:
    """The longest column of √g that was computed."""
    return []


@lru_cache(maxsize=16)
def _series(decay: Decay, n: int) -> Column:
    with np.errstate(over="ignore", invalid="ignore"):
        root = decay.root(n)
    if not np.max(np.abs(root)) <= _LARGEST_ROOT:
        raise Unstable(
            "the square root of the weights grows beyond what a computer can represent",
            remedy="use a decay whose weights fall, or a shorter horizon",
        )
    return _sealed(root)


@lru_cache(maxsize=16)
def _counting(c: float, beta: float, n: int) -> Column:
    return _sealed(root_series.counting(c, beta, n))


def _sealed(column: Sealed) -> Sealed:
    column.flags.writeable = False
    return column
