"""Factorizations M = L R: right taps, their sensitivity, sums of exponentials, limits.

square_root(decay)             the paper's factorization, R = L = √M
normalized(decay, horizon)     the square root with a gain per step, for a known horizon
unbounded_counting(expect=n)   counting without a horizon
from_right(decay, right)       any right factor
compact(decay)                 constant memory: a few exponentials near the square root
block_sums(decay, ...)         sums over nested blocks of steps, for Laplace noise
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from hushfade.factors.compact_taps import compact

__all__ = [
    "BlockSums",
    "Factorization",
    "IntegerFactorization",
    "Sensitivity",
    "block_sums",
    "compact",
    "from_right",
    "normalized",
    "square_root",
    "unbounded_counting",
]


def __getattr__(name: str) -> Any:
    if name == "compact":  # loaded on first use, so that importing hushfade stays fast
        return import_module("hushfade.factors.compact_taps").compact
    raise AttributeError(f"module 'hushfade.factors' has no attribute {name!r}")
