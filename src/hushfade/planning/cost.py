"""What a stream will cost, before it runs: memory, and work a step.

Both halves look back as far as the taps reach, the public one also as far as the decay's windows
and lists.  All memory is laid out at the start; the operating system gives it as it is written to.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushfade.crossing.memory import rows
from hushfade.decay import Exponential, NoDecay
from hushfade.factors.factorization import IntegerFactorization
from hushfade.numerics.blocks import AHEAD, BLOCK, CHUNK
from hushfade.public.loop_constants import levels
from hushfade.public.recursion import recursion

_TABLE = 1 << 20  # bytes of the noise's table, at most
_DRAW = 96  # bytes for each draw that is made in one go: random words, places, the draw itself
# Nanoseconds near those of docs/results/benchmarks.md: a guide, right within a factor of two there
_CALL, _NOISE, _EACH = 1900.0, 11.0, 0.55


@dataclass(frozen=True)
class Cost:
    """What a stream with so many lanes costs at most."""

    lanes: int
    totals: int  # raw totals that each lane keeps
    memory: int  # bytes, besides the arrays handed in and out
    work: int  # multiply-adds a step and lane, noise apart

    @property
    def live_seconds(self) -> float:
        """Of one live step, roughly."""
        return 1e-9 * (_CALL + self.lanes * (_NOISE + _EACH * self.work))

    @property
    def block_seconds(self) -> float:
        """Of one step among many given at once, roughly."""
        return 1e-9 * self.lanes * (_NOISE + _EACH * self.work)


def cost(pair: IntegerFactorization, lanes: int) -> Cost:
    """The cost of streaming a pair with integer taps."""
    sums = recursion(pair.decay)
    jumps, poles = len(pair.taps.jumps), len(sums.fades)
    windows, listed = len(sums.windows), len(sums.listed)
    past, seen = rows(pair, lanes)
    blocks = levels(pair)
    public = 2 + poles + 2 * windows + blocks.depth
    fixed = 4 * jumps + (pair.horizon or 0 if pair.gain is not None else 0)
    fixed += 2 * poles + 2 * windows + listed + BLOCK + 16
    private = 1 + past + blocks.depth
    numbers = 2 * fixed + lanes * (private + public + seen) + public + seen + BLOCK
    if blocks.depth and not isinstance(pair.decay, NoDecay | Exponential):
        numbers += 8 * blocks.period  # of the errors: a sum for each step of a period
    working = max(lanes * (AHEAD // lanes or 1), CHUNK)
    if pair.gain is not None:  # the errors of all its steps, by a product of transforms
        numbers += 16 * (pair.horizon or 0)
    return Cost(
        lanes,
        past,
        8 * numbers + _DRAW * working + _TABLE,
        2 * jumps + 2 * poles + 2 * windows + listed + 2 * blocks.depth,
    )
