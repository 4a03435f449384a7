"""The left series l = g/r of a pair, by the fastest formula that its taps allow."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.factors import blend_norms, root_series
from hushfade.factors.exponentials import CompactTaps
from hushfade.factors.taps import (
    BlendedTaps,
    CountingTaps,
    IntegerTaps,
    ListedTaps,
    RootTaps,
)
from hushfade.numerics import power_series
from hushfade.numerics.cached_columns import sum_of_squares
from hushfade.numerics.fast_division import quotient, stepped_quotient

if TYPE_CHECKING:
    from hushfade.factors.factorization import Factorization


@lru_cache(maxsize=16)
def left_series(pair: Factorization, n: int) -> Column:
    """l_0, ..., l_{n-1}."""
    if isinstance(pair.taps, RootTaps):
        return pair.taps.first(n)
    weights = root_series.weights_of(pair.decay, n)
    match pair.taps:
        case IntegerTaps(support=1) | ListedTaps(support=1) as taps:
            first = float(taps.first(1)[0])
            left = weights if first == 1.0 else np.asarray(weights / first)
        case CountingTaps() as taps if taps.support is None or n <= taps.support:
            left = root_series.counting(taps.c, -taps.beta, n)
        case CountingTaps() as taps:
            left = quotient(weights, taps.first(n))
        case CompactTaps() as taps:  # l = g C(x^w) / c
            if len(taps.comb):
                comb = np.zeros(n)
                comb[:: taps.period] = taps.comb.first(-(-n // taps.period))
                weights = power_series.multiply(weights, comb)
            left = power_series.multiply(weights, taps.fading.inverse().first(n)) / taps.scale
        case BlendedTaps() as taps if taps.decay.rate is not None:  # x is scaled by α
            left = root_series.blended_left(taps.c, n)
            left *= weights
        case IntegerTaps() as taps:
            heights = np.ldexp(taps.heights.astype(np.float64), -taps.bits)
            left = stepped_quotient(weights, taps.jumps, heights)
        case BlendedTaps() as taps:
            left = quotient(weights, taps.first(n))
        case taps:
            left = power_series.multiply(weights, power_series.inverse(taps.first(n)))
    left.flags.writeable = False
    return left


@lru_cache(maxsize=16)
def squared_left(pair: Factorization, n: int) -> float:
    """Σ_{k<n} l_k²."""
    if isinstance(pair.taps, BlendedTaps):
        total = blend_norms.squared_left(pair.decay, pair.taps.c, n)
        if total is not None:
            return total
    return sum_of_squares(left_series(pair, n))
