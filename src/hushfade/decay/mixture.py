"""Weighted sums of decays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay.protocol import ComplexColumn, Decay
from hushfade.errors import InvalidType, InvalidValue


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
class Mixture(Mixable):
    """Σ w_i f_i, made with `*`, `+` and `-`.  Equal parts are merged, so order does not matter.

    Example: momentum in training, f_k = (1 - β^(k+1)) / (1 - β) with β = 1/2.

    >>> from hushfade.decay import Exponential, NoDecay
    >>> (2 * NoDecay() - Exponential(half_life=1)).weights(4)
    array([1.   , 1.5  , 1.75 , 1.875])
    """

    parts: tuple[tuple[float, Decay], ...]

    def __post_init__(self) -> None:
        check.settle(self, parts=tuple(map(tuple, self.parts)))  # lists have no hash

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
