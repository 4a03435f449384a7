"""Piecewise constant taps as a list of jumps, which both halves of the mechanism read.

    (1 - x) r̃(x) = Σ_j D_j x^(n_j)

The private half multiplies by r̃, and the public half divides by it.  Each costs one multiply-add
per jump and step.  A single tap needs neither: it only scales the current value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors.taps import IntegerTaps
from hushfade.numerics.blocks import BLOCK


class Jumps(NamedTuple):
    """Integer taps as the loops read them.  Lags fall, so that the nearest is added last."""

    lags: Signed
    rises: Signed  # D_j
    heights: Column  # D_j as floats
    levels: Column  # the value of r̃ from this lag on
    near: Column  # D at lags 1, ..., BLOCK; 0 if there is no jump
    single: int  # the only tap r̃_0, or 0 if there are more


def jumps_of(taps: IntegerTaps, horizon: int | None = None) -> Jumps:
    """The jumps of the taps, except those that a stream of this horizon never reaches."""
    kept = taps.jumps < (horizon or np.iinfo(np.int64).max)
    lags, rises = taps.jumps[kept], taps.heights[kept]
    near = np.zeros(BLOCK + 1)
    near[lags[lags <= BLOCK]] = rises[lags <= BLOCK]
    levels = np.cumsum(rises)[::-1].astype(np.float64)
    falling = lags[::-1].copy(), rises[::-1].copy(), rises[::-1].astype(np.float64)
    single = int(taps.integers[0]) if taps.support == 1 else 0
    return Jumps(*falling, levels, near[1:].copy(), single)
