"""The engine of a stream: noise, memory and compiled loops for a range of a plan's lanes.

A whole stream (`stream.Stream`) and a part of one on a worker (`partition.Running`) run the same
engine.  It takes steps in order and checks nothing: who may take a step is decided by its owner.
"""

from __future__ import annotations

from collections.abc import Iterator

from hushfade.check import Column, Matrix, Signed
from hushfade.crossing import memory
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import table
from hushfade.numerics.blocks import CHUNK
from hushfade.planning.plan import Plan


class Engine:
    """Lanes `first`, ..., `first + lanes - 1` of a plan, after `steps` steps.

    Noise belongs to (plan, step, lane).  Any division of the lanes into engines, and any grouping
    of steps into calls, gives the same bits.
    """

    __slots__ = ("_kernels", "drawer", "first", "lanes", "law", "memory", "plan", "steps")

    def __init__(
        self, plan: Plan, drawer: Drawer, *, first: int = 0, lanes: int | None = None
    ) -> None:
        from hushfade.crossing import step  # compiled, loaded when the first engine is made

        self.plan = plan
        self.first = first
        self.lanes = plan.grid.lanes if lanes is None else lanes
        self.steps = 0
        self.memory = memory.blank(plan, self.lanes)
        self.drawer = drawer
        self.law = table(plan.law)
        self._kernels = step

    def noise(self, step: int, steps: int) -> Signed:
        """z of `steps` steps from `step` on, (steps, lanes)."""
        return self.drawer.draws(self.law, step, steps, self.lanes, lane=self.first)

    def take(self, x: Signed, z: Signed, out: Matrix) -> None:
        """The next len(x) steps: totals and noise, (n, lanes), in; released values into `out`."""
        if self.lanes == 1:
            self._kernels.advance_block(self.steps, x[:, 0], z[:, 0], *self.memory, out[:, 0])
        else:
            self._kernels.advance_lanes(self.steps, 0, self.lanes, x, z, *self.memory, out)
        self.steps += len(x)

    def chunks(self, steps: int) -> Iterator[slice]:
        """Many steps in pieces whose noise stays in the cache."""
        rows = max(1, CHUNK // self.lanes)
        for start in range(0, steps, rows):
            yield slice(start, min(start + rows, steps))

    # State -----------------------------------------------------------------------------------

    def lengths(self, steps: int) -> tuple[int, int]:
        """How many integers and floats the state has after `steps` steps."""
        return memory.lengths(self.plan, steps, self.lanes)

    def state(self) -> list[Signed | Column]:
        """Views of the state; rows of the rings that no step has reached are left out."""
        integers, floats = self.memory.state
        count, float_count = self.lengths(self.steps)
        return [integers[:count], floats[:float_count]]

    def restore(self, steps: int, integers: Signed, floats: Column) -> None:
        """Continue from a state."""
        whole = self.memory.state
        whole[0][: len(integers)] = integers
        whole[1][: len(floats)] = floats
        self.steps = steps

    def last_totals(self) -> Signed:
        """A copy of the totals of the last step."""
        return memory.last_totals(self.memory, self.steps)
