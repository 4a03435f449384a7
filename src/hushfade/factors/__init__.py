"""Factorizations M = L R: right taps, their sensitivity, sums of exponentials, limits.

square_root(decay)             the paper's factorization, R = L = √M
normalized(decay, horizon)     the square root with a gain per step, for a known horizon
unbounded_counting(expect=n)   counting without a horizon
from_right(decay, right)       any right factor
block_sums(decay, ...)         sums over nested blocks of steps, for Laplace noise
power_series                   multiply, inverse, power, square_root, accurate in every coefficient

`training.compact` makes one more pair, of a few exponentials near the square root.
"""

from __future__ import annotations

from hushfade.factors import power_series
from hushfade.factors.block_factors import BlockSums, block_sums
from hushfade.factors.factorization import (
    Factorization,
    IntegerFactorization,
    from_right,
    normalized,
    square_root,
    unbounded_counting,
)
from hushfade.factors.sensitivity import Sensitivity

__all__ = [
    "BlockSums",
    "Factorization",
    "IntegerFactorization",
    "Sensitivity",
    "block_sums",
    "from_right",
    "normalized",
    "power_series",
    "square_root",
    "unbounded_counting",
]
