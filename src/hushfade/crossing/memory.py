"""How a plan's stream lies in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Signed
from hushfade.convolve import period_of
from hushfade.convolve.recursive import parts_of
from hushfade.convolve.stepped import jumps_of
from hushfade.crossing import step
from hushfade.planning import cost
from hushfade.public.recursion import recursion

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def blank(plan: Plan, lanes: int | None = None) -> step.Memory:
    """The memory of a stream before its first step; of so many of its lanes, if it is shared."""
    lanes = plan.grid.lanes if lanes is None else lanes
    return _laid_out(plan, cost.rows(plan.pair, lanes), lanes)


def public(plan: Plan) -> step.Memory:
    """The memory of one lane of the public half alone."""
    return _laid_out(plan, (0, cost.rows(plan.pair, 1)[1]), 1)


def lengths(plan: Plan, steps: int, lanes: int | None = None) -> tuple[int, int]:
    """How many integers and floats of the state so many steps have written to, or could have."""
    lanes, found = plan.grid.lanes if lanes is None else lanes, recursion(plan.decay)
    past, seen = (min(steps, ring) for ring in cost.rows(plan.pair, lanes))
    public = 2 + len(found.fades) + 2 * len(found.windows)
    return lanes * (1 + past), lanes * (public + seen)


def last_totals(memory: step.Memory, steps: int) -> Signed:
    """The totals of the last of so many steps, a copy."""
    past, lanes, start = (int(memory.integers[place]) for place in (5, 7, 10))
    row = start + lanes + (steps - 1) % past * lanes
    return memory.integers[row : row + lanes].copy()


def _laid_out(plan: Plan, rows: tuple[int, int], lanes: int) -> step.Memory:
    gain = np.empty(0) if plan.pair.integer_gain is None else plan.pair.integer_gain
    parts = parts_of(recursion(plan.decay), plan.grid.resolution)  # u = y / r̃ is in its units
    period = period_of(max(cost.reach(plan.pair)))  # whatever the lanes: their bits are the same
    jumps = jumps_of(plan.taps, plan.horizon)
    return step.memory(jumps, gain.astype(np.int64), parts, rows, lanes, period)
