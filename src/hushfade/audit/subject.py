"""Subject: the implementation under audit, as the few functions that the audit calls.

hushfade itself is a `Subject`.  A subject with one changed function has a bug, which the audit must
detect.  Streams with `ChosenNoise` show the mechanism without statistics:

    s = L (R̃ x + z): totals x with noise z release the same bits as no totals with noise z + R̃ x

L is public and invertible, so whoever sees releases knows y = R̃ x + z, and so does the audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property, lru_cache
from multiprocessing import get_context
from typing import Any

import numpy as np

from hushfade.audit.findings import Chance, Size
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import KeyedNoise, NoiseSource
from hushfade.crossing.sampling_tables import table
from hushfade.factors.block_factors import BlockSums
from hushfade.planning.plan import Plan
from hushfade.public.statistic_release import StatisticRelease
from hushfade.stream.stream import Stream

DOORS = ("run_units", "run", "step_units", "step_total")
"""The methods that close steps with totals; `step` closes a step with records."""


class Subject:
    """The implementation under audit.  A seeded bug overrides one method."""

    def plan(self, promised: Plan) -> Plan:
        """The plan that the implementation follows when it promises this one."""
        return promised

    def start(self, plan: Plan, noise: NoiseSource | None) -> Any:
        """A new stream; None means fresh noise."""
        return plan.start(noise)

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Any:
        """The stream of a saved state and the traces of later steps."""
        return Stream.load(data, noise=noise, traces=traces)

    def draws(self, plan: Plan, noise: NoiseSource, step: int, lane: int, count: int) -> Signed:
        """Noise of the plan in `count` steps from `step` on, in one lane."""
        return noise.bound(plan.digest).draws(table(plan.law), step, count, 1, lane=lane)[:, 0]

    def elsewhere(self, plan: Plan, noise: KeyedNoise, key: bytes, units: Signed) -> Matrix:
        """The releases of a second process with this noise and its key."""
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            job = other.submit(_replayed, plan.to_json(), key, noise.stream, units)
            return job.result()


def _replayed(plan: str, key: bytes, stream: str, units: Signed) -> Matrix:
    found = Plan.from_json(plan)
    return released(found.start(KeyedNoise(key, stream=stream)), units)


class Case:
    """One plan of an audit: what is promised, the plan that the subject follows, and inputs."""

    def __init__(
        self, subject: Subject, promised: Plan, size: Size, chance: Chance, *, first: bool = True
    ) -> None:
        self.subject, self.promised, self.size, self.chance = subject, promised, size, chance
        self.first = first  # the first plan of a run has the checks that concern no plan
        self.plan = subject.plan(promised)
        self.lanes = self.plan.grid.lanes

    def start(self, noise: NoiseSource | None) -> Any:
        """A new stream of the subject."""
        return self.subject.start(self.plan, noise)

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Any:
        """A loaded stream of the subject."""
        return self.subject.load(data, noise, traces)

    def steps(self, most: int, values: int) -> int:
        """The number of steps of a stream with about this many values; from 4 to `most`."""
        return min(self.plan.horizon or most, max(4, min(most, values // self.lanes)))

    def nothing(self, n: int) -> Signed:
        """The totals of n empty steps."""
        return np.zeros((n, self.lanes), dtype=np.int64)

    def inputs(self, n: int) -> Signed:
        """Random totals in units of both signs and many sizes.  Half of the steps are empty."""
        rng, shape, grid = self.chance.inputs(), (n, self.lanes), self.plan.grid
        most = max(1, min(grid.largest_total, 64 * grid.largest_unit))
        units = np.exp(rng.uniform(0.0, np.log(most + 1.0), size=shape)).astype(np.int64)
        return np.asarray(units * rng.choice((-1, 1), size=shape) * rng.integers(0, 2, (n, 1)))

    def expected(self, units: Signed, z: Signed | int = 0) -> Matrix:
        """The releases of no totals with noise z + R̃ x."""
        noise = ChosenNoise(right(self.plan, units) + z)
        return released(self.plan.start(noise), np.zeros_like(units))

    @cached_property
    def counted(self) -> list[Any]:
        """What single records add to the lanes, as `records.each_record` measures it."""
        from hushfade.audit.records import each_record

        return each_record(self)


def released(stream: Any, units: Signed, door: str = "run_units") -> Matrix:
    """The releases of the next steps of a stream, (n, lanes), from totals in units."""
    grid = stream.plan.grid
    rows: Any = units if door.endswith("units") else units * grid.resolution
    if door.startswith("run"):
        return np.asarray(getattr(stream, door)(rows)).reshape(units.shape)
    close = getattr(stream, door)
    return np.array([lanes_of(close(row.item() if grid.scalar else row)) for row in rows])


def lanes_of(release: Any) -> Matrix:
    """The released totals of one step, one per lane, to the last bit."""
    if isinstance(release, StatisticRelease):
        return np.asarray(release.readings.values[0])
    return np.ravel(np.asarray(release.value, dtype=np.float64))


class ChosenNoise:
    """A noise source whose noise z, (steps, lanes), the audit chooses; 0 elsewhere."""

    def __init__(self, z: Signed) -> None:
        self._z = z
        self.identity: dict[str, str | int] = {"kind": "seeded", "seed": 0}

    def bound(self, plan_digest: bytes) -> Any:
        """The same noise for every plan."""
        return self

    def draws(self, law: Any, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """The chosen noise of these steps and lanes."""
        found = np.zeros((steps, lanes), dtype=np.int64)
        rows = self._z[step : step + steps, lane : lane + lanes]
        found[: len(rows), : rows.shape[1]] = rows
        return found


def right(plan: Plan, units: Signed) -> Signed:
    """R̃ x in whole units of the noise, by the definition, for totals (n, lanes) in units."""
    n = len(units)
    if isinstance(plan.pair, BlockSums):  # the sum since the last step of a level as high
        last, sums = np.zeros(plan.pair.schedule.depth + 1, dtype=np.int64), [0 * units[:1]]
        sums.append(np.cumsum(units, axis=0))
        before, starts = np.concatenate(sums), np.empty(n, dtype=np.int64)
        for t, level in enumerate(plan.pair.schedule.levels(n).tolist()):
            starts[t], last[: level + 1] = last[level], t + 1
        return np.asarray(before[1:] - before[starts])
    integers = plan.taps.integers[:n]
    rises, v = np.diff(integers, prepend=0, append=0), np.zeros_like(units)
    for lag in np.flatnonzero(rises[:n]):
        v[lag:] += rises[lag] * units[: n - lag]
    gain, whole = plan.pair.integer_gain, np.cumsum(v, axis=0)
    return np.asarray(whole if gain is None else gain[:n, None] * whole)


def support(plan: Plan) -> int:
    """The number of steps that one total affects: the taps, or the longest block."""
    return plan.pair.longest if isinstance(plan.pair, BlockSums) else plan.taps.support


@lru_cache(maxsize=8)
def left(plan: Plan, n: int) -> tuple[Matrix, Matrix]:
    """L of n steps, and its inverse: column s of L has the releases of one unit of noise there."""
    from scipy.linalg import solve_triangular

    L, z = np.empty((n, n)), np.eye(n, dtype=np.int64)
    nothing = np.zeros((n, plan.grid.lanes), dtype=np.int64)
    for s in range(n):
        L[:, s] = released(plan.start(ChosenNoise(z[:, s : s + 1])), nothing)[:, 0]
    return L, solve_triangular(L, z, lower=True)


def crossed(plan: Plan, releases: Matrix) -> Matrix:
    """y = L⁻¹ s for releases (n, ...): whole numbers of units, up to rounding errors."""
    return np.asarray(np.tensordot(left(plan, len(releases))[1], releases, axes=1))


def legible(plan: Plan, releases: Matrix) -> int:
    """The number of first steps of releases (n, lanes) in which y is exact to .02 units."""
    largest = np.maximum.accumulate(np.max(np.abs(releases), axis=1))
    inverse = np.abs(left(plan, len(releases))[1])
    blurred = 4.0 * np.finfo(np.float64).eps * inverse @ largest
    return max(1, int(np.count_nonzero(np.logical_and.accumulate(blurred <= 0.02))))
