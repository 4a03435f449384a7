"""The private sums over nested blocks of steps, exact in int64.

    v_t = x_t + A_level(t)        A_i = Σ x since the last step of level i or above, A_0 = 0

`factors.block_factors` explains levels.  Both loops below compute the same values.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Signed
from hushfade.compiled import compiled, inlined
from hushfade.factors.block_levels import moved, next_level, seek


@inlined
def add_block(x: int, level: int, sums: Signed) -> int:
    """The v of one step of one lane; updates `sums`, which are A_1, ..., A_depth."""
    v = x
    if level:
        v += sums[level - 1]
    for i in range(level):
        sums[i] = 0
    for i in range(level, len(sums)):
        sums[i] += x
    return v


@compiled
def add_blocks(step: int, period: int, total: int, v: Signed, sums: Signed) -> None:
    """Replace x by v, in place, for len(v) steps of one lane, beginning at `step`."""
    digits = np.empty(len(sums), np.int64)
    room = seek(step % period, total, digits)
    for i in range(len(v)):
        level = next_level(step + i, period, digits, room)
        room = moved(level, digits, room)
        v[i] = add_block(v[i], level, sums)


@compiled
def add_block_row(level: int, low: int, high: int, v: Signed, sums: Signed) -> None:
    """Replace x by v, in place, for one step of lanes low, ..., high-1."""
    for i in range(level, sums.shape[0]):
        row = sums[i][low:high]
        for lane in range(len(v)):
            row[lane] += v[lane]
    if level:
        row = sums[level - 1][low:high]
        for lane in range(len(v)):
            v[lane] += row[lane]
    for i in range(level):
        row = sums[i][low:high]
        for lane in range(len(v)):
            row[lane] = 0
