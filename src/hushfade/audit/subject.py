"""Subject: the implementation under audit, as the few functions that the audit calls.

hushfade itself is a `Subject`.  A subject with one changed function has a bug, which the audit must
detect.  Streams with `ChosenNoise` show the mechanism without statistics:

    s = L (R̃ x + z): totals x with noise z release the same bits as no totals with noise z + R̃ x
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import numpy as np

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

    def draws(
        self, plan: Plan, noise: NoiseSource, at: tuple[int, int], shape: tuple[int, int]
    ) -> Signed:
        """Noise of the plan from a step and a lane on, of shape (steps, lanes)."""
        drawer = noise.bound(plan.digest)
        return drawer.draws(table(plan.law), at[0], *shape, lane=at[1])

    def elsewhere(self, plan: Plan, key: bytes, stream: str, units: Signed) -> Matrix:
        """The releases of a second process with keyed noise."""
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            return other.submit(_replayed, plan.to_json(), key, stream, units).result()


def _replayed(plan: str, key: bytes, stream: str, units: Signed) -> Matrix:
    found = Plan.from_json(plan)
    return released(found, found.start(KeyedNoise(key, stream=stream)), units)


def released(plan: Plan, stream: Any, units: Signed, door: str = "run_units") -> Matrix:
    """The releases of the next steps of a stream, (n, lanes), from totals in units."""
    scalar, totals = plan.grid.scalar, units * plan.grid.resolution
    rows: Any = units if door.endswith("units") else totals
    if door.startswith("run"):
        return np.asarray(getattr(stream, door)(rows)).reshape(units.shape)
    close = getattr(stream, door)
    return np.array([lanes_of(close(row.item() if scalar else row)) for row in rows])


def lanes_of(release: Any) -> Matrix:
    """The released totals of one step, one per lane, to the last bit."""
    if isinstance(release, StatisticRelease):
        return np.asarray(release.readings.values[0])
    return np.ravel(np.asarray(release.value, dtype=np.float64))


class ChosenNoise:
    """A noise source whose noise z, (steps, lanes), the audit chooses; 0 afterwards."""

    identity = {"kind": "seeded", "seed": 0}

    def __init__(self, z: Signed) -> None:
        self._z = z

    def bound(self, plan_digest: bytes) -> Any:
        """The same noise for every plan."""
        return self

    def draws(self, law: Any, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """The chosen noise of these steps and lanes."""
        found = np.zeros((steps, lanes), dtype=np.int64)
        rows = self._z[step : step + steps, lane : lane + lanes]
        found[: len(rows)] = rows
        return found


def right(plan: Plan, units: Signed) -> Signed:
    """R̃ x in whole units of the noise, by the definition, for totals (n, lanes) in units."""
    n = len(units)
    if isinstance(plan.pair, BlockSums):
        sums = np.concatenate([np.zeros_like(units[:1]), np.cumsum(units, axis=0)])
        return np.asarray(sums[1:] - sums[_block_starts(plan.pair, n)])
    integers = plan.taps.integers[:n]
    v = np.zeros_like(units)
    rises = np.diff(integers, prepend=0)
    for lag in np.flatnonzero(rises):
        v[lag:] += rises[lag] * units[: n - lag]
    if len(integers) < n:
        v[len(integers) :] -= integers[-1] * units[: n - len(integers)]
    gain = plan.pair.integer_gain
    whole = np.cumsum(v, axis=0)
    return np.asarray(whole if gain is None else gain[:n, None] * whole)


def support(plan: Plan) -> int:
    """The number of steps that one total affects: the taps, or the longest block."""
    return plan.pair.longest if isinstance(plan.pair, BlockSums) else plan.taps.support


@lru_cache(maxsize=8)
def left(plan: Plan, n: int) -> Matrix:
    """L of n steps: column s has the releases of one unit of noise at step s, and nothing else."""
    columns = np.empty((n, n))
    nothing = np.zeros((n, plan.grid.lanes), dtype=np.int64)
    for s in range(n):
        z = nothing.copy()
        z[s, 0] = 1
        columns[:, s] = released(plan, plan.start(ChosenNoise(z)), nothing)[:, 0]
    return columns


def crossed(plan: Plan, releases: Matrix) -> Matrix:
    """y = L⁻¹ s for releases (n, ...): whole numbers of units, up to rounding errors."""
    from scipy.linalg import solve_triangular

    n = len(releases)
    y = solve_triangular(left(plan, n), releases.reshape(n, -1), lower=True)
    return np.asarray(y.reshape(releases.shape))


def legible(plan: Plan, releases: Matrix) -> int:
    """The number of first steps of releases (n, lanes) in which y is exact to .02 units."""
    from scipy.linalg import solve_triangular

    n = len(releases)
    inverse = np.abs(solve_triangular(left(plan, n), np.eye(n), lower=True))
    largest = np.maximum.accumulate(np.max(np.abs(releases), axis=1))
    blurred = 4.0 * np.finfo(np.float64).eps * inverse @ largest
    return max(1, int(np.count_nonzero(np.logical_and.accumulate(blurred <= 0.02))))


@lru_cache(maxsize=8)
def _block_starts(pair: BlockSums, n: int) -> Signed:
    """For each step from 0 on, the first step of the block whose sum crosses there.

    This follows the definition.  `open_blocks` has, per level, the starts of the blocks that make
    up the prefix.  A step adds a block, and merges the lowest blocks if there are too many.
    """
    schedule = pair.schedule
    open_blocks: list[list[int]] = [[] for _ in range(schedule.depth)]
    starts = np.empty(n, dtype=np.int64)
    for t in range(n):
        level = 0
        if (t + 1) % schedule.period == 0:
            level = schedule.depth
        elif sum(map(len, open_blocks)) == schedule.total:
            level = 1 + next(i for i, blocks in enumerate(open_blocks) if blocks)
        starts[t] = min([t, *(start for blocks in open_blocks[:level] for start in blocks)])
        for blocks in open_blocks[:level]:
            blocks.clear()
        if level < schedule.depth:
            open_blocks[level].append(int(starts[t]))
    return starts
