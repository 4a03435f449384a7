"""The right factor's taps r_0, r_1, ...: by a law, listed, or as integers over a power of two.

RootTaps       r = √g, the paper's choice
CountingTaps   r = (1-x)^-½ ℓ^-β, ℓ = ln(1/(1-x))/x: counting without a horizon
ListedTaps     r as given, then zeros
IntegerTaps    r = integers / 2^bits, then zeros: what a private half of integers can apply
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

import numpy as np

from hushfade import check
from hushfade.check import Column, Signed
from hushfade.decay import Decay
from hushfade.errors import InvalidValue
from hushfade.factors import limit_norms, root_series

Sealed = TypeVar("Sealed", Column, Signed)


class Taps(Protocol):
    """A right series r(x)."""

    @property
    def support(self) -> int | None:
        """The number of taps up to the last that is not zero; None if they never end."""

    def first(self, n: int) -> Column:
        """r_0, ..., r_{n-1}."""

    def energy(self) -> float:
        """Σ r_n² over all n, or an upper bound of it; raises Diverges where it is infinite."""


@dataclass(frozen=True)
class RootTaps:
    """r = √g: (r * r)_n = f_n."""

    decay: Decay
    support = None

    def first(self, n: int) -> Column:
        return _root(self.decay, n)

    def energy(self) -> float:
        found = limit_norms.energy(self.decay)
        return found.value + found.error


@dataclass(frozen=True)
class CountingTaps:
    """r = (1-x)^-½ ℓ(x)^-β with ℓ = Σ x^k / (k+1) = ln(1/(1-x))/x and β > ½.

    r_n falls like n^-½ (ln n)^-β, so Σ r_n² converges, though very slowly.
    """

    beta: float
    support = None

    def __post_init__(self) -> None:
        if not check.real(beta=self.beta) > 0.5:
            raise InvalidValue("must be > 0.5", argument="beta", got=repr(self.beta))

    def first(self, n: int) -> Column:
        return _counting(self.beta, n)

    def energy(self) -> float:
        """(1/π) ∫_0^π dθ / (2 sin(θ/2) |ln(1 - e^iθ)|^2β), its tail bounded from above.

        |ln(1 - e^iθ)|² = ln²(2 sin(θ/2)) + (π - θ)²/4.  Below θ_0 = π 2^-1000 the integrand is at
        most 1/(θ ln(1/θ)^2β), up to a relative 2^-1000, and that integrates in closed form.
        """
        nodes, weights = np.polynomial.legendre.leggauss(24)
        u = math.log(2.0) * (np.arange(1000)[:, None] + (nodes[None, :] + 1) / 2)
        theta = np.pi * np.exp(-u)
        chord = 2 * np.sin(theta / 2)
        square = np.log(chord) ** 2 + (np.pi - theta) ** 2 / 4
        body = float(np.sum((theta / chord * square**-self.beta) @ weights)) * math.log(2.0) / 2
        depth = 1000 * math.log(2.0) - math.log(math.pi)
        tail = depth ** (1 - 2 * self.beta) / (2 * self.beta - 1)
        return float((body + tail) / math.pi * (1 + 1e-13))


@dataclass(frozen=True, eq=False)
class _Listed:
    values: Column


class ListedTaps(_Listed):
    """r as listed, then zeros."""

    def __init__(self, values: Column) -> None:
        column = check.coefficients(right=values)
        if not column[0] != 0:
            raise InvalidValue("must start with a tap != 0", argument="right", got=column[0])
        super().__init__(_sealed(column[: _support(column)]))

    @property
    def support(self) -> int:
        return len(self.values)

    def first(self, n: int) -> Column:
        return _fitted(self.values, n)

    def energy(self) -> float:
        return float(np.sum(self.values**2))


@dataclass(frozen=True, eq=False)
class _Integers:
    integers: Signed
    bits: int


class IntegerTaps(_Integers):
    """r_n = integers_n / 2^bits, then zeros; R x is then exact in integers."""

    def __init__(self, integers: Signed, bits: int) -> None:
        bits = check.count(bits=bits, least=0, most=40)
        column = np.array(integers, dtype=np.int64)
        if not column[0] > 0:
            raise InvalidValue(
                "must leave the first tap > 0", argument="bits", got=f"bits = {bits}"
            )
        super().__init__(_sealed(column[: _support(column)]), bits)

    @property
    def support(self) -> int:
        return len(self.integers)

    @cached_property
    def pieces(self) -> tuple[list[int], list[int]]:
        """The values of the constant pieces, and their lengths.

        >>> IntegerTaps(np.array([8, 5, 5, 5, 2]), bits=3).pieces
        ([8, 5, 2], [1, 3, 1])
        """
        return self.integers[self.jumps[:-1]].tolist(), np.diff(self.jumps).tolist()

    @cached_property
    def jumps(self) -> Signed:
        """The lags n with r_n ≠ r_{n-1}, counting r_{-1} = 0 and the end of the support.

        v_t = v_{t-1} + Σ_jumps (r_n - r_{n-1}) x_{t-n}: one addition per jump and step.

        >>> taps = IntegerTaps(np.array([8, 5, 5, 5, 2]), bits=3)
        >>> taps.jumps, taps.heights
        (array([0, 1, 4, 5]), array([ 8, -3, -3, -2]))
        """
        inner = np.flatnonzero(self.integers[1:] != self.integers[:-1]) + 1
        return _sealed(np.concatenate([[0], inner, [self.support]]).astype(np.int64))

    @cached_property
    def heights(self) -> Signed:
        """By how much the integers change at the jumps; they add up to 0."""
        return _sealed(np.diff(self.integers[self.jumps[:-1]], prepend=0, append=0))

    def first(self, n: int) -> Column:
        return _fitted(np.ldexp(self.integers.astype(np.float64), -self.bits), n)

    def energy(self) -> float:
        """Exact: the sum of squared integers, piece by piece, over 4^bits."""
        total: int = sum(v * v * length for v, length in zip(*self.pieces, strict=True))
        return total / (1 << 2 * self.bits)


@lru_cache(maxsize=16)
def _root(decay: Decay, n: int) -> Column:
    return _sealed(root_series.square_root(decay, n))


@lru_cache(maxsize=16)
def _counting(beta: float, n: int) -> Column:
    return _sealed(root_series.counting(beta, n))


def _support(column: Column | Signed) -> int:
    return int(np.flatnonzero(column)[-1]) + 1


def _fitted(column: Column, n: int) -> Column:
    out = np.zeros(n)
    kept = min(n, len(column))
    out[:kept] = column[:kept]
    return out


def _sealed(column: Sealed) -> Sealed:
    column.flags.writeable = False
    return column
