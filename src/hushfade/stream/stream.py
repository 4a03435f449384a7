"""Stream: the live mechanism.  Integers before the crossing, floats after it, one state.

    stream = plan.start()
    release = stream.step([0.3, 1, 0.7])     # the records of this step
    ...
    data = stream.save()                     # contains raw totals: protect it like the data
    stream = Stream.load(data)

A step validates everything before it changes anything.  A step that raises an error leaves the
stream unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.crossing import key_file
from hushfade.crossing.key_file import Noise
from hushfade.errors import InvalidType, Refused
from hushfade.group_sizes import AHEAD
from hushfade.planning.plan import Plan
from hushfade.privacy.loss import PrivacyLoss
from hushfade.private import integer_totals
from hushfade.public.deviations import Deviations
from hushfade.public.release import Release
from hushfade.stream import saved_state
from hushfade.stream.engine import Engine
from hushfade.stream.ownership import turn_of
from hushfade.stream.saved_state import SavedState

_new = tuple.__new__  # constructs a release in a third of the time


class Stream:
    """A stream that runs a plan step by step.  `plan.start` and `Stream.load` create it.

    The noise of each step is drawn once.  Threads take turns.  If two copies are loaded from the
    same state and one of them takes a step, the other raises Refused.  So does a forked child,
    which would draw the noise of its parent's steps again.
    """

    __slots__ = (
        "_advance", "_ahead", "_ahead_from", "_ahead_until", "_deviations", "_drawn_from",
        "_engine", "_errors", "_floats", "_grid", "_identity", "_integers", "_noise", "_scalar",
        "_sound", "_stddevs", "_turn", "plan",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        noise: Noise | None,
        identity: bytes,
        state: SavedState | None = None,
    ) -> None:
        from hushfade.crossing.step import advance_single  # compiled

        source = key_file.checked(noise)
        self.plan = plan
        self._identity = identity
        self._turn = turn_of(identity)
        self._sound = True
        self._grid = plan.grid
        self._scalar = plan.grid.scalar
        self._engine = Engine(plan, key_file.drawer(source, plan.digest, identity))
        if state is not None:
            self._engine.restore(state.steps, state.integers, state.floats)
        self._advance = advance_single
        self._integers, self._floats = self._engine.memory
        self._noise = source.identity
        self._deviations = Deviations(plan)
        self._errors = plan.errors
        self._ahead: list[Any] = []  # noise of the steps from _ahead_from up to _ahead_until
        self._stddevs: list[float] = []
        self._ahead_from = self._ahead_until = self.steps
        self._drawn_from = self.steps  # this copy drew the noise of all later steps

    @classmethod
    def begin(
        cls, plan: Plan, noise: Noise | None = None, *, identity: bytes | None = None
    ) -> Stream:
        """A stream at step 0.

        The `identity` of 16 bytes is random, unless a store must be able to begin the stream again
        after a crash.
        """
        return cls(plan, noise, os.urandom(16) if identity is None else identity)

    @property
    def steps(self) -> int:
        """The number of released steps."""
        return self._engine.steps

    @property
    def privacy_so_far(self) -> PrivacyLoss:
        """The privacy loss of the most exposed record or person in the released steps.

        It equals `plan.privacy_after(steps)`: an upper bound, 0 before the first step.
        `plan.privacy` is the loss in the end.
        """
        return self.plan.privacy_after(self.steps)

    # Stepping --------------------------------------------------------------------------------

    def step(self, records: Any = ()) -> Release:
        """The release of the next step, closed with its records.

        `records` is a number or a sequence of numbers; with keys, a mapping from each key to a
        number or a sequence; for vectors, one row per vector.  hushfade clips each record to the
        plan's bounds.
        """
        if self._scalar:
            return self._single(self._grid.record_sum(records))
        return self._row(self._grid.record_sums(records))

    def step_total(self, total: Any) -> Release:
        """The release of the next step, closed with its total.

        The caller has clipped and quantised each record (`plan.quantise`) before summing.
        """
        if self._scalar:
            return self._single(self._grid.total(total))
        return self._row(self._grid.totals(total))

    def run(self, totals: Any) -> Column:
        """The released values of many steps, closed with totals of shape (n,) or (n, lanes).

        The result has the same shape, and the same bits as step by step with the same noise.
        """
        return self._run(self._grid.block(totals), np.ndim(totals))

    def step_units(self, units: Any) -> Release:
        """The release of the next step, closed with its total in integer units of the grid.

        With several lanes, `units` has one total per lane.  The caller has clipped and quantised
        each record (`plan.grid.units`).  Floats are rejected.
        """
        most = self._grid.largest_total
        if self._scalar:
            return self._single(integer_totals.single(units, most=most))
        return self._row(integer_totals.row(units, lanes=self._grid.lanes, most=most))

    def step_lanes(self, units: Any) -> Release:
        """The same step as `step_units`, with a value per lane also if the plan has a statistic.

        `plan.readings` computes the statistic from these values, now or later.
        """
        if self._scalar:
            return self.step_units(units)
        most = self._grid.largest_total
        return self._lanes(integer_totals.row(units, lanes=self._grid.lanes, most=most))

    def run_units(self, units: Any) -> Column:
        """The released values of many steps, closed with int64 units of shape (n,) or (n, lanes).

        The result has the same bits as `step_units`, step by step, with the same noise.
        """
        grid = self._grid
        x = integer_totals.block(units, lanes=grid.lanes, most=grid.largest_total)
        return self._run(x, np.ndim(units))

    def _run(self, x: Signed, dimensions: int) -> Column:
        out = np.empty(x.shape)
        with self._turn.own():
            self._admit(len(x))
            for part in self._engine.chunks(len(x)):
                z = self._engine.noise(self.steps, part.stop - part.start)
                self._take(x[part], z, out[part])
                self._sound = part.stop == len(x)  # steps taken but not returned are lost
        return out[:, 0] if dimensions == 1 else out

    def _single(self, x: int) -> Release:
        turn, engine = self._turn, self._engine
        with turn.own():
            step = engine.steps
            if not (self._sound and turn.taken <= step < self._ahead_until):
                self._prepare()
            at = step - self._ahead_from
            turn.taken = step + 1
            self._sound = False
            value = self._advance(step, x, self._ahead[at], self._integers, self._floats)
            engine.steps = step + 1
            self._sound = True
            return _new(Release, (step + 1, value, self._stddevs[at], None, (), self._errors))

    def _row(self, x: Signed) -> Release:
        release = self._lanes(x)
        if self._grid.statistic is None:
            return release
        from hushfade.public.statistic_release import StatisticRelease

        steps = np.array([release.step], dtype=np.int64)
        lanes = np.asarray(release.value)[None, :]
        readings = self.plan.readings(lanes, steps, np.array([release.stddev]))
        return StatisticRelease.of(readings, self._grid.keys)

    def _lanes(self, x: Signed) -> Release:
        turn, engine = self._turn, self._engine
        with turn.own():
            step = engine.steps
            if not (self._sound and turn.taken <= step < self._ahead_until):
                self._prepare()
            at = step - self._ahead_from
            out = np.empty((1, len(x)))
            self._take(x[None, :], self._ahead[at], out)
            fields = (step + 1, out[0], self._stddevs[at], self._grid.keys, (), self._errors)
        return _new(Release, fields)

    def _take(self, x: Signed, z: Signed, out: Matrix) -> None:
        """Take the next steps, which were admitted.  From here on they count as taken."""
        self._turn.taken = self.steps + len(x)
        self._sound = False
        self._engine.take(x, z, out)
        self._sound = True

    def _admit(self, steps: int) -> None:
        """Raise Refused if this copy must not take the next steps."""
        self._check_sound()
        if self._turn.taken > self.steps:
            raise Refused(
                "another copy of this stream has already released the next step: use that copy"
            )
        horizon = self.plan.horizon
        if horizon is not None and self.steps + steps > horizon:
            raise Refused(
                f"steps must stay within the plan's horizon {horizon}",
                remedy="start a new stream for later records",
            )
        self._turn.remember()

    def _check_sound(self) -> None:
        if not self._sound:
            raise Refused("an earlier step was interrupted: load the last saved state")

    def _prepare(self) -> None:
        """Prepare noise and standard deviations of the next steps, without taking a step."""
        self._admit(1)
        n = min(max(1, AHEAD // self._engine.lanes), (self.plan.horizon or 2**62) - self.steps)
        stddevs = self._deviations.of(self.steps, n)
        z = self._engine.noise(self.steps, n)
        self._ahead = z[:, 0].tolist() if self._scalar else list(z[:, None, :])
        self._stddevs = stddevs
        self._ahead_from, self._ahead_until = self.steps, self.steps + n

    # Saving ----------------------------------------------------------------------------------

    def save(self) -> bytes:
        """The state as bytes, without the noise key.

        It contains raw totals: protect it like the data.
        """
        with self._turn.own():
            self._check_sound()
            self._turn.saved = True
            self._turn.remember()
            return saved_state.packed(self._engine, self._noise, self._identity)

    def trace(self) -> bytes:
        """The totals and the noise of the last step, as bytes.  They are private.

        A saved state and the traces of all later steps restore the stream.  A trace takes 16 bytes
        per lane.  Destroy traces once a newer state is saved, because noise and releases together
        reveal the totals.
        """
        with self._turn.own():
            if not (self._sound and self.steps > self._drawn_from):
                raise Refused("a trace must be of a step that this copy of the stream has taken")
            z = self._engine.noise(self.steps - 1, 1)[0]
            x = self._engine.last_totals()
            return saved_state.packed_trace(self._identity, self.steps, x, z)

    @classmethod
    def load(
        cls,
        data: bytes,
        *,
        plan: Plan | None = None,
        noise: Noise | None = None,
        traces: Iterable[bytes] = (),
    ) -> Stream:
        """The stream that `save` wrote, after the steps of `traces`, which must be in order.

        Raises Refused for another format or version, changed bytes, a plan other than `plan`,
        noise of another kind, key, stream or epoch, and traces whose noise does not match the key.
        It also refuses a state from before the last step that this process has released, because
        its steps would be drawn twice.  `load` cannot know of later states elsewhere; a store
        keeps track of them.
        """
        state = saved_state.read(data)
        if plan is not None and plan.digest != state.plan.digest:
            raise Refused("the saved stream must belong to this plan, but its digest differs")
        source = key_file.checked(noise)
        state.check_noise(source)
        lanes = state.plan.grid.lanes
        since = [saved_state.read_trace(trace, state.identity, lanes) for trace in traces]
        if [trace.step for trace in since] != [state.steps + 1 + i for i in range(len(since))]:
            raise Refused("traces must be of the steps after the saved state, each once, in order")
        after = state.steps + len(since)
        if after > (state.plan.horizon or after):
            raise Refused("traces must stay within the plan's horizon")
        if after < turn_of(state.identity).taken:
            raise Refused(
                "the saved state is older than the last released step: load the latest state"
            )
        stream = cls(state.plan, source, state.identity, state)
        stream._turn.saved = True
        if source.identity["kind"] != "fresh":
            for trace in since:
                if np.any(stream._engine.noise(trace.step - 1, 1)[0] != trace.z):
                    raise Refused("a trace must have the noise that the key gives its step")
        with stream._turn.own():
            for trace in since:
                stream._take(trace.x[None, :], trace.z[None, :], np.empty((1, lanes)))
        stream._drawn_from = stream._ahead_from = stream._ahead_until = stream.steps
        return stream

    def __repr__(self) -> str:
        return f"Stream(steps={self.steps}, plan={self.plan.digest.hex()[:12]})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("a stream cannot be pickled: use save and load")
