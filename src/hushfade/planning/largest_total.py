"""The largest total of a step: R̃x and its noise must stay exact in 64 bits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian, Laplace, Law
from hushfade.planning.plan import Plan

_ROOM = 1 << 54  # |y| stays below this: far from the end of int64, float64 rounds by 1 unit


class NoiseOutOfRange(InvalidValue):
    """The noise has too few or too many grid units for its tables."""


def sized(plan: Plan) -> Plan:
    """The plan with the largest total that int64 can hold; raises if the tables cannot hold the
    noise."""
    least = 0.0 if isinstance(plan.law, Laplace) else 8.0  # Laplace noise is exact on any grid
    if not least < plan.law.stddev <= 2.0**34:
        raise NoiseOutOfRange(
            f"must put the noise between {least:g} and 2^34 grid units",
            argument="resolution",
            got=f"{plan.law.stddev:.3g} units with a resolution of {plan.grid.resolution!r}",
            remedy="give another resolution; hushfade rounds each record to it",
        )
    reach = sum(abs(value) * length for value, length in zip(*plan.taps.pieces, strict=True))
    room, noises = _ROOM, 1
    if isinstance(plan.pair, BlockSums):
        # float64 represents differences of prefix sums, with the noise of all open blocks, exactly
        room, noises = 1 << 53, 2 + plan.pair.schedule.total
        reach *= plan.pair.longest
    if plan.pair.integer_gain is not None:
        reach *= int(np.max(plan.pair.integer_gain))
    largest = (room - noises * math.ceil(farthest(plan.law))) // reach
    if largest < 1:
        raise NoiseOutOfRange(
            f"must leave room for sums over {reach} steps",
            argument="resolution",
            got=plan.grid.resolution,
            remedy="give a larger resolution, or fewer steps",
        )
    # also below 2^52, so that float64 distinguishes adjacent totals
    return replace(plan, grid=replace(plan.grid, largest_total=min(largest, 2**52)))


def farthest(law: Law) -> float:
    """A number of units that no draw exceeds; the tables end far below it."""
    return 64.0 * law.sigma if isinstance(law, Gaussian) else 128.0 * law.stddev + 256.0
