"""The subject and the stream that every seeded bug starts from, and the plans that bugs break."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushfade import (
    Exponential,
    Guarantee,
    KeyedNoise,
    NoDecay,
    Person,
    Plan,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.audit import TINY, Size, Subject
from hushfade.audit.second_process import single
from hushfade.audit.subject import Live
from hushfade.check import Column, Matrix, Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.sampling_tables import Table
from hushfade.public.deviations import Deviations
from hushfade.public.release import Release

ONE = Guarantee(1, 1e-6)
DAY = Exponential(half_life=8)
# Gaussian noise on the square root, as in the paper
SINGLE = plan(DAY, ONE, method="square_root")
KEYED = plan(DAY, ONE, keys=["at", "ch", "de"], method="square_root")
TEN = plan(DAY, ONE, keys=[f"key {place}" for place in range(10)], method="square_root")
VECTORS = plan(Exponential(half_life=3), ONE, width=3, norm=1.0)
SYMMETRIC = plan(DAY, ONE, low=-1, high=1, method="square_root")
SWAPPED = plan(
    PowerLaw(power=1),
    Guarantee(1, 1e-6, neighbours="replace"),
    low=-1,
    high=2,
    method="square_root",
)
OFTEN = plan(DAY, Guarantee(1, 1e-6, protects=Person(steps=3, apart=4)), method="square_root")
CROWDED = plan(DAY, Guarantee(1, 1e-6, protects=Person(records_per_step=3)), method="square_root")
ENDING = plan(NoDecay(), ONE, horizon=48, method="square_root")
# other laws
LAPLACE = plan(SlidingWindow(length=7), ONE, law="laplace")
HUBER = plan(Exponential(half_life=24), ONE, method="blend")
BLOCKS = plan(NoDecay(), Guarantee(epsilon=1, delta=0), horizon=64)
MOVED = plan(
    Exponential(half_life=24),
    Guarantee(1, 1e-6, neighbours="replace"),
    keys=["at", "ch"],
    method="blend",
)
COUNTS = plan(SlidingWindow(length=7), Guarantee(1, 0), resolution=1.0)

ChangeDraws = Callable[[Signed, int], Signed]
"""From draws and their first step to the draws that are used."""


@dataclass(frozen=True)
class Bug:
    """A subject, the plan that it breaks, and the sample sizes that detect the bug."""

    subject: Subject
    plan: Plan
    size: Size = TINY


class Seeded(Subject):
    """A subject whose streams all have the same bug, loaded streams too.

    Without an override of `wrong` it has no bug.  Its second process is this process, so that the
    audit detects the bug itself, and not its absence in the second process.
    """

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """The stream with the bug."""
        return stream

    def start(self, plan: Plan, noise: NoiseSource | None) -> Live:
        """A wrong stream at step 0."""
        stream: Live = self.wrong(plan.start(noise), plan, noise)
        return stream

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The wrong stream of a saved state."""
        stream: Any = super().load(data, noise, traces)
        loaded: Live = self.wrong(stream, stream.plan, noise)
        return loaded

    def elsewhere(self, plan: Plan, key: bytes, stream: str, totals: Matrix) -> Column:
        """The releases of this process under keyed noise."""
        return single(plan, self.start(plan, KeyedNoise(key, stream=stream)), totals)


class Proxy:
    """A stream of which a subclass overrides some methods; `step_total` calls `run`."""

    def __init__(self, stream: Any, plan: Plan) -> None:
        self.stream, self.plan = stream, plan
        self._deviations = Deviations(plan)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def step_total(self, total: Any) -> Release:
        """Close a step by `run`."""
        row = np.asarray(self.run(np.reshape(np.asarray(total, dtype=float), (1, -1))))[0]
        return Release(
            self.stream.steps,
            row if len(row) > 1 else float(row[0]),
            self._deviations.of(self.stream.steps - 1, 1)[0],
        )


class ChangedDrawer:
    """A drawer whose draws pass through a function."""

    def __init__(self, drawer: Any, change: ChangeDraws) -> None:
        self.drawer, self.change = drawer, change

    def draws(self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """The changed draws."""
        return self.change(self.drawer.draws(law, step, steps, lanes, lane=lane), step)


def first_lane_for_all(z: Signed, step: int) -> Signed:
    """Every lane has the noise of the first."""
    return np.repeat(z[:, :1], z.shape[1], axis=1)
