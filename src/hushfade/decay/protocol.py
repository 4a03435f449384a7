"""The interface of a decay, and checks of it."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column
from hushfade.errors import InvalidType

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
