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
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hushfade import gaussian
from hushfade.check import Column, Signed
from hushfade.errors import InvalidType, Refused
from hushfade.noise import FreshNoise, NoiseSource
from hushfade.recursion import recursion
from hushfade.release import Release
from hushfade.taps import IntegerTaps

if TYPE_CHECKING:
    from hushfade.advance import Packed
    from hushfade.plan import Plan

_AHEAD = 1 << 10  # draws made in one go for single steps

_claims: dict[bytes, int] = {}  # the last step that this process has drawn for, by stream
_claiming = Lock()


class Stream:
    """A stream between two steps.  `steps` counts those released; `load` and `begin` make it.

    A step is drawn once: threads take turns, a second copy loaded from the same state is refused
    once the first has gone on, and a forked child, which would draw for its parent's steps, too.
    """

    __slots__ = (
        "_ahead", "_ahead_from", "_drawer", "_errors", "_identity", "_kernels", "_keys", "_law",
        "_packed", "_process", "_scalar", "_sound", "_source", "_turn", "plan", "steps",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        noise: NoiseSource | None,
        identity: bytes,
        steps: int,
        state: tuple[Signed, Column] | None,
    ) -> None:
        from hushfade import advance

        source = FreshNoise() if noise is None else noise
        if not hasattr(source, "bound"):
            raise InvalidType(f"noise must be a noise source, got {type(noise).__name__}")
        self.plan = plan
        self.steps = steps
        self._identity = identity
        self._kernels = advance  # compiled, loaded when the first stream is made
        self._packed = blank(plan)
        if state is not None:
            self._packed = self._packed._replace(integers=state[0], floats=state[1])
        self._scalar = plan.intake.scalar
        self._law = gaussian.table(plan.sigma)
        self._drawer = source.bound(plan.digest)
        self._source = repr(source)
        self._ahead = np.empty((0, plan.intake.lanes), dtype=np.int64)
        self._ahead_from = 0
        self._errors = Errors(plan)
        self._keys = plan.intake.keys
        self._process = os.getpid()
        self._sound = True
        self._turn = Lock()

    @classmethod
    def begin(cls, plan: Plan, noise: NoiseSource | None = None) -> Stream:
        """A stream at step 0."""
        return cls(plan, noise, os.urandom(16), 0, None)

    # Stepping --------------------------------------------------------------------------------

    def step(self, records: Any = ()) -> Release:
        """Close a step with its records, each clipped to the plan's bounds: a number or many;
        with keys a mapping from key to number or many; or vectors, one a row."""
        return self._single(self.plan.intake.records(records))

    def step_total(self, total: Any) -> Release:
        """Close a step with its total, summed by a caller who clipped and quantised each record."""
        return self._single(self.plan.intake.totals(total))

    def run(self, totals: Any) -> Column:
        """Close many steps: totals (n,) or (n, lanes) in, released values of the same shape out.

        The same bits as step by step under the same noise.
        """
        x = self.plan.intake.block(totals)
        out = np.empty(x.shape)
        with self._own():
            self._admit(len(x))
            z = self._claimed(len(x), lambda: self._drawer.draws(self._law, self.steps, *x.shape))
            self._kernels.advance(self.steps, x, z, *self._packed, out)
            self.steps += len(x)
            self._sound = True
        return out[:, 0] if np.ndim(totals) == 1 else out

    def _single(self, totals: list[int]) -> Release:
        value: float | Column
        with self._own():
            self._admit(1)
            deviation = self._errors.at(self.steps)  # before anything is taken
            z = self._claimed(1, self._next_noise)
            if self._scalar:
                value = self._kernels.advance_single(
                    self.steps, totals[0], int(z[0]), *self._packed
                )
            else:
                out = np.empty((1, len(totals)))
                self._kernels.advance(
                    self.steps, np.array([totals]), z[None, :], *self._packed, out
                )
                value = out[0]
            self.steps += 1
            self._sound = True
            return Release(self.steps, value, deviation, self._keys)

    def _own(self) -> Lock:
        """The lock under which a step is taken; never waited for by a forked child."""
        if os.getpid() != self._process:
            raise Refused("a stream must stay in the process that started or loaded it")
        return self._turn

    def _admit(self, steps: int) -> None:
        if not self._sound:
            raise Refused("an earlier step was interrupted: load the last saved state")
        horizon = self.plan.horizon
        if horizon is not None and self.steps + steps > horizon:
            raise Refused(f"steps must stay within the plan's horizon {horizon}")

    def _claimed(self, steps: int, draw: Callable[[], Signed]) -> Signed:
        """The noise of the next steps, which are this copy's own from here on."""
        with _claiming:
            before = _claims.get(self._identity, 0)
            if before > self.steps:
                raise Refused("another copy of this stream has released the next step already")
            _claims[self._identity] = self.steps + steps
        try:
            z = draw()
        except BaseException:  # nothing was drawn that anyone saw: the steps are free again
            _claims[self._identity] = before
            raise
        self._sound = False  # until the steps are taken
        return z

    def _next_noise(self) -> Signed:
        at = self.steps - self._ahead_from
        if not 0 <= at < len(self._ahead):
            lanes = self.plan.intake.lanes
            self._ahead = self._drawer.draws(self._law, self.steps, max(1, _AHEAD // lanes), lanes)
            self._ahead_from, at = self.steps, 0
        found: Signed = self._ahead[at]
        return found

    # Saving ----------------------------------------------------------------------------------

    def save(self) -> bytes:
        """The whole state but the noise's key.  It contains raw totals: keep it as the data."""
        from hushfade import savefile

        with self._own():
            if not self._sound:
                raise Refused("an earlier step was interrupted: load the last saved state")
            return savefile.written(
                self.plan, self._source, self._identity, self.steps, self._packed
            )

    @classmethod
    def load(
        cls, data: bytes, *, plan: Plan | None = None, noise: NoiseSource | None = None
    ) -> Stream:
        """The stream that `save` wrote.

        Refused: another format or version, changed bytes, another plan than `plan`, another kind of
        noise, and a state older than what this process has released, since its steps would be drawn
        twice.  That a later state exists elsewhere cannot be seen from here: a store keeps that.
        """
        from hushfade import savefile

        found = savefile.read(data)
        if plan is not None and plan.digest != found.plan.digest:
            raise Refused("the saved stream must belong to this plan, but has another digest")
        source = FreshNoise() if noise is None else noise
        if repr(source) != found.source:
            raise Refused(f"noise must be {found.source}, as it was when the stream was saved")
        if found.steps < _claims.get(found.identity, 0):
            raise Refused("the saved state must not be older than what was released since")
        return cls(found.plan, source, found.identity, found.steps, found.state)

    def __repr__(self) -> str:
        return f"Stream(steps={self.steps}, plan={self.plan.digest.hex()[:12]})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("a stream cannot be pickled: use save and load")


class Errors:
    """The error's standard deviation at one step after the other, in constant memory.

    stddev_t = noise_stddev · √(Σ_{k≤t} l_k²), where l is the public half's answer to a single 1:
    its own kernel computes it, a block at a time.  With a gain the plan's table serves.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._packed = blank(plan, lanes=1)
        self._from, self._known = 0, np.empty(0)
        self._energy = 0.0

    def at(self, taken: int) -> float:
        """The standard deviation of the release after `taken` steps.  Cost: 0.1 µs a step."""
        while not self._from <= taken < self._from + len(self._known):
            self._next(taken)
        return float(self._known[taken - self._from])

    def _next(self, taken: int) -> None:
        from hushfade.advance import advance

        if self._plan.pair.gain is not None:
            assert self._plan.horizon is not None
            self._known = self._plan.stddevs(self._plan.horizon)
            return
        start = self._from + len(self._known)
        if taken < start:  # only a stream that is loaded again goes back
            self._packed, self._energy, start = blank(self._plan, lanes=1), 0.0, 0
        n = min(_AHEAD, (self._plan.horizon or 2**62) - start)
        z = np.zeros((n, 1), dtype=np.int64)
        z[0, 0] = start == 0
        answer = np.empty((n, 1))
        advance(start, np.zeros_like(z), z, *self._packed, answer)
        energy = self._energy + np.cumsum((answer[:, 0] / self._plan.unit) ** 2)
        self._energy = float(energy[-1])
        self._from, self._known = start, self._plan.noise_stddev * np.sqrt(energy)


def blank(plan: Plan, lanes: int | None = None) -> Packed:
    """The state before the first step."""
    from hushfade.advance import BLOCK, Constants, packed

    taps = plan.pair.taps
    assert isinstance(taps, IntegerTaps)
    edges = np.diff(taps.integers, prepend=0, append=0)
    lags = taps.jumps[taps.jumps < (plan.horizon or np.iinfo(np.int64).max)][::-1]
    gain = np.empty(0) if plan.pair.gain is None else np.ldexp(plan.pair.gain, taps.bits)
    found = recursion(plan.decay)
    resolution = plan.intake.resolution  # u = y / r̃ is in its units
    constants = Constants(
        lags,
        edges[lags],
        gain.astype(np.int64),
        np.array(found.windows, dtype=np.int64),
        edges[lags].astype(np.float64),
        np.array(found.fades),
        np.array(found.pole_weights) * resolution,
        np.array(found.window_weights) * resolution,
        np.array(found.listed) * resolution,
    )
    past = 1 << int(taps.support + BLOCK).bit_length()
    seen = 1 << int(max(taps.support, found.memory) + BLOCK).bit_length()
    return packed(constants, past, seen, lanes or plan.intake.lanes)
