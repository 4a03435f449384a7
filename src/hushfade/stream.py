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

_claimed: dict[bytes, int] = {}  # the last step that this process has drawn for, by stream
_claiming = Lock()


class Stream:
    """A stream between two steps.  `steps` counts those released; `load` and `begin` make it.

    A step is drawn once: threads take turns, a second copy loaded from the same state is refused
    once the first has gone on, and a forked child, which would draw for its parent's steps, too.
    """

    __slots__ = (
        "_ahead", "_ahead_from", "_deviations", "_drawer", "_identity", "_kernels", "_law",
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
        self._deviations = np.empty(0)
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
            self._claim(len(x))
            z = self._drawer.draws(self._law, self.steps, *x.shape)
            self._kernels.advance(self.steps, x, z, *self._packed, out)
            self.steps += len(x)
            self._sound = True
        return out[:, 0] if np.ndim(totals) == 1 else out

    def _single(self, totals: list[int]) -> Release:
        value: float | Column
        with self._own():
            self._claim(1)
            z = self._next_noise()
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
            return Release(self.steps, value, self._deviation(), self.plan.intake.keys)

    def _own(self) -> Lock:
        """The lock under which a step is taken; never waited for by a forked child."""
        if os.getpid() != self._process:
            raise Refused("a stream must stay in the process that started or loaded it")
        return self._turn

    def _claim(self, steps: int) -> None:
        """Make the next steps this copy's own, before their noise is drawn."""
        if not self._sound:
            raise Refused("an earlier step was interrupted: load the last saved state")
        horizon = self.plan.horizon
        if horizon is not None and self.steps + steps > horizon:
            raise Refused(f"steps must stay within the plan's horizon {horizon}")
        with _claiming:
            if _claimed.get(self._identity, 0) > self.steps:
                raise Refused("another copy of this stream has released the next step already")
            _claimed[self._identity] = self.steps + steps
        self._sound = False  # until they are taken

    def _next_noise(self) -> Signed:
        at = self.steps - self._ahead_from
        if not 0 <= at < len(self._ahead):
            lanes = self.plan.intake.lanes
            self._ahead = self._drawer.draws(self._law, self.steps, max(1, _AHEAD // lanes), lanes)
            self._ahead_from, at = self.steps, 0
        found: Signed = self._ahead[at]
        return found

    def _deviation(self) -> float:
        known = self._deviations
        if self.steps <= len(known):
            return float(known[self.steps - 1])
        if len(known) and known[-1] <= known[len(known) // 2] * (1 + 1e-5):
            return float(known[-1])  # it has reached its limit, to 1e-5
        n = max(4096, 4 * self.steps)
        self._deviations = self.plan.stddevs(min(n, self.plan.horizon or n))
        return float(self._deviations[self.steps - 1])

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
        if found.steps < _claimed.get(found.identity, 0):
            raise Refused("the saved state must not be older than what was released since")
        return cls(found.plan, source, found.identity, found.steps, found.state)

    def __repr__(self) -> str:
        return f"Stream(steps={self.steps}, plan={self.plan.digest.hex()[:12]})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("a stream cannot be pickled: use save and load")


def blank(plan: Plan) -> Packed:
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
    return packed(constants, past, seen, plan.intake.lanes)
