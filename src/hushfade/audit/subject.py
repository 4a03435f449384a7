"""Subject: the implementation under audit, as the few methods that the audit calls.

hushfade itself is a `Subject`.  lab/audits/seeded_bugs contains subjects with one deliberate bug
each, to show that the audit detects it.
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
        """The release of the next step, from its records."""

    def step_total(self, total: Any) -> Release:
        """The release of the next step, from its total."""

    def run(self, totals: Any) -> Column:
        """The releases of many steps, from their totals."""

    def step_units(self, units: Any) -> Release:
        """The release of the next step, from its total in units."""

    def run_units(self, units: Any) -> Column:
        """The releases of many steps, from their totals in units."""

    def save(self) -> bytes:
        """The saved state."""

    def trace(self) -> bytes:
        """The part of the state that the last step added."""


class Subject:
    """The implementation under audit.  Tests override its methods."""

    name = "hushfade"

    def plan(self, promised: Plan) -> Plan:
        """The plan that the implementation follows when it promises this one."""
        return promised

    def start(self, plan: Plan, noise: NoiseSource | None) -> Live:
        """A new stream; None means fresh noise."""
        return plan.start(noise)

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The stream restored from a saved state and the traces of later steps."""
        return Stream.load(data, noise=noise, traces=traces)

    def bound(self, noise: NoiseSource, digest: bytes) -> Drawer:
        """The noise source, bound to one plan."""
        return noise.bound(digest)

    def elsewhere(self, plan: Plan, key: bytes, stream: str, totals: Matrix) -> Column:
        """The flat releases of a second process with keyed noise."""
        return elsewhere(plan, key, stream, totals)


def as_total(plan: Plan, row: NDArray[Any]) -> Any:
    """A step's totals per lane in the form that a stream accepts: a number for a scalar plan."""
    return row.item() if plan.grid.scalar else row


DOORS = ("run", "step_total", "step", "run_units", "step_units")
"""The methods that close the steps of a stream."""


def doors(plan: Plan, stream: Live) -> dict[str, Callable[[], Any]]:
    """Every way to close the next step of the stream, with no records."""
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
    """Every way to close the next step after a saved state; each way loads the state again."""

    def close(door: str) -> None:
        doors(plan, subject.load(state, noise))[door]()

    return {door: partial(close, door) for door in DOORS}


def taken(ways: Mapping[str, Callable[[], Any]]) -> list[str]:
    """The ways that released something.  A way that raises an error released nothing."""
    return [name for name, work in ways.items() if _released(work)]


def refuses(work: Callable[[], Any]) -> bool:
    """True if the call raises one of hushfade's errors."""
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
