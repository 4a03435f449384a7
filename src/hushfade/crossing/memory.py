"""The memory layout of a stream: two flat arrays, which are cheap to pass to a compiled loop.

Both arrays begin with constants.  The state follows, with the ring buffers last.  `integers` starts
with a header: sizes, then the offset of each part.  This module computes the offsets once; the
loops read them by the names below.  It does not load numba.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors.factorization import IntegerFactorization
from hushfade.group_sizes import BLOCK
from hushfade.public.loop_constants import constants, levels, lookback
from hushfade.public.recursion import grouped

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

# The header.  Sizes:
JUMPS, GAINS, WINDOWS, POLES, LISTED, PAST_ROWS, SEEN_ROWS, LANES, DEPTH = range(9)
# numbers:
PERIOD, SINGLE, BLOCK_PERIOD, BLOCK_TOTAL = range(9, 13)
# offsets of the parts of `integers`, the state last:
LAGS, RISES, GAIN, LENGTHS, SUMS, BLOCK_SUMS, PAST = range(13, 20)
# offsets of the parts of `floats`, the state from CARRIED on:
HEIGHTS, LEVELS, NEAR, FADES, POLE_WEIGHTS, WINDOW_WEIGHTS, LISTED_WEIGHTS = range(20, 27)
CARRIED, RENEWED, FADED, SUMMED, RESUMMED, RELEASED, SEEN = range(27, 34)
HEADER = 34


class Memory(NamedTuple):
    """A stream's constants and state."""

    integers: Signed
    floats: Column

    @property
    def state(self) -> tuple[Signed, Column]:
        """Views of the part that changes."""
        return self.integers[self.integers[SUMS] :], self.floats[self.integers[CARRIED] :]


class Rows(NamedTuple):
    """The rows of the ring buffers: the lookback of each half, plus the rows of a block."""

    past: int  # totals x, private
    seen: int  # quotients u, public


def blank(plan: Plan, lanes: int | None = None) -> Memory:
    """The memory of all lanes, or of this many, before the first step.

    The rings are zeros, whose pages the operating system provides when they are first written.
    """
    lanes = plan.grid.lanes if lanes is None else lanes
    jumps, parts, period = constants(plan)
    past, seen = rows(plan.pair, lanes)
    gain = np.empty(0, np.int64) if plan.pair.integer_gain is None else plan.pair.integer_gain
    poles, windows = len(parts.fades), len(parts.windows)
    fixed = (jumps.lags, jumps.rises, gain, parts.windows)
    fixed_floats = (jumps.heights, jumps.levels, jumps.near, *parts[1:])
    depth, block_period, block_total = levels(plan.pair)
    sizes = [
        len(jumps.lags), len(gain), windows, poles, len(parts.listed), past, seen, lanes, depth
    ]  # fmt: skip
    numbers = [period, jumps.single, block_period, block_total]
    places = [*accumulate([HEADER, *map(len, fixed), lanes, depth * lanes, past * lanes])]
    public = (1, 1, poles, windows, windows, depth, seen)
    float_places = [*accumulate([0, *map(len, fixed_floats), *(lanes * size for size in public)])]
    memory = Memory(np.zeros(places[-1], dtype=np.int64), np.zeros(float_places[-1]))
    memory.integers[:HEADER] = [*sizes, *numbers, *places[:-1], *float_places[:-1]]
    memory.integers[HEADER : places[4]] = np.concatenate(fixed)
    memory.floats[: float_places[7]] = np.concatenate(fixed_floats)
    return memory


def rows(pair: IntegerFactorization, lanes: int) -> Rows:
    """The rows of both rings for this many lanes."""
    past, seen = lookback(pair)
    spare = BLOCK if lanes == 1 else 1
    return Rows(past + spare, seen + spare)


def lengths(plan: Plan, steps: int, lanes: int | None = None) -> tuple[int, int]:
    """The numbers of integers and floats of the state that `steps` steps can have written."""
    lanes, parts = plan.grid.lanes if lanes is None else lanes, grouped(plan.decay)
    past, seen = (min(steps, ring) for ring in rows(plan.pair, lanes))
    depth = levels(plan.pair).depth
    public = 2 + len(parts.fades) + 2 * len(parts.windows) + depth
    return lanes * (1 + depth + past), lanes * (public + seen)


def last_totals(memory: Memory, steps: int) -> Signed:
    """A copy of the totals of the last of `steps` steps."""
    header = memory.integers
    past, lanes = int(header[PAST_ROWS]), int(header[LANES])
    row = int(header[PAST]) + (steps - 1) % past * lanes
    return header[row : row + lanes].copy()
