"""Weights that halve at regular intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.mixture import Mixable
from hushfade.decay.protocol import ComplexColumn
from hushfade.errors import InvalidType, InvalidValue
from hushfade.numerics import portable_exp2
from hushfade.numerics.cached_columns import parts

_TINY = 1e-200  # half-lives that are so short may lead to quotients beyond float64


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
        check.settle(self, half_life=check.positive(half_life=half_life))

    @property
    def alpha(self) -> float:
        """The alpha of f_k = alpha^-k; inf if the half-life is too short for a float64."""
        return float(np.exp2(1.0 / self.half_life))

    def weights(self, n: int) -> Column:
        weights = np.empty(check.count(n=n))
        for here in parts(n):
            weights[here] = self.at(np.arange(here.start, here.stop, dtype=np.float64))
        return weights

    def at(self, age: Column) -> Column:
        """f_k at whole ages k."""
        # k/half_life = whole + part/half_life, both exact, so each weight has an error of 1e-16
        with np.errstate(over="ignore", invalid="ignore"):
            whole, part = np.divmod(age, self.half_life)
        if self.half_life < _TINY:
            whole, part = np.nan_to_num(whole, nan=2000.0), np.nan_to_num(part)
        weights = portable_exp2.exp2(-part / self.half_life)
        return np.ldexp(weights, -np.minimum(whole, 2000).astype(np.int64))

    def symbol(self, theta: Column) -> ComplexColumn:
        return np.asarray(-1.0 / np.expm1(1j * theta - math.log(2.0) / self.half_life))

    def knots(self) -> Column:
        return np.empty(0)
