"""A range of a plan's lanes as a function, from saved state and totals to state and releases.

    part = Part(Mechanism.of(plan), first=100, lanes=50)      # can be sent to a worker
    running = part.resumed(noise, saved)                      # saved: bytes, or None at step 0
    values = running.run(totals)                              # (steps, lanes), integers of the grid
    saved = running.save()

The noise is a function of (plan, step, lane), so any division of a plan's lanes into parts gives
the bits of the whole.  Unlike a `Stream`, a part may run again from an older state, as engines do.
This is safe for the same totals if the noise can be drawn again.  Other noise is rejected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hushfade import check
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import KeyedNoise, NoiseSource, UnsafeSeededNoise
from hushfade.errors import InvalidType, Refused
from hushfade.planning.plan import Plan
from hushfade.private import integer_totals
from hushfade.public.deviations import Deviations
from hushfade.stream import binary_container as container
from hushfade.stream.engine import Engine

MAGIC = b"hushfade part draft\n"
_PART = "the saved part"
_OTHER = (
    "the saved part must have this plan, these lanes and this noise: one of them has changed since"
)


@dataclass(frozen=True)
class Mechanism:
    """A plan to send to a worker: without its keys, which may be many, but with its digest."""

    document: str  # the plan with the first key alone
    digest: bytes  # the digest of the whole plan, to which the noise is bound
    lanes: int

    @classmethod
    def of(cls, plan: Plan) -> Mechanism:
        """The plan's mechanism."""
        lanes, grid = plan.grid.lanes, plan.grid
        if plan.keys is not None:
            grid = replace(grid, keys=plan.keys[:1])
        return cls(replace(plan, grid=grid).to_json(), plan.digest, lanes)

    @property
    def plan(self) -> Plan:
        """The plan with the first key alone; factors, grid and noise equal those in the whole."""
        return _read(self.document)

    def stddevs(self, taken: int, steps: int) -> list[float]:
        """The standard deviations of the `steps` releases after the first `taken`."""
        return _deviations(self.document).of(taken, steps)


@lru_cache(maxsize=16)
def _read(document: str) -> Plan:
    return Plan.from_json(document)


@lru_cache(maxsize=16)
def _deviations(document: str) -> Deviations:
    return Deviations(_read(document))


@dataclass(frozen=True)
class Part:
    """Lanes `first`, ..., `first + lanes - 1` of a mechanism."""

    mechanism: Mechanism
    first: int
    lanes: int

    def __post_init__(self) -> None:
        check.count(first=self.first, least=0)
        check.count(lanes=self.lanes, most=self.mechanism.lanes - self.first)

    def resumed(self, noise: NoiseSource, saved: bytes | None = None) -> Running:
        """The part at step 0, or at the step at which it was saved."""
        return Running(self, noise, saved)


class Running:
    """A running part, between two steps."""

    def __init__(self, part: Part, noise: NoiseSource, saved: bytes | None) -> None:
        if not isinstance(noise, KeyedNoise | UnsafeSeededNoise):
            raise InvalidType(
                "noise must be keyed if a task may run again: fresh noise would be drawn twice "
                "for one step",
                got=type(noise).__name__,
            )
        mechanism = part.mechanism
        self.part = part
        self._engine = Engine(
            mechanism.plan, noise.bound(mechanism.digest), first=part.first, lanes=part.lanes
        )
        self._owner = {  # not secret
            "plan": mechanism.digest.hex(),
            "first": part.first,
            "lanes": part.lanes,
            "noise": noise.identity,
        }
        if saved is not None:
            self._load(saved)

    @property
    def steps(self) -> int:
        """The number of released steps."""
        return self._engine.steps

    def run(self, totals: Signed) -> Matrix:
        """The released values of the next steps, from integer totals (n, lanes) on the grid."""
        plan, engine = self._engine.plan, self._engine
        x = integer_totals.block(totals, lanes=self.part.lanes, most=plan.grid.largest_total)
        if plan.horizon is not None and self.steps + len(x) > plan.horizon:
            raise Refused(
                f"steps must stay within the plan's horizon {plan.horizon}",
                remedy="start a new stream for later records",
            )
        out = np.empty(x.shape)
        for rows in engine.chunks(len(x)):
            engine.take(x[rows], engine.noise(self.steps, rows.stop - rows.start), out[rows])
        return out

    def save(self) -> bytes:
        """The state as bytes.  It contains raw totals: protect it like the data."""
        header = {**self._owner, "steps": self.steps}
        return container.packed(MAGIC, header, self._engine.state())

    def _load(self, saved: bytes) -> None:
        frame = container.opened(saved, MAGIC, _PART)
        if any(frame.header.get(name) != value for name, value in self._owner.items()):
            raise Refused(_OTHER)
        most = self._engine.plan.horizon or container.MOST_STEPS
        steps = check.count(steps=frame.header.get("steps"), least=0, most=most)
        lengths = self._engine.lengths(steps)
        listed = [["<i8", lengths[0]], ["<f8", lengths[1]]]
        integers, floats = container.split(frame.body, listed, ("<i8", "<f8"), _PART)
        self._engine.restore(steps, integers, floats)

    def __repr__(self) -> str:
        return f"Running(steps={self.steps}, first={self.part.first}, lanes={self.part.lanes})"
