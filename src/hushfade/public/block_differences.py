"""The public differences of the prefix sums over nested blocks of steps.

    u_t = y_t - S_level(t)        S_i = Σ u since the last step of level i or above, S_0 = 0

y_t is the noisy sum of the block that ends at step t.  S_level(t) is the part of this block that
earlier steps have released, so step t adds u_t to the prefix sum.  All numbers are integers below
2^53, stored as floats, so the differences are exact and never drift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix
from hushfade.compiled import compiled, inlined
from hushfade.factors.block_levels import moved, next_level, seek


class Blocks(NamedTuple):
    """The levels of the steps, and the released sums of the open blocks."""

    period: int
    total: int
    sums: Matrix  # S_1, ..., S_depth, one column per lane; no rows if there are no blocks


@inlined
def difference(y: float, level: int, sums: Column) -> float:
    """The u of one step of one lane; updates `sums`, which are S_1, ..., S_depth."""
    u = y
    if level:
        u -= sums[level - 1]
    for i in range(level):
        sums[i] = 0.0
    for i in range(level, len(sums)):
        sums[i] += u
    return u


@compiled
def difference_block(step: int, y: Column, blocks: Blocks) -> None:
    """Replace y by u for len(y) steps of one lane, beginning at `step`."""
    sums = blocks.sums.ravel()
    if len(sums) == 0:
        return
    digits = np.empty(len(sums), np.int64)
    room = seek(step % blocks.period, blocks.total, digits)
    for i in range(len(y)):
        level = next_level(step + i, blocks.period, digits, room)
        room = moved(level, digits, room)
        y[i] = difference(y[i], level, sums)


@compiled
def difference_row(level: int, low: int, high: int, y: Column, sums: Matrix) -> None:
    """Replace y by u for one step of lanes low, ..., high-1."""
    if level:
        row = sums[level - 1][low:high]
        for lane in range(len(y)):
            y[lane] -= row[lane]
    for i in range(level):
        row = sums[i][low:high]
        for lane in range(len(y)):
            row[lane] = 0.0
    for i in range(level, sums.shape[0]):
        row = sums[i][low:high]
        for lane in range(len(y)):
            row[lane] += y[lane]
