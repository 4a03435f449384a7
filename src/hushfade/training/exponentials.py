"""Sums of exponentials: series, and taps with constant memory.

Exponentials   c(x) = 1 + Σ_j ω_j x / (1 - (1-q_j) x), and its inverse of the same form
CompactTaps    r(x) = scale · c(x), divided by C(x^w) for a sliding window of length w
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import Diverges, InvalidValue, Unstable
from hushfade.factors import power_series, root_series
from hushfade.factors.taps import Taps

if TYPE_CHECKING:
    from hushfade.decays import Decay


@dataclass(frozen=True, eq=False)
class _Terms:
    weights: Column
    fades: Column


class Exponentials(_Terms):
    """The series c(x) = 1 + Σ_j ω_j x / (1 - (1-q_j) x): c_0 = 1, c_n = Σ_j ω_j (1-q_j)^(n-1).

    The object stores q, because float64 could not represent a node 1-q within 1e-16 of 1.

    >>> Exponentials(np.array([0.5]), np.array([0.5])).first(4)
    array([1.   , 0.5  , 0.25 , 0.125])
    """

    def __init__(self, weights: ArrayLike, fades: ArrayLike) -> None:
        columns = [np.array(column, dtype=np.float64) for column in (weights, fades)]
        shapes = [column.shape for column in columns]
        if not shapes[0] == shapes[1] == (len(columns[0]),):
            raise InvalidValue(
                "weights and fades must be two columns of the same length",
                got=f"shapes {shapes[0]} and {shapes[1]}",
            )
        for column in columns:
            column.flags.writeable = False
        super().__init__(*columns)

    def __len__(self) -> int:
        return len(self.weights)

    def first(self, n: int) -> Column:
        """c_0, ..., c_{n-1}.  Cost: one matrix product, with n multiplications per term."""
        width = math.isqrt(n) + 1
        coarse = self.weights[:, None] * powers(self.fades, np.arange(width) * width)
        tail = (coarse.T @ powers(self.fades, np.arange(width))).ravel()
        return np.concatenate([[1.0], tail])[:n]

    def at(self, fades: Column) -> Column:
        """c(1/p) at nodes p = 1 - fades: 1 + Σ_j ω_j / (q_j - fade); infinite at c's own nodes."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 + np.sum(self.weights / (self.fades - fades[:, None]), axis=1))

    def inverse(self) -> Exponentials:
        """1/c = 1 - Σ_j v_j x / (1 - (1-ν_j) x) with v > 0 and q_1 < ν_1 < q_2 < ... < ν_d < 2.

        Requires ω > 0, 0 ≤ q_1 < q_2 < ... < 1 and c(-1) > 0.  Raises Unstable if c(-1) ≤ 0,
        because 1/c would then grow.  ν are the eigenvalues of diag q + b bᵀ with b = √ω, which are
        the zeros of 1 - Σ_i ω_i / (ν - q_i).  Newton's method finds them to a few units in the last
        place, even close to 0.  v_j = 1 / Σ_i ω_i / (ν_j - q_i)².

        >>> found = Exponentials(np.array([0.5]), np.array([0.5])).inverse()  # 1 - x/2
        >>> found.weights, found.fades
        (array([-0.5]), array([1.]))
        """
        q, omega = self.fades, self.weights
        if not np.all(omega > 0):
            raise InvalidValue("must be > 0", argument="weights", got=omega)
        if not (np.all(q >= 0) and np.all(np.diff(q, append=1.0) > 0)):
            raise InvalidValue("fades must rise within [0, 1)", got=q)
        if not (last := 1.0 - float(np.sum(omega / (2.0 - q)))) > 0:
            raise Unstable(
                "c(-1) must be > 0",
                got=f"{last:.3g}",
                remedy="use smaller weights, so that 1/c does not grow",
            )
        if not len(self):
            return self
        root = np.vstack([np.diag(np.sqrt(q)), np.sqrt(omega)])
        nu, end = np.linalg.svd(root, compute_uv=False)[::-1] ** 2, np.append(q[1:], 2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for _ in range(3):
                gap = nu[:, None] - q
                new = nu - (1.0 - np.sum(omega / gap, axis=1)) / np.sum(omega / gap**2, axis=1)
                nu = np.where((q < new) & (new < end), new, nu)
            v = 1.0 / np.sum(omega / (nu[:, None] - q) ** 2, axis=1)
        return Exponentials(-v, nu)

    def over(self, c: Exponentials) -> Exponentials:
        """The series self / c, by partial fractions."""
        inverse = c.inverse()
        own, other = self.weights / c.at(self.fades), inverse.weights * self.at(inverse.fades)
        return Exponentials(np.append(own, other), np.append(self.fades, inverse.fades))


EMPTY = Exponentials(np.empty(0), np.empty(0))  # c = 1


@dataclass(frozen=True, eq=False)
class CompactTaps(Taps):
    """r(x) = scale · c(x) / C(x^period) with c = `fading` and C = `comb`, which may be empty.

    The private half keeps `memory` numbers, however long it runs.  c x is x_t + Σ_j ω_j e_j with
    e_j ← e_j - q_j e_j + x_t.  1/C works in the same way, with a ring buffer of `period` numbers
    for each e.  The constructor verifies that both series have a stable inverse.
    """

    scale: float
    fading: Exponentials
    comb: Exponentials = EMPTY
    period: int = 1

    def __post_init__(self) -> None:
        check.positive(scale=self.scale)
        check.count(period=self.period)
        self.fading.inverse()
        self.comb.inverse()

    @property
    def memory(self) -> int:
        """The number of values kept from step to step."""
        return len(self.fading) + self.period * len(self.comb)

    def first(self, n: int) -> Column:
        if not len(self.comb):
            return self.scale * self.fading.first(n)
        w = self.period
        teeth = self.comb.inverse().first(-(-n // w))
        rows = self.fading.weights * gained(self.fading.fades, w, teeth)
        tail = rows @ powers(self.fading.fades, np.arange(min(w, n)))
        r = np.concatenate([[0.0], tail.ravel()])[:n]
        r[::w] += teeth
        return np.asarray(self.scale * r)

    def energy(self) -> float:
        """Σ r_n² in closed form: 1 + Σ_ij ω_i ω_j / (q_i + q_j - q_i q_j) without a comb.

        With a comb, the two correlations are multiplied at the multiples of the period.

        >>> taps = CompactTaps(1.0, Exponentials(np.array([0.5]), np.array([0.5])))
        >>> taps.energy()  # 1 + 1/4 + 1/16 + ...
        1.3333333333333333
        """
        if len(self.fading) and not self.fading.fades[0] > 0:
            raise Diverges("the sum of r_n² is infinite, because an exponential never fades")
        inverse = self.comb.inverse()
        (start, F), (comb_start, E) = correlation(self.fading), correlation(inverse)
        before, after = powers(self.fading.fades, np.array([self.period - 1, self.period])).T
        meet = E @ (1.0 / (1.0 - np.outer(1.0 - inverse.fades, after))) @ (F * before)
        return self.scale**2 * (start * comb_start + 2.0 * float(meet))

    def left(self, decay: Decay, n: int) -> Column:
        """l = g C(x^w) / c."""
        weights = root_series.weights_of(decay, n)
        if len(self.comb):
            comb = np.zeros(n)
            comb[:: self.period] = self.comb.first(-(-n // self.period))
            weights = power_series.multiply(weights, comb)
        return power_series.multiply(weights, self.fading.inverse().first(n)) / self.scale

    def scaled(self) -> CompactTaps:
        return replace(self, scale=1.0)


# Geometric sums ------------------------------------------------------------------------------


def powers(fades: Column, k: Signed) -> Matrix:
    """(1-q)^k, one row per q, without rounding 1-q if it is near 1."""
    slow = fades[:, None] < 0.5
    logs = np.log1p(-np.where(slow, fades[:, None], 0.0))
    return np.where(slow, np.exp(logs * k), (1.0 - fades)[:, None] ** k)


def geometric(common: Matrix, n: int) -> Matrix:
    """Σ_{k<n} (1-Q)^k for 0 ≤ Q < 2."""
    slow = common < 0.5
    logs = np.log1p(-np.where(slow, common, 0.0))
    gone = np.where(slow, -np.expm1(n * logs), 1.0 - (1.0 - common) ** n)
    return np.where(common > 0.0, gone / np.where(common > 0.0, common, 1.0), float(n))


def gained(fades: Column, period: int, teeth: Column) -> Matrix:
    """G_i = (1-q)^period G_{i-1} + teeth_i, one row per i; 0 once they are negligible."""
    ratio = powers(fades, np.array([period]))[:, 0]
    out = np.zeros((len(teeth), len(fades)))
    row = np.zeros(len(fades))
    for i, tooth in enumerate(teeth.tolist()):
        row = ratio * row + tooth
        out[i] = row
        if tooth == 0.0 and not np.any(row):
            break
    return out


def correlation(c: Exponentials) -> tuple[float, Column]:
    """Σ_n c_n², and F with Σ_n c_n c_{n+L} = Σ_j F_j (1-q_j)^(L-1) for L ≥ 1."""
    common = c.fades[:, None] + c.fades - np.outer(c.fades, c.fades)
    each = np.sum(np.outer(c.weights, c.weights) / common, axis=0)
    return 1.0 + float(np.sum(each)), c.weights + (1.0 - c.fades) * each
