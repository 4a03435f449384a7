"""Stream: the live mechanism.  Integers before the crossing, floats after it, one state.

    stream = plan.start()
    release = stream.step([0.3, 1, 0.7])     # the records of this step
    ...
    data = stream.save()                     # holds raw totals: keep it as you keep the data
    stream = Stream.load(data)

A step validates everything before it changes anything; a refused step leaves the stream as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.crossing.laws import gaussian
from hushfade.crossing.noise_sources import FreshNoise, NoiseSource
from hushfade.errors import InvalidType, Refused
from hushfade.planning.cost import AHEAD, CHUNK, reach
from hushfade.public.release import Release
from hushfade.stream.ownership import turn_of

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan

_new = tuple.__new__  # a release made so takes a third of the time


class Stream:
    """A stream between two steps.  `steps` counts those released; `load` and `begin` make it.

    A step is drawn once: threads take turns, a second copy loaded from the same state is refused
    once the first has gone on, and a forked child, which would draw for its parent's steps, too.
    """

    __slots__ = (
        "_advance",
        "_ahead",
        "_ahead_from",
        "_ahead_until",
        "_deviations",
        "_drawer",
        "_drawn_from",
        "_errors",
        "_floats",
        "_grid",
        "_identity",
        "_integers",
        "_kernels",
        "_law",
        "_memory",
        "_scalar",
        "_sound",
        "_source",
        "_turn",
        "plan",
        "steps",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        noise: NoiseSource | None,
        identity: bytes,
        steps: int,
        state: tuple[Signed, Column] | None,
    ) -> None:
        from hushfade.crossing import memory
        from hushfade.crossing import step as crossing

        source = FreshNoise() if noise is None else noise
        if not hasattr(source, "bound"):
            raise InvalidType("noise must be a noise source", got=type(noise).__name__)
        self.plan = plan
        self.steps = steps
        self._identity = identity
        self._turn = turn_of(identity)
        self._sound = True
        self._grid = plan.grid
        self._scalar = plan.grid.scalar
        self._kernels = crossing  # compiled, loaded when the first stream is made
        self._advance = crossing.advance_single
        self._memory = memory.blank(plan)
        self._integers, self._floats = self._memory
        if state is not None:
            for part, saved in zip(self._memory.state, state, strict=True):
                part[: len(saved)] = saved
        self._law = gaussian.table(plan.sigma)
        self._drawer = source.bound(plan.digest)
        self._source = repr(source)
        self._errors = Errors(plan)
        self._ahead: list[Any] = []  # noise of the steps from _ahead_from up to _ahead_until
        self._deviations: list[float] = []
        self._ahead_from = self._ahead_until = steps
        self._drawn_from = steps  # this copy drew the noise of the steps after it

    @classmethod
    def begin(cls, plan: Plan, noise: NoiseSource | None = None) -> Stream:
        """A stream at step 0."""
        return cls(plan, noise, os.urandom(16), 0, None)

    # Stepping --------------------------------------------------------------------------------

    def step(self, records: Any = ()) -> Release:
        """Close a step with its records, each clipped to the plan's bounds: a number or many;
        with keys a mapping from key to number or many; or vectors, one a row."""
        if self._scalar:
            return self._single(self._grid.record_sum(records))
        return self._row(self._grid.record_sums(records))

    def step_total(self, total: Any) -> Release:
        """Close a step with its total, summed by a caller who clipped and quantised each record."""
        if self._scalar:
            return self._single(self._grid.total(total))
        return self._row(self._grid.totals(total))

    def run(self, totals: Any) -> Column:
        """Close many steps: totals (n,) or (n, lanes) in, released values of the same shape out.

        The same bits as step by step under the same noise.
        """
        x = self._grid.block(totals)
        out = np.empty(x.shape)
        with self._turn.own():
            self._admit(len(x))
            rows = max(1, CHUNK // x.shape[1])
            for start in range(0, len(x), rows):
                part = x[start : start + rows]
                z = self._drawer.draws(self._law, self.steps, *part.shape)
                self._take(part, z, out[start : start + rows])
                self._sound = start + rows >= len(x)  # what is taken and not returned is lost
        return out[:, 0] if np.ndim(totals) == 1 else out

    def _single(self, x: int) -> Release:
        turn = self._turn
        with turn.own():
            step = self.steps
            if not (self._sound and turn.taken <= step < self._ahead_until):
                self._prepare()
            at = step - self._ahead_from
            turn.taken = step + 1
            self._sound = False
            value = self._advance(step, x, self._ahead[at], self._integers, self._floats)
            self.steps = step + 1
            self._sound = True
            return _new(Release, (step + 1, value, self._deviations[at], None, ()))

    def _row(self, x: Signed) -> Release:
        with self._turn.own():
            if not (self._sound and self._turn.taken <= self.steps < self._ahead_until):
                self._prepare()
            at = self.steps - self._ahead_from
            out = np.empty((1, len(x)))
            self._take(x[None, :], self._ahead[at][None, :], out)
            return Release(self.steps, out[0], self._deviations[at], self._grid.keys)

    def _take(self, x: Signed, z: Signed, out: Matrix) -> None:
        """The next steps, admitted before: from here on they are taken, whatever happens."""
        self._turn.taken = self.steps + len(x)
        self._sound = False
        if x.shape[1] == 1:
            self._kernels.advance_block(self.steps, x[:, 0], z[:, 0], *self._memory, out[:, 0])
        else:
            self._kernels.advance_lanes(self.steps, 0, x.shape[1], x, z, *self._memory, out)
        self.steps += len(x)
        self._sound = True

    def _admit(self, steps: int) -> None:
        """Refuse the next steps if they are not this copy's to take."""
        if not self._sound:
            raise Refused("an earlier step was interrupted: load the last saved state")
        if self._turn.taken > self.steps:
            raise Refused("another copy of this stream has released the next step already")
        horizon = self.plan.horizon
        if horizon is not None and self.steps + steps > horizon:
            raise Refused(f"steps must stay within the plan's horizon {horizon}")

    def _prepare(self) -> None:
        """Noise and deviations of the next steps; nothing is taken yet."""
        self._admit(1)
        lanes = self._grid.lanes
        n = min(max(1, AHEAD // lanes), (self.plan.horizon or 2**62) - self.steps)
        deviations = self._errors.of(self.steps, n)
        z = self._drawer.draws(self._law, self.steps, n, lanes)
        self._ahead = z[:, 0].tolist() if self._scalar else list(z)
        self._deviations = deviations
        self._ahead_from, self._ahead_until = self.steps, self.steps + n

    # Saving ----------------------------------------------------------------------------------

    def save(self) -> bytes:
        """The whole state but the noise's key.  It contains raw totals: keep it as the data."""
        from hushfade.stream import saved_state

        with self._turn.own():
            if not self._sound:
                raise Refused("an earlier step was interrupted: load the last saved state")
            return saved_state.written(
                self.plan, self._source, self._identity, self.steps, self._memory
            )

    def trace(self) -> bytes:
        """What the last step added to the state: its totals and its noise, private as the state.

        A saved state and the traces of all steps since make the stream, at 16 bytes a lane and
        step.  When a newer state is saved, destroy the traces: with y, the noise tells the totals.
        """
        from hushfade.crossing import memory
        from hushfade.stream import saved_state

        with self._turn.own():
            if not (self._sound and self.steps > self._drawn_from):
                raise Refused("a trace must be of a step that this copy of the stream has taken")
            z = self._drawer.draws(self._law, self.steps - 1, 1, self._grid.lanes)[0]
            x = memory.last_totals(self._memory, self.steps)
            return saved_state.trace_written(self._identity, self.steps, x, z)

    @classmethod
    def load(
        cls,
        data: bytes,
        *,
        plan: Plan | None = None,
        noise: NoiseSource | None = None,
        traces: Iterable[bytes] = (),
    ) -> Stream:
        """The stream that `save` wrote, after the steps whose traces are given, in their order.

        Refused: another format or version, changed bytes, another plan than `plan`, noise of
        another kind, key, stream or epoch, and a state older than what this process has released,
        since its steps would be drawn twice.  That a later state exists elsewhere cannot be seen
        from here: a store keeps that.
        """
        from hushfade.stream import saved_state

        found = saved_state.read(data)
        if plan is not None and plan.digest != found.plan.digest:
            raise Refused("the saved stream must belong to this plan, but has another digest")
        source = FreshNoise() if noise is None else noise
        if repr(source) != found.source:
            raise Refused(f"noise must be {found.source}, as it was when the stream was saved")
        lanes = found.plan.grid.lanes
        since = [saved_state.trace_read(trace, found.identity, lanes) for trace in traces]
        if [trace.step for trace in since] != [found.steps + 1 + i for i in range(len(since))]:
            raise Refused("traces must be of the steps after the saved state, each once, in order")
        after = found.steps + len(since)
        if after > (found.plan.horizon or after):
            raise Refused("traces must stay within the plan's horizon")
        if after < turn_of(found.identity).taken:
            raise Refused("the saved state must not be older than what was released since")
        stream = cls(found.plan, source, found.identity, found.steps, found.state)
        with stream._turn.own():
            for trace in since:
                stream._take(trace.x[None, :], trace.z[None, :], np.empty((1, lanes)))
        stream._drawn_from = stream._ahead_from = stream._ahead_until = stream.steps
        return stream

    def __repr__(self) -> str:
        return f"Stream(steps={self.steps}, plan={self.plan.digest.hex()[:12]})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("a stream cannot be pickled: use save and load")


class Errors:
    """The error's standard deviation at one step after the other, in constant memory.

    stddev_t = noise_stddev · √(Σ_{k≤t} l_k²), where l is the public half's answer to a single 1:
    its own loop computes it, a block at a time.  With a gain the plan's table serves.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._from, self._known = 0, np.empty(0)
        self._energy, self._settled = 0.0, False

    def of(self, taken: int, steps: int) -> list[float]:
        """The standard deviations of so many releases after `taken` steps."""
        found: list[float] = []
        while len(found) < steps:
            at = taken + len(found) - self._from
            if self._settled and at >= 0:
                return found + [float(self._known[-1])] * (steps - len(found))
            if not 0 <= at < len(self._known):
                self._next(taken + len(found))
                continue
            found.extend(self._known[at : at + steps - len(found)].tolist())
        return found

    def _next(self, taken: int) -> None:
        from hushfade.crossing import memory
        from hushfade.crossing.step import answer_block

        plan = self._plan
        if plan.pair.gain is not None:
            assert plan.horizon is not None
            self._known = plan.stddevs(plan.horizon)
            return
        start = self._from + len(self._known)
        self._from, self._known = 0, np.empty(0)  # if this is interrupted, it begins again
        if start == 0 or taken < start:  # back only if a stream is loaded again
            self._memory, self._energy, self._settled, start = memory.public(plan), 0.0, False, 0
        n = min(CHUNK if taken > start + AHEAD else AHEAD, (plan.horizon or 2**62) - start)
        y, answer = np.zeros(n), np.empty(n)
        y[0] = start == 0
        answer_block(start, y, *self._memory, answer)
        energy = self._energy + np.cumsum((answer / plan.unit) ** 2)
        # so many steps beyond the taps that added nothing: those to come are smaller still
        beyond = start > max(reach(plan.pair))
        self._settled = beyond and bool(energy[-1] == self._energy)
        self._energy = float(energy[-1])
        self._from, self._known = start, plan.noise_stddev * np.sqrt(energy)
