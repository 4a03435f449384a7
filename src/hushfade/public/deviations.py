"""The standard deviations of the error, step by step, in constant memory.

    stddev_t = noise_stddev · √(Σ_{k≤t} l_k²)

l is the impulse response of L.  The loop of L computes it, one block at a time.  Block sums have no
fixed l; `factors.block_factors.BlockErrors` computes their sums Σ w².
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.factors.block_factors import BlockErrors, BlockSums
from hushfade.group_sizes import AHEAD, CHUNK
from hushfade.public.loop_constants import lookback

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


class Deviations:
    """Standard deviations by step.  Ask for steps in rising order; an earlier step starts over."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._start, self._known = 0, np.empty(0)
        self._energy, self._settled = 0.0, False

    def of(self, taken: int, steps: int) -> list[float]:
        """The standard deviations of the `steps` releases after the first `taken`."""
        deviations: list[float] = []
        while len(deviations) < steps:
            at = taken + len(deviations) - self._start
            if self._settled and at >= 0:
                return deviations + [float(self._known[-1])] * (steps - len(deviations))
            if not 0 <= at < len(self._known):
                self._next(taken + len(deviations))
                continue
            deviations.extend(self._known[at : at + steps - len(deviations)].tolist())
        return deviations

    def _next(self, taken: int) -> None:
        """Compute the next block, or start over if `taken` lies before what is known."""
        from hushfade.public.left_product import left_of, left_product  # loads numba

        plan = self._plan
        if plan.pair.gain is not None:  # one table for the whole horizon
            assert plan.horizon is not None
            self._known = plan.stddevs(plan.horizon)
            return
        if isinstance(plan.pair, BlockSums):
            self._next_blocks(plan.pair, taken)
            return
        start = self._start + len(self._known)
        # an interrupted computation starts over
        self._start, self._known, self._settled = 0, np.empty(0), False
        if start == 0 or taken < start:
            self._left, self._energy, start = left_of(plan), 0.0, 0
        n = min(CHUNK if taken > start + AHEAD else AHEAD, (plan.horizon or 2**62) - start)
        impulse, response = np.zeros(n), np.empty(n)
        impulse[0] = start == 0
        left_product(start, impulse, self._left, response)
        energy = self._energy + np.cumsum((response / plan.unit) ** 2)
        # beyond the taps, a whole block added nothing, and later responses are even smaller
        settled = start > max(lookback(plan.pair)) and bool(energy[-1] == self._energy)
        known = plan.noise_stddev * np.sqrt(energy)
        self._energy = float(energy[-1])
        # one assignment, so that an interrupt cannot leave the state inconsistent
        self._start, self._known, self._settled = start, known, settled

    def _next_blocks(self, pair: BlockSums, taken: int) -> None:
        """Compute the next block of a plan with block sums."""
        plan, start = self._plan, self._start + len(self._known)
        self._start, self._known = 0, np.empty(0)  # an interrupted computation starts over
        if start == 0 or taken < start:
            self._blocks, start = BlockErrors(pair.decay, pair.schedule), 0
        n = min(CHUNK if taken > start + AHEAD else AHEAD, (plan.horizon or 2**62) - start)
        known = plan.noise_stddev * np.sqrt(self._blocks.next(n)[0])
        self._start, self._known = start, known
