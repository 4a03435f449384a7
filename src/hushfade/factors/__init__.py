"""Factorizations M = L R: right taps, their sensitivity, sums of exponentials, limits.

square_root(decay)             the paper's factorization, R = L = √M
normalized(decay, horizon)     the square root with a gain per step, for a known horizon
unbounded_counting()           counting without a horizon
from_right(decay, right)       any right factor
compact(decay)                 constant memory: a few exponentials near the square root
"""

from hushfade.factors.compact_taps import compact
from hushfade.factors.factorization import (
    Factorization,
    IntegerFactorization,
    Sensitivity,
    from_right,
    normalized,
    square_root,
    unbounded_counting,
)

__all__ = [
    "Factorization",
    "IntegerFactorization",
    "Sensitivity",
    "compact",
    "from_right",
    "normalized",
    "square_root",
    "unbounded_counting",
]
