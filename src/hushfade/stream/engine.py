"""The engine of a stream: noise, memory and compiled loops for a range of a plan's lanes.

A whole stream (`stream.Stream`) and a part of a stream on a worker (`partition.Running`) run the
same engine.  It takes steps in order and checks nothing; its owner decides who may take a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from hushfade.check import Column, Matrix, Signed
from hushfade.crossing import memory
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import table
from hushfade.group_sizes import CHUNK
from hushfade.planning.plan import Plan


class Engine:
    """Lanes `first`, ..., `first + lanes - 1` of a plan, after `steps` steps.

    The noise is a function of (plan, step, lane).  So any division of the lanes into engines, and
    any grouping of steps into calls, gives the same bits.
    """

    __slots__ = ("_kernels", "drawer", "first", "lanes", "law", "memory", "plan", "steps")

    def __init__(
        self, plan: Plan, drawer: Drawer, *, first: int = 0, lanes: int | None = None
    ) -> None:
        from hushfade.crossing import step  # compiled; loaded with the first engine

        self.plan = plan
        self.first = first
        self.lanes = plan.grid.lanes if lanes is None else lanes
        self.steps = 0
        self.memory = memory.blank(plan, self.lanes)
        self.drawer = drawer
        self.law = table(plan.law)
        self._kernels = step

    def noise(self, step: int, steps: int) -> Signed:
        """The noise z of `steps` steps, beginning at `step`, with shape (steps, lanes)."""
        return self.drawer.draws(self.law, step, steps, self.lanes, lane=self.first)

    def take(self, x: Signed, z: Signed, out: Matrix) -> None:
        """Take the next len(x) steps: from totals and noise, (n, lanes), to values in `out`."""
        if self.lanes == 1:
            self._kernels.advance_block(self.steps, x[:, 0], z[:, 0], *self.memory, out[:, 0])
        else:
            self._kernels.advance_lanes(self.steps, 0, self.lanes, x, z, *self.memory, out)
        self.steps += len(x)

    def chunks(self, steps: int) -> Iterator[slice]:
        """Slices of many steps, each so short that its noise stays in the cache."""
        rows = max(1, CHUNK // self.lanes)
        for start in range(0, steps, rows):
            yield slice(start, min(start + rows, steps))

    # State -----------------------------------------------------------------------------------

    def lengths(self, steps: int) -> tuple[int, int]:
        """The numbers of integers and floats in the state after `steps` steps."""
        return memory.lengths(self.plan, steps, self.lanes)

    def state(self) -> list[Signed | Column]:
        """Views of the state, without the rows of the rings that no step has reached."""
        integers, floats = self.memory.state
        count, float_count = self.lengths(self.steps)
        return [integers[:count], floats[:float_count]]

    def restore(self, steps: int, integers: Signed, floats: Column) -> None:
        """Continue from a saved state."""
        whole = self.memory.state
        whole[0][: len(integers)] = integers
        whole[1][: len(floats)] = floats
        self.steps = steps

    def last_totals(self) -> Signed:
        """A copy of the totals of the last step."""
        return memory.last_totals(self.memory, self.steps)
