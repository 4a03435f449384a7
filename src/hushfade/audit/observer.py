"""What an observer of the releases knows: y, exactly, because L is invertible and public.

    s = L y, L = Toeplitz(g / r̃) diag(1/gain), so y = diag(gain) Toeplitz(r̃ / g) s

y is an integer in units of the plan's grid.  The audit chose x and so knows v = R̃ x.  It can
therefore test the noise z = y - v of every step.

With block sums, s = M u, and y_t is the sum of u over the block that ends at step t.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.factors import power_series
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian
from hushfade.planning.largest_total import sized
from hushfade.planning.plan import Plan
from hushfade.public.recursion import grouped

_DENSE = 512  # steps up to which a matrix product is faster than an FFT
_RINGS = 1 << 27  # the most numbers in the memory of all copies
_BLURRED = 0.02  # the largest rounding error, in units, in the steps that the audit tests


def gain_of(plan: Plan, n: int) -> Signed:
    """The gain in whole units; all ones if the plan has no gain."""
    gain = plan.pair.integer_gain
    return np.ones(n, dtype=np.int64) if gain is None else gain[:n]


def private(plan: Plan, units: Signed) -> Signed:
    """R̃ x as exact integers, for totals (n, lanes) in grid units."""
    n = len(units)
    if isinstance(plan.pair, BlockSums):
        return np.asarray(_over_blocks(plan.pair, units))
    integers = plan.taps.integers[:n]
    v = np.zeros_like(units)
    rises = np.diff(integers, prepend=0)
    for lag in np.flatnonzero(rises):
        v[lag:] += rises[lag] * units[: n - lag]
    if len(integers) < n:
        v[len(integers) :] -= integers[-1] * units[: n - len(integers)]
    return np.asarray(gain_of(plan, n)[:, None] * np.cumsum(v, axis=0))


def crossed(plan: Plan, released: Matrix) -> Matrix:
    """y of the releases (n, lanes), in grid units: integers up to rounding errors."""
    n = len(released)
    undo = _undone(plan, n)
    if n <= _DENSE:
        from scipy.linalg import toeplitz

        found = toeplitz(undo, np.zeros(n)) @ released
    else:
        from scipy.signal import fftconvolve

        found = fftconvolve(released, undo[:, None], axes=0)[:n]
    if isinstance(plan.pair, BlockSums):
        return np.asarray(_over_blocks(plan.pair, found / plan.unit))
    return np.asarray(found * (_gain(plan, n) / plan.unit)[:, None])


def legible(plan: Plan, steps: int, records: float = 3.0) -> int:
    """The number of first steps, at most `steps`, in which y is recovered to the unit.

    Releases are float64.  Inverting the public half multiplies their rounding error by at most
    ‖r̃/g‖₁, and an FFT adds ‖s‖ ‖r̃/g‖ times the rounding error of one number.  The totals are sums
    of up to `records` records with random signs.  The bound assumes that they stay below
    4 √(Σ f²), that noise stays below 8 standard deviations, and that the root mean square is at
    most a quarter of this peak.
    """
    grid = plan.grid
    counts = np.arange(1, steps + 1)
    undo, weights = np.abs(_undone(plan, steps)), in_use(plan, steps)
    totals = records * max(grid.largest_unit, 1) * grid.resolution
    sums = np.minimum(4.0 * np.sqrt(np.cumsum(weights**2)), np.cumsum(np.abs(weights)))
    peak = totals * sums + 8.0 * np.maximum.accumulate(plan.stddevs(steps))
    reach = 4.0 * np.cumsum(undo)
    if isinstance(plan.pair, BlockSums):
        reach *= np.minimum(counts, plan.pair.longest)
    transformed = 0.25 * np.sqrt(counts * np.cumsum(undo**2)) * (counts > _DENSE)
    gain = np.maximum.accumulate(_gain(plan, steps)) / plan.unit
    blurred = 0.5 * np.finfo(np.float64).eps * peak * (reach + transformed) * gain
    return max(1, int(np.count_nonzero(np.logical_and.accumulate(blurred <= _BLURRED))))


def along(plan: Plan, direction: Column) -> Column:
    """w with w·s = direction·y, for y in grid units: one product instead of recovering y."""
    n = len(direction)
    from scipy.signal import fftconvolve

    scaled = direction * _gain(plan, n) / plan.unit
    if isinstance(plan.pair, BlockSums):  # the transpose of `_over_blocks`
        ends = np.zeros(n + 1)
        np.add.at(ends, block_starts(plan.pair, n), scaled)
        ends[1:] -= scaled
        scaled = np.cumsum(ends)[:n]
    return np.asarray(fftconvolve(scaled[::-1], _undone(plan, n))[:n][::-1])


def decayed(plan: Plan, units: Signed) -> Matrix:
    """M x for totals in grid units: the true decaying sums."""
    from scipy.signal import fftconvolve

    weights = in_use(plan, len(units))
    return np.asarray(
        fftconvolve(units * plan.grid.resolution, weights[:, None], axes=0)[: len(units)]
    )


def in_use(plan: Plan, n: int) -> Column:
    """f_0, ..., f_{n-1} as the public half uses them: power laws as exponentials, within 1e-10."""
    found = grouped(plan.decay)
    weights = np.zeros(n)
    listed = min(n, len(found.listed))
    weights[:listed] += found.listed[:listed]
    for length, weight in zip(found.windows, found.window_weights, strict=True):
        weights[:length] += weight
    for fade, weight in zip(found.fades, found.pole_weights, strict=True):
        if fade < 1.0:
            weights += weight * np.exp(np.arange(n) * math.log1p(-fade))
        else:
            weights[0] += weight
    return weights


def wide(plan: Plan, copies: int) -> Plan:
    """A plan of many copies of the mechanism: more lanes, the same taps and noise.

    Each copy of a keyed plan has its own keys.  A scalar plan becomes a plan with keys, and the
    largest change adds a record to one of them.  With Gaussian noise a scalar plan becomes a plan
    of vectors whose norm is the largest change, and each coordinate is a copy.
    """
    grid = plan.grid
    guarantee = plan.guarantee
    if grid.keys is not None:
        names = tuple(f"{copy}/{key}" for copy in range(copies) for key in grid.keys)
        grid = replace(grid, keys=names)
    elif grid.statistic is not None:
        grid = replace(grid, keys=tuple(map(str, range(copies))))
    elif grid.norm is not None:
        grid = replace(grid, width=grid.width * copies)
    elif not isinstance(plan.law, Gaussian):
        change = guarantee.change(grid.low_unit, grid.high_unit) * grid.resolution
        names = tuple(map(str, range(copies)))
        grid = replace(grid, low=-change, high=change, keys=names)
        guarantee = replace(
            guarantee, neighbours="add_remove", protects=guarantee.protects.one_per_step()
        )
    else:
        units = (
            guarantee.change(grid.low_unit, grid.high_unit) / guarantee.protects.records_per_step
        )
        change = units * grid.resolution
        grid = replace(grid, low=-change, high=change, norm=change, width=copies)
        guarantee = replace(guarantee, neighbours="add_remove")
    return sized(replace(plan, guarantee=guarantee, grid=grid))


def copies_of(plan: Plan, steps: int, work: int, most: int) -> int:
    """The number of copies for a run of `steps` steps."""
    lanes = plan.grid.lanes
    rows = max(steps, min(plan.taps.support, 1 << 18))
    return max(1, min(work // steps, _RINGS // rows, most) // lanes)


def _gain(plan: Plan, n: int) -> Column:
    return np.ones(n) if plan.pair.gain is None else plan.pair.gain[:n]


@lru_cache(maxsize=32)
def _undone(plan: Plan, n: int) -> Column:
    """r̃ / g, and 1 / g for block sums."""
    inverse = power_series.inverse(in_use(plan, n))
    if isinstance(plan.pair, BlockSums):
        return inverse
    return power_series.multiply(inverse, plan.pair.right(n))


def support(plan: Plan) -> int:
    """The number of steps that one total affects: the taps, or the longest block."""
    return plan.pair.longest if isinstance(plan.pair, BlockSums) else plan.taps.support


@lru_cache(maxsize=32)
def block_starts(pair: BlockSums, n: int) -> Signed:
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
        closed = [start for blocks in open_blocks[:level] for start in blocks]
        starts[t] = min([t, *closed])
        for blocks in open_blocks[:level]:
            blocks.clear()
        if level < schedule.depth:
            open_blocks[level].append(int(starts[t]))
    starts.flags.writeable = False
    return starts


def _over_blocks(pair: BlockSums, rows: Any) -> Any:
    """The sum of the rows over each block."""
    sums = np.concatenate([np.zeros_like(rows[:1]), np.cumsum(rows, axis=0)])
    return sums[1:] - sums[block_starts(pair, len(rows))]
