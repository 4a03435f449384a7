"""A range of a plan's lanes, as a function: saved state and totals in, state and releases out.

    part = Part(Mechanism.of(plan), first=100, lanes=50)      # travels to a worker
    running = part.resumed(noise, saved)                      # saved: bytes, or None at step 0
    values = running.run(totals)                              # (steps, lanes), integers of the grid
    saved = running.save()

Noise belongs to (plan, step, lane), so any cut of a plan's lanes into parts gives the bits of the
whole.  Unlike a `Stream`, a part may be run again from an older state: engines do that.  It is safe
with noise that is drawn again as it was, for the same totals, and refused with any other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check
from hushfade.check import Matrix, Signed
from hushfade.crossing.laws import gaussian
from hushfade.crossing.noise_sources import KeyedNoise, NoiseSource, UnsafeSeededNoise
from hushfade.errors import InvalidType, InvalidValue, Refused
from hushfade.planning.cost import CHUNK
from hushfade.planning.plan import Plan
from hushfade.stream.stream import Errors

if TYPE_CHECKING:
    from hushfade.crossing.step import Memory

MAGIC = b"hushfade part 1\n"
_DIGEST = 32


@dataclass(frozen=True)
class Mechanism:
    """A plan on its way to a worker: without its keys, which may be many, but with its digest."""

    document: str  # of the plan with the first key alone
    digest: bytes  # of the whole plan: the noise is bound to it
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
        """The plan with the first key alone: factors, grid and sigma are those of the whole."""
        return _read(self.document)

    def stddevs(self, taken: int, steps: int) -> list[float]:
        """The standard deviations of so many releases after `taken` steps."""
        return _errors(self.document).of(taken, steps)


@lru_cache(maxsize=16)
def _read(document: str) -> Plan:
    return Plan.from_json(document)


@lru_cache(maxsize=16)
def _errors(document: str) -> Errors:
    return Errors(_read(document))


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
        """The part at step 0, or where it was saved."""
        return Running(self, noise, saved)


class Running:
    """A part between two steps.  `steps` counts those that it has released."""

    def __init__(self, part: Part, noise: NoiseSource, saved: bytes | None) -> None:
        from hushfade.crossing import memory

        if not isinstance(noise, KeyedNoise | UnsafeSeededNoise):
            raise InvalidType(
                "noise must be keyed where a task may run again: fresh noise would be drawn twice "
                "for one step",
                got=type(noise).__name__,
            )
        self.part = part
        self.steps = 0
        plan = part.mechanism.plan
        self._plan = plan
        self._bond = _bond(part, noise)
        self._law = gaussian.table(plan.sigma)
        self._drawer = noise.bound(part.mechanism.digest)
        self._memory: Memory = memory.blank(plan, part.lanes)
        if saved is not None:
            self._load(saved)

    def run(self, totals: Signed) -> Matrix:
        """The next steps: their totals (n, lanes) on the grid in, released values out."""
        from hushfade.crossing import step

        x = np.ascontiguousarray(totals)
        if x.dtype != np.int64 or x.ndim != 2 or x.shape[1] != self.part.lanes:
            raise InvalidValue(f"totals must be integers (n, {self.part.lanes})", got=x.shape)
        most = self._plan.grid.largest_total
        if x.size and not (int(x.max()) <= most and int(x.min()) >= -most):
            raise InvalidValue("the step's total must stay below the plan's largest_total")
        horizon = self._plan.horizon
        if horizon is not None and self.steps + len(x) > horizon:
            raise Refused(f"steps must stay within the plan's horizon {horizon}")
        out = np.empty(x.shape)
        rows = max(1, CHUNK // x.shape[1])
        for start in range(0, len(x), rows):
            block, into = x[start : start + rows], out[start : start + rows]
            z = self._drawer.draws(self._law, self.steps, *block.shape, lane=self.part.first)
            if block.shape[1] == 1:
                step.advance_block(self.steps, block[:, 0], z[:, 0], *self._memory, into[:, 0])
            else:
                step.advance_lanes(self.steps, 0, block.shape[1], block, z, *self._memory, into)
            self.steps += len(block)
        return out

    def save(self) -> bytes:
        """The state.  It contains raw totals: keep it as the data."""
        from hushfade.crossing import memory

        lengths = memory.lengths(self._plan, self.steps, self.part.lanes)
        arrays = [
            part[:length].astype(kind).tobytes()
            for part, length, kind in zip(self._memory.state, lengths, ("<i8", "<f8"), strict=True)
        ]
        body = MAGIC + self._bond + self.steps.to_bytes(8, "little") + b"".join(arrays)
        return body + hashlib.sha256(body).digest()

    def _load(self, saved: bytes) -> None:
        from hushfade.crossing import memory

        if not saved.startswith(MAGIC) or hashlib.sha256(saved[:-32]).digest() != saved[-32:]:
            raise Refused("the saved part must be whole and of format 'hushfade part 1'")
        at = len(MAGIC) + _DIGEST
        if saved[len(MAGIC) : at] != self._bond:
            raise Refused(
                "the saved part must be of this plan, these lanes and this noise: something of "
                "them has changed since"
            )
        self.steps = int.from_bytes(saved[at : at + 8], "little")
        lengths = memory.lengths(self._plan, self.steps, self.part.lanes)
        if len(saved) != at + 8 + 8 * sum(lengths) + 32:
            raise Refused("the saved part must have the arrays of its plan")
        places = (at + 8, at + 8 + 8 * lengths[0])
        for into, length, kind, place in zip(
            self._memory.state, lengths, ("<i8", "<f8"), places, strict=True
        ):
            into[:length] = np.frombuffer(saved, dtype=kind, count=length, offset=place)

    def __repr__(self) -> str:
        return f"Running(steps={self.steps}, first={self.part.first}, lanes={self.part.lanes})"


def _bond(part: Part, noise: KeyedNoise | UnsafeSeededNoise) -> bytes:
    """A digest of what a state belongs to: plan, lanes, noise; no secret."""
    mark = noise.fingerprint if isinstance(noise, KeyedNoise) else b""
    said = f"{part.mechanism.digest.hex()} {part.first} {part.lanes} {mark.hex()} {noise!r}"
    return hashlib.sha256(said.encode()).digest()
