"""Cumulative tables of 127-bit probabilities, from which the sampler draws.

Guarantee: a draw from a table of n entries is within n · 2^-126 + 2^-160 of its law in total
variation.  No table has more than 15,200 entries, so this is below 2^-112 for every law and scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Unsigned
from hushfade.crossing.exact_probabilities.exact_law import ExactLaw
from hushfade.crossing.exact_probabilities.gaussian import ExactGaussian
from hushfade.crossing.exact_probabilities.huber import ExactHuber
from hushfade.crossing.exact_probabilities.laplace import ExactLaplace
from hushfade.errors import InvalidType
from hushfade.laws import Gaussian, Huber, Laplace, Law

_NEARLY_ALL = 1.0 - 2.0**-5.9  # all shares of Laplace's and Huber's law are above this
GUIDE_BITS = 13  # bits of the first word that index the guide
MARGIN = 2.0**-30  # floats decide only if a uniform number is farther than this from its share


@dataclass(frozen=True, eq=False)
class Table:
    """The cumulative table of one law: above[A] = ⌊2^127 P[|z| < (A + 1) 2^k]⌋, and 2^127 last."""

    exact: ExactLaw
    law: Law
    k: int
    above: list[int]
    high: Unsigned  # the upper 63 bits of `above`
    low: Unsigned  # the lower 64 bits of `above`
    guide: NDArray[np.uint16]  # the first A for a word with these leading bits
    sure: Unsigned  # a second word below this is accepted, unless z = 0; per cell, or one for all
    curve: Column  # the fields of the law's `Curve`

    @property
    def total_variation(self) -> float:
        """A bound on the distance between the law of a draw and the exact law."""
        return len(self.above) * 2.0**-126 + 2.0**-160

    def __repr__(self) -> str:
        return f"Table({self.law!r})"


@lru_cache(maxsize=64)
def table(law: Law) -> Table:
    """The table of a law, cached in the process.

    Cost: at most 15,100 entries of 200-bit arithmetic, about 0.1 s.

    >>> t = table(Gaussian(3.0))
    >>> round(t.above[0] / 2**127, 12)  # P[z = 0] = erf(1 / (6 √2))
    0.132367665222
    """
    exact = exact_law(law)
    k, above, curve = exact.cell_bits, exact.cumulative(), exact.curve
    high = np.array([value >> 64 for value in above], dtype=np.uint64)
    low = np.array([value & (2**64 - 1) for value in above], dtype=np.uint64)
    firsts = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(63 - GUIDE_BITS)
    guide = np.searchsorted(high, firsts).astype(np.uint16)
    starts = np.ldexp(np.arange(len(above)), k)
    growth = curve.growth(starts, starts + 2.0**k)
    # the smallest share in a cell is at least e^-growth (c rises with z), and e^-g ≥ 1 - g
    least = np.maximum(1.0 - growth - MARGIN, 0.0)
    if np.min(least) > _NEARLY_ALL:  # one bound for all cells, so that it stays in a register
        least = np.min(least, keepdims=True)
    sure = np.ldexp(least, 64).astype(np.uint64)
    return Table(exact, law, k, above, high, low, guide, sure, np.array(curve))


def exact_law(law: Law) -> ExactLaw:
    """The exact probabilities of a law; raises InvalidValue if its scale is out of range."""
    match law:
        case Gaussian():
            return ExactGaussian(law)
        case Laplace():
            return ExactLaplace(law)
        case Huber():
            return ExactHuber(law)
        case _:
            raise InvalidType("law must be Gaussian, Laplace or Huber", got=type(law).__name__)
