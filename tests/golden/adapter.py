"""What the golden vectors read that is not public: taps, the noise's parameters, noisy integers.

A change of internal names needs a change here, and nowhere else in this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import hushfade as hf
from hushfade.crossing.memory import CARRIED
from hushfade.factors.block_factors import BlockSums

KEY = bytes(range(1, 33))
DIGEST = bytes(range(101, 133))  # takes the place of the plan's own digest


class FixedNoise:
    """Keyed noise for `plan.start` that depends on the law of the plan and not on its digest."""

    def __init__(self, name: str) -> None:
        self._noise = hf.KeyedNoise(KEY, stream=name)

    @property
    def identity(self) -> Any:
        return self._noise.identity

    def bound(self, plan_digest: bytes) -> Any:
        return self._noise.bound(DIGEST)


def law(plan: hf.Plan) -> dict[str, Any]:
    """The name and the parameters of the noise; they are the same on every machine."""
    names = ("sigma", "slope", "core")
    return {"name": plan.law.name} | {
        name: getattr(plan.law, name) for name in names if hasattr(plan.law, name)
    }


def taps(plan: hf.Plan) -> tuple[int, list[int], list[int]]:
    """The binary places of the taps, the values of their constant pieces, and their lengths."""
    return (plan.taps.bits, *plan.taps.pieces)


def gain(plan: hf.Plan) -> list[int] | None:
    """The gain per step as integers, if the plan has one."""
    found = plan.pair.integer_gain
    return None if found is None else found.tolist()


def blocks(plan: hf.Plan) -> list[int] | None:
    """The depth and the period of block sums."""
    if not isinstance(plan.pair, BlockSums):
        return None
    return [plan.pair.schedule.depth, plan.pair.schedule.period]


def noisy_integers(stream: hf.Stream, steps: int) -> Iterator[list[int]]:
    """y = gain v + z of each lane: the integers that leave the private half, after each step.

    Take one step of the stream between two items.  The stream keeps its last y / gain; with block
    sums it keeps what y adds to the sums of the blocks that are still open.
    """
    plan = stream.plan
    start, lanes = int(stream._integers[CARRIED]), plan.grid.lanes
    gains = gain(plan)
    levels, added = None, np.zeros((0, lanes))
    if isinstance(plan.pair, BlockSums):
        levels = plan.pair.schedule.levels(steps)
        added = np.zeros((plan.pair.schedule.depth, lanes))
    for step in range(steps):
        y = stream._floats[start : start + lanes].copy()
        if levels is not None:
            u, level = y.copy(), levels[step]
            y += added[level - 1] if level else 0.0
            added[:level] = 0.0
            added[level:] += u
        if gains is not None:
            y *= gains[step]
        yield np.rint(y).astype(np.int64).tolist()
