"""A proven bound with its side (lower or upper), and a bracket of two bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hushfade.errors import InvalidValue

Side = Literal["lower", "upper"]

Quantity = Literal[
    "gamma2",
    "gamma_f",
    "gamma2_limit",
    "sensitivity",
    "expected maximum",
    "mean squared error",
    "hereditary discrepancy",
]


@dataclass(frozen=True)
class Bound:
    """A proven bound: its value, its side, the bounded quantity, its name, and its source.

    The value of a formula has the rounding error of a float64 sum, about 1e-14 of it.  The values
    of `certificates` account for rounding and are valid exactly.

    >>> print(Bound(1.0328, "lower", "gamma2", "two steps", "Theorem 2"))
    gamma2 ≥ 1.0328 (two steps; Theorem 2)
    """

    value: float
    side: Side
    quantity: Quantity
    name: str
    where: str  # statement of the paper, or author and year
    correction: str = ""  # what the paper prints instead, if that is false

    def __str__(self) -> str:
        sign = "≥" if self.side == "lower" else "≤"
        return f"{self.quantity} {sign} {self.value:.6g} ({self.name}; {self.where})"


class Contradiction(InvalidValue):
    """A lower bound exceeds an upper bound, so one of them is wrong."""


@dataclass(frozen=True)
class Bracket:
    """lower ≤ the number ≤ upper, both proven.

    >>> Bracket(2.0, 2.5).gap
    0.25
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.lower):
            raise InvalidValue("lower must be finite", got=repr(self.lower))
        if not self.lower <= self.upper:
            raise Contradiction("lower must be <= upper", got=f"{self.lower!r} and {self.upper!r}")

    @property
    def gap(self) -> float:
        """upper / lower - 1."""
        return self.upper / self.lower - 1.0


class Bracketed:
    """An object with a bracket of the smallest error factor of any factorization."""

    bracket: Bracket

    @property
    def lower(self) -> float:
        """The lower bound: no factorization has a smaller error factor."""
        return self.bracket.lower

    @property
    def upper(self) -> float:
        """The upper bound: some factorization has an error factor of at most this."""
        return self.bracket.upper
