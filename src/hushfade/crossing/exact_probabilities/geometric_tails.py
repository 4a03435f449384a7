"""Cumulative probabilities whose complement falls by one factor per cell."""

from __future__ import annotations

import math
from decimal import Decimal

from hushfade.crossing.exact_probabilities.fixed_point import (
    BITS,
    ENTRY_BITS,
    ONE,
    WHOLE,
    entry,
    fixed,
)


def cell_bits(slope: float) -> int:
    """k with 1/128 ≤ 2^k slope < 1/64; 0 for larger slopes.

    No law here falls faster than by a factor e^-slope per unit, so the sampler rejects less than
    1/64 of the places in any cell.
    """
    return max(0, -6 - math.frexp(slope)[1])


def entries(tail: Decimal, fade: Decimal) -> list[int]:
    """⌊2^127 (1 - tail fade^i)⌋ for i = 0, 1, ... while the complement is 2^-127 or more; 2^127."""
    left, factor = fixed(tail), fixed(fade)
    above = []
    while left >> (BITS - ENTRY_BITS):
        above.append(entry(ONE - left))
        left = left * factor >> BITS
    return [*above, WHOLE]
