"""A seeded bug: the true sum and the noise are each exact, and then added as floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hushfade import Plan, UnsafeSeededNoise
from hushfade.audit.subject import Live
from hushfade.check import Column
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.public.release import Release
from lab.audits.seeded_bugs.subjects import SINGLE, Bug, ChangedDrawer, Proxy, Seeded


class Added(Proxy):
    """A stream of M x without noise, plus a stream of L z without records."""

    def __init__(self, truth: Any, noise: Any) -> None:
        super().__init__(truth, truth.plan)
        drawer = truth._engine.drawer
        truth._engine.drawer = ChangedDrawer(drawer, lambda z, step: 0 * z)
        self.noise = noise

    def step(self, records: Any = ()) -> Release:
        """Close a step with its records."""
        return self._plus_noise(self.stream.step(records))

    def step_total(self, total: Any) -> Release:
        """Close a step with its total."""
        return self._plus_noise(self.stream.step_total(total))

    def run(self, totals: Any) -> Column:
        """Close many steps."""
        return np.asarray(self.stream.run(totals) + self.noise.run(np.zeros(np.shape(totals))))

    def step_units(self, units: Any) -> Release:
        """Close a step with its total in units."""
        return self._plus_noise(self.stream.step_units(units))

    def run_units(self, units: Any) -> Column:
        """Close many steps with totals in units."""
        return np.asarray(self.stream.run_units(units) + self.noise.run(np.zeros(np.shape(units))))

    def save(self) -> bytes:
        """Both states."""
        return _joined(self.stream.save(), self.noise.save())

    def trace(self) -> bytes:
        """The parts that the last step added to both states."""
        return _joined(self.stream.trace(), self.noise.trace())

    def _plus_noise(self, release: Release) -> Release:
        return release._replace(value=release.value + self.noise.step().value)


class Adding(Seeded):
    """The values that cross are right, but the rounding of a release reveals the true sum."""

    none = UnsafeSeededNoise(0)

    def start(self, plan: Plan, noise: NoiseSource | None) -> Live:
        """A stream at step 0."""
        added: Any = Added(plan.start(self.none), plan.start(noise))
        stream: Live = added
        return stream

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The stream of both states."""
        truth, drawn = _parted(data)
        pairs = [_parted(trace) for trace in traces]
        right = Seeded().load
        added: Any = Added(
            right(truth, self.none, [trace for trace, _ in pairs]),
            right(drawn, noise, [trace for _, trace in pairs]),
        )
        stream: Live = added
        return stream


def _joined(one: bytes, other: bytes) -> bytes:
    return len(one).to_bytes(8, "little") + one + other


def _parted(data: bytes) -> tuple[bytes, bytes]:
    end = 8 + int.from_bytes(data[:8], "little")
    return data[8:end], data[end:]


BUGS: dict[str, Bug] = {"true sum and noise added as floats": Bug(Adding(), SINGLE)}
