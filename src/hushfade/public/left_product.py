"""The public product L y = M (y / r̃), or M (differences of y), for one lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade.check import Column
from hushfade.compiled import compiled
from hushfade.factors.taps import Jumps
from hushfade.group_sizes import BLOCK
from hushfade.public.block_differences import Blocks, difference_block
from hushfade.public.decayed_sum import Sums, decay_block
from hushfade.public.left_quotient import Quotients, quotient_block
from hushfade.public.loop_constants import constants, levels, lookback
from hushfade.public.recursion import Parts
from hushfade.ring_buffers import write

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


class Left(NamedTuple):
    """The constants of L and the state of one lane."""

    jumps: Jumps
    parts: Parts
    period: int
    blocks: Blocks
    quotients: Quotients
    sums: Sums


def left_of(plan: Plan) -> Left:
    """One lane of a plan's L before the first step."""
    jumps, parts, period = constants(plan)
    poles, windows = len(parts.fades), len(parts.windows)
    rows = lookback(plan.pair).public + BLOCK
    quotients = Quotients(np.zeros((rows, 1)), np.zeros(1), np.zeros(1))
    sums = Sums(np.zeros((poles, 1)), np.zeros((windows, 1)), np.zeros((windows, 1)))
    depth, block_period, block_total = levels(plan.pair)
    blocks = Blocks(block_period, block_total, np.zeros((depth, 1)))
    return Left(jumps, parts, period, blocks, quotients, sums)


@compiled
def left_product(step: int, y: Column, left: Left, out: Column) -> None:
    """Write (L y)_t to `out` for len(y) steps, beginning at `step`."""
    jumps, parts, period, blocks, quotients, sums = left
    u, back, own = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    ring = quotients.ring.ravel()
    start = 0
    while start < len(y):
        t = step + start
        n = min(BLOCK, len(y) - start, period - t % period)
        end = start + n
        own[:n] = y[start:end]
        difference_block(t, own[:n], blocks)
        quotient_block(t, own[:n], period, jumps, quotients, back, u)
        decay_block(t, u[:n], period, parts, quotients.ring, sums, out[start:end])
        write(ring, t % len(ring), u[:n])
        start = end
