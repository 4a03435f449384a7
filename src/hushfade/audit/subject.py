"""Subject: what is audited, as the few methods that the audit calls.

hushfade itself is a `Subject`.  dev/audits/seeded_bugs has others, each with one thing wrong in one
of these methods, to show that the audit notices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushfade.audit.second_process import elsewhere
from hushfade.check import Column, Matrix
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.random_bits import Drawer
from hushfade.errors import HushfadeError
from hushfade.planning.plan import Plan
from hushfade.public.release import Release
from hushfade.stream.stream import Stream


class Live(Protocol):
    """A stream, as far as the audit uses it."""

    @property
    def steps(self) -> int:
        """The number of released steps."""

    def step(self, records: Any = ()) -> Release:
        """Close a step with its records."""

    def step_total(self, total: Any) -> Release:
        """Close a step with its total."""

    def run(self, totals: Any) -> Column:
        """Close many steps."""

    def step_units(self, units: Any) -> Release:
        """Close a step with its total in units."""

    def run_units(self, units: Any) -> Column:
        """Close many steps, with their totals in units."""

    def save(self) -> bytes:
        """The state."""

    def trace(self) -> bytes:
        """What the last step added to the state."""


class Subject:
    """The implementation under audit: hushfade, by methods that a test can override."""

    name = "hushfade"

    def plan(self, promised: Plan) -> Plan:
        """The plan that is followed where this one was promised."""
        return promised

    def start(self, plan: Plan, noise: NoiseSource | None) -> Live:
        """A stream at step 0; fresh noise for None."""
        return plan.start(noise)

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The stream of a saved state, after the steps whose traces are given."""
        return Stream.load(data, noise=noise, traces=traces)

    def bound(self, noise: NoiseSource, digest: bytes) -> Drawer:
        """The noise of one plan."""
        return noise.bound(digest)

    def elsewhere(self, plan: Plan, key: bytes, stream: str, totals: Matrix) -> Column:
        """What a second process releases under keyed noise, flat."""
        return elsewhere(plan, key, stream, totals)


def as_total(plan: Plan, row: NDArray[Any]) -> Any:
    """A step's totals by lane as a stream takes them: a number where a release is one number."""
    return row.item() if plan.grid.scalar else row


DOORS = ("run", "step_total", "step", "run_units", "step_units")
"""The methods by which a stream closes steps."""


def doors(plan: Plan, stream: Live) -> dict[str, Callable[[], Any]]:
    """Every way to close one more step of the stream, an empty one."""
    lanes, scalar = plan.grid.lanes, plan.grid.scalar
    units = np.zeros(lanes, dtype=np.int64)
    return {
        "run": lambda: stream.run(np.zeros((1, lanes))),
        "step_total": lambda: stream.step_total(0.0 if scalar else np.zeros(lanes)),
        "step": stream.step,
        "run_units": lambda: stream.run_units(units[None, :]),
        "step_units": lambda: stream.step_units(0 if scalar else units),
    }


def reloaded(
    subject: Subject, plan: Plan, state: bytes, noise: NoiseSource | None
) -> dict[str, Callable[[], Any]]:
    """Every way to close one more step of the stream of a saved state, loaded anew for each."""

    def close(door: str) -> None:
        doors(plan, subject.load(state, noise))[door]()

    return {door: partial(close, door) for door in DOORS}


def taken(ways: Mapping[str, Callable[[], Any]]) -> list[str]:
    """The ways that released something.  What breaks down has released nothing."""
    return [name for name, work in ways.items() if _released(work)]


def refuses(work: Callable[[], Any]) -> bool:
    """Does hushfade refuse it with an error of its own?"""
    try:
        work()
    except HushfadeError:
        return True
    return False


def _released(work: Callable[[], Any]) -> bool:
    try:
        work()
    except Exception:
        return False
    return True
