"""The cost of a stream, known before it runs: memory, and work per step.

Both halves look back as far as the taps reach.  The public half also looks back as far as the
windows and lists of the decay.  A stream allocates all its memory at the start; the operating
system provides each page when it is first written.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushfade.crossing.memory import rows
from hushfade.factors.factorization import IntegerFactorization
from hushfade.group_sizes import AHEAD, BLOCK, CHUNK
from hushfade.public.loop_constants import levels
from hushfade.public.recursion import grouped

_TABLE = 1 << 20  # bytes of the noise table, at most
_DRAW = 96  # bytes per draw in one call: random words, places, the draw itself
# Nanoseconds close to docs/results/benchmarks.md: a guide, within a factor of two on that machine
_CALL, _NOISE, _EACH = 1900.0, 11.0, 0.55


@dataclass(frozen=True)
class Cost:
    """The largest cost of a stream with this many lanes."""

    lanes: int
    totals: int  # raw totals that each lane keeps
    memory: int  # bytes, without the arrays of the caller
    work: int  # multiply-adds per step and lane, without the noise

    @property
    def live_seconds(self) -> float:
        """The approximate time of one live step."""
        return 1e-9 * (_CALL + self.lanes * (_NOISE + _EACH * self.work))

    @property
    def block_seconds(self) -> float:
        """The approximate time per step if one call closes many steps."""
        return 1e-9 * self.lanes * (_NOISE + _EACH * self.work)


def cost(pair: IntegerFactorization, lanes: int) -> Cost:
    """The cost of streaming a pair with integer taps."""
    sums = grouped(pair.decay)
    jumps, poles = len(pair.taps.jumps), len(sums.fades)
    windows, listed = len(sums.windows), len(sums.listed)
    past, seen = rows(pair, lanes)
    blocks = levels(pair)
    public = 2 + poles + 2 * windows + blocks.depth
    fixed = 4 * jumps + (pair.horizon or 0 if pair.gain is not None else 0)
    fixed += 2 * poles + 2 * windows + listed + BLOCK + 16
    private = 1 + past + blocks.depth
    numbers = 2 * fixed + lanes * (private + public + seen) + public + seen + BLOCK
    if blocks.depth and pair.decay.rate is None:
        numbers += 8 * blocks.period  # the errors need one sum for each step of a period
    working = max(lanes * (AHEAD // lanes or 1), CHUNK)
    if pair.gain is not None:  # FFT products compute the errors of all steps
        numbers += 16 * (pair.horizon or 0)
    return Cost(
        lanes,
        past,
        8 * numbers + _DRAW * working + _TABLE,
        2 * jumps + 2 * poles + 2 * windows + listed + 2 * blocks.depth,
    )
