"""Stepped taps: r̃ is constant but for a few jumps, so a step costs one multiply-add per jump.

    (1 - x) r̃(x) = Σ_j D_j x^(n_j)
    v = r̃ x    v_t = v_{t-1} + Σ_j D_j x_{t-n_j}                                exact in int64
    u = y / r̃  u_t = (y_t - c_{t-1} - Σ_{n_j>0} D_j u_{t-n_j}) / D_0,  c_t = Σ_n r̃_n u_{t-n}

In exact arithmetic c_t is y_t, and so it is carried.  In floats it drifts from what the kept u say.
So c is computed anew from u at every multiple of the period, which is no shorter than the taps: as
u_t comes, what it will be to c at the next multiple is added up, at most one multiply-add a step.

Each loop stands here twice, for two ways to read memory: a block of steps of one lane, one step of
many lanes.  A step's operations are the same and in the same order in both (jumps by falling lag),
so the bits are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled, inlined
from hushfade.convolve import BLOCK, Remembering, period_of
from hushfade.factors.taps import IntegerTaps


class Jumps(NamedTuple):
    """Integer taps as the loops read them; lags fall, so that the nearest is added last."""

    lags: Signed
    rises: Signed  # D_j
    heights: Column  # D_j as floats
    levels: Column  # r̃ from this lag on
    near: Column  # D at lags 1, ..., BLOCK; zeros where there is no jump


def jumps_of(taps: IntegerTaps, horizon: int | None = None) -> Jumps:
    """The jumps of the taps, but for those that a stream of this horizon never reaches."""
    kept = taps.jumps < (horizon or np.iinfo(np.int64).max)
    lags, rises = taps.jumps[kept], taps.heights[kept]
    near = np.zeros(BLOCK + 1)
    near[lags[lags <= BLOCK]] = rises[lags <= BLOCK]
    levels = np.cumsum(rises)[::-1].astype(np.float64)
    falling = lags[::-1].copy(), rises[::-1].copy(), rises[::-1].astype(np.float64)
    return Jumps(*falling, levels, near[1:].copy())


# v = r̃ x -------------------------------------------------------------------------------------


@compiled
def product_block(step: int, x: Signed, jumps: Jumps, ring: Signed, v: int, out: Signed) -> int:
    """A block of one lane: v at each of its steps into `out`; the last is returned."""
    lags, rises = jumps.lags, jumps.rises
    n = len(x)
    here = step % len(ring)
    write(ring, here, x)
    for i in range(n):
        out[i] = 0
    for j in range(len(lags)):
        add_past(out, rises[j], ring, here - lags[j], n)
    for i in range(n):
        v += out[i]
        out[i] = v
    return v


@compiled
def product_row(step: int, low: int, high: int, jumps: Jumps, ring: Signed, sums: Signed) -> None:
    """One step of lanes low, ..., high-1: v in `sums`; x_t is in the ring already."""
    lags, rises = jumps.lags, jumps.rises
    rows = ring.shape[0]
    here = step % rows
    v = sums[low:high]
    for j in range(len(lags)):
        row, d = here - lags[j], rises[j]
        if row < 0:
            row += rows
        past = ring[row][low:high]
        for lane in range(len(v)):
            v[lane] += d * past[lane]


# u = y / r̃ -----------------------------------------------------------------------------------


class Quotients(NamedTuple):
    """What y / r̃ remembers, a column per lane."""

    ring: Matrix  # past u
    carried: Column  # c
    renewed: Column  # c at the next multiple of the period, as far as it is known


@compiled
def quotient_block(
    step: int, y: Column, period: int, jumps: Jumps, state: Quotients, back: Column, u: Column
) -> None:
    """A block of one lane, which crosses no multiple of the period: u at each of its steps.

    What comes from before the block is added along it; what a u of the block is to its later steps
    is added as soon as it is known, so that a step waits for one product only.
    """
    lags, heights, near = jumps.lags, jumps.heights, jumps.near
    ring, carried, renewed = state.ring.ravel(), state.carried, state.renewed
    n, last = len(y), len(lags) - 1
    here = step % len(ring)
    for i in range(n):
        back[i] = 0.0
    for j in range(last):
        add_past(back, heights[j], ring, here - lags[j], min(n, lags[j]))
    inverse, c = 1.0 / heights[last], carried[0]
    for i in range(n):
        quotient = (y[i] - c - back[i]) * inverse
        c = y[i]
        u[i] = quotient
        ahead = back[i + 1 : n]
        for k in range(len(ahead)):
            ahead[k] += near[k] * quotient
    carried[0] = c
    write(ring, here, u[:n])
    to_come = period - 1 - step % period
    if reaches(jumps, to_come - n + 1):
        for i in range(n):
            renewed[0] += level(to_come - i, lags, jumps.levels) * u[i]
    if to_come == n - 1:
        carried[0] = renewed[0]
        renewed[0] = 0.0


@compiled
def quotient_row(
    step: int,
    low: int,
    high: int,
    y: Column,
    period: int,
    jumps: Jumps,
    state: Quotients,
    back: Column,
) -> None:
    """One step of lanes low, ..., high-1: y becomes u."""
    lags, heights = jumps.lags, jumps.heights
    rows, last = state.ring.shape[0], len(lags) - 1
    here = step % rows
    width = len(y)
    for lane in range(width):
        back[lane] = 0.0
    for j in range(last):
        row, height = here - lags[j], heights[j]
        if row < 0:
            row += rows
        past = state.ring[row][low:high]
        for lane in range(width):
            back[lane] += height * past[lane]
    inverse = 1.0 / heights[last]
    carried, kept = state.carried[low:high], state.ring[here][low:high]
    for lane in range(width):
        u = (y[lane] - carried[lane] - back[lane]) * inverse
        carried[lane] = y[lane]
        y[lane] = u
        kept[lane] = u
    to_come = period - 1 - step % period
    if reaches(jumps, to_come):
        renewed, height = state.renewed[low:high], level(to_come, lags, jumps.levels)
        for lane in range(width):
            renewed[lane] += height * y[lane]
        if to_come == 0:
            for lane in range(width):
                carried[lane] = renewed[lane]
                renewed[lane] = 0.0


@compiled
def reaches(jumps: Jumps, lag: int) -> bool:
    """Are there taps at this lag or beyond?  Taps that a horizon cuts have no last jump."""
    return bool(lag < jumps.lags[0] or jumps.levels[0] != 0.0)


@compiled
def level(lag: int, lags: Signed, levels: Column) -> float:
    """r̃ at a lag, by bisection."""
    low, high = 0, len(lags) - 1  # the first j with lags[j] ≤ lag
    while low < high:
        middle = (low + high) // 2
        if lags[middle] <= lag:
            high = middle
        else:
            low = middle + 1
    return float(levels[low])


@inlined
def add_past(out: Any, factor: Any, ring: Any, row: int, n: int) -> None:
    """out += factor · ring over n rows from `row` on, which may be < 0; the ring goes round."""
    if row < 0:
        row += len(ring)
    k = min(n, len(ring) - row)
    past = ring[row : row + k]
    for i in range(k):
        out[i] += factor * past[i]
    for i in range(k, n):
        out[i] += factor * ring[i - k]


@compiled
def write(ring: Any, here: int, block: Any) -> None:
    """The block into the ring, from row `here` on."""
    k = min(len(block), len(ring) - here)
    for i in range(k):
        ring[here + i] = block[i]
    for i in range(k, len(block)):
        ring[i - k] = block[i]


# The kernels -----------------------------------------------------------------------------------


class Stepped(Remembering):
    """v = r̃ x for integer taps and integers x, exact.

    >>> kernel = Stepped(IntegerTaps(np.array([2, 1, 1]), 0))
    >>> kernel.push_many([1, 0, 0, 10])
    array([ 2,  1,  1, 20])
    """

    kind = np.int64

    def __init__(self, taps: IntegerTaps, lanes: int = 1) -> None:
        self._jumps = jumps_of(taps)
        self.largest = 2.0**62 // float(np.sum(np.abs(taps.integers.astype(np.float64))))
        rows = taps.support + (BLOCK if lanes == 1 else 1)
        self._ring = np.zeros((rows, lanes), dtype=np.int64)
        self._sums = np.zeros(lanes, dtype=np.int64)
        super().__init__(lanes, self._ring, self._sums)

    def _advance(self, step: int, x: Signed, out: Signed) -> None:
        _products(step, x, self._jumps, self._ring, self._sums, out)


class SteppedInverse(Remembering):
    """u = y / r̃ for integer taps; requires that r̃ has no zero inside the unit disk.

    >>> kernel = SteppedInverse(IntegerTaps(np.array([2, 1, 1]), 0))
    >>> kernel.push_many([2, 1, 1, 20])
    array([ 1.,  0.,  0., 10.])
    """

    def __init__(self, taps: IntegerTaps, lanes: int = 1) -> None:
        self._jumps = jumps_of(taps)
        self._period = period_of(taps.support)
        rows = taps.support + (BLOCK if lanes == 1 else 1)
        self._quotients = Quotients(np.zeros((rows, lanes)), np.zeros(lanes), np.zeros(lanes))
        super().__init__(lanes, *self._quotients)

    def _advance(self, step: int, x: Matrix, out: Matrix) -> None:
        _quotients(step, x, self._period, self._jumps, self._quotients, out)


@compiled
def _products(step: int, x: Signed, jumps: Jumps, ring: Signed, sums: Signed, out: Signed) -> None:
    if x.shape[1] == 1:
        column, found, past = x.ravel(), out.ravel(), ring.ravel()
        for start in range(0, len(column), BLOCK):
            part = column[start : start + BLOCK]
            sums[0] = product_block(
                step + start, part, jumps, past, sums[0], found[start : start + BLOCK]
            )
        return
    for i in range(x.shape[0]):
        ring[(step + i) % ring.shape[0]] = x[i]
        product_row(step + i, 0, x.shape[1], jumps, ring, sums)
        out[i] = sums


@compiled
def _quotients(
    step: int, y: Matrix, period: int, jumps: Jumps, state: Quotients, out: Matrix
) -> None:
    back = np.empty(max(BLOCK, y.shape[1]))
    if y.shape[1] == 1:
        column, found = y.ravel(), out.ravel()
        start = 0
        while start < len(column):
            t = step + start
            end = start + min(BLOCK, len(column) - start, period - t % period)
            quotient_block(t, column[start:end], period, jumps, state, back, found[start:end])
            start = end
        return
    for i in range(y.shape[0]):
        out[i] = y[i]
        quotient_row(step + i, 0, y.shape[1], out[i], period, jumps, state, back)
