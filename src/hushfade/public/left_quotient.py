"""The public quotient u = y / r̃: one multiply-add per jump of the taps and step.

    u_t = (y_t - c_{t-1} - Σ_{n_j>0} D_j u_{t-n_j}) / D_0,   c_t = Σ_n r̃_n u_{t-n}

In exact arithmetic c_t equals y_t, so the loop carries y_t.  In floating point c drifts away from
the stored u.  So c is computed again from u at every multiple of the period, which is at least as
long as the taps.  When u_t arrives, its contribution to the next c is added, which costs one
multiply-add per step.  If r̃_0 is the only tap, u_t = y_t / r̃_0.

The loop exists twice because memory is read in two ways: a block of steps of one lane, and one step
of many lanes.  Both loops perform the same operations in the same order (jumps by falling lag), so
they give the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled
from hushfade.factors.taps import Jumps
from hushfade.ring_buffers import add_past


class Quotients(NamedTuple):
    """The state of y / r̃, one column per lane."""

    ring: Matrix  # past u
    carried: Column  # c
    renewed: Column  # partial sums of c at the next multiple of the period


@compiled
def quotient_block(
    step: int, y: Column, period: int, jumps: Jumps, state: Quotients, back: Column, u: Column
) -> None:
    """Compute u at each step of a block of one lane, which contains no multiple of the period.

    The ring ends before the block, and the caller adds u to it.  Contributions from before the
    block are added along the block.  Each u of the block is added to later steps as soon as it is
    known, so that a step waits for one product only.
    """
    lags, heights, near = jumps.lags, jumps.heights, jumps.near
    ring, carried, renewed = state.ring.ravel(), state.carried, state.renewed
    n, last = len(y), len(lags) - 1
    here = step % len(ring)
    if jumps.single:
        for i in range(n):
            u[i] = y[i] / jumps.single
        carried[0] = y[n - 1]
        return
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
    """Replace y by u for one step of lanes low, ..., high-1."""
    lags, heights = jumps.lags, jumps.heights
    rows, last = state.ring.shape[0], len(lags) - 1
    here = step % rows
    width = len(y)
    carried, kept = state.carried[low:high], state.ring[here][low:high]
    if jumps.single:
        for lane in range(width):
            carried[lane] = y[lane]
            y[lane] /= jumps.single
            kept[lane] = y[lane]
        return
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
    """Whether there are taps at this lag or later.  Taps cut by a horizon have no last jump."""
    return bool(lag < jumps.lags[0] or jumps.levels[0] != 0.0)


@compiled
def level(lag: int, lags: Signed, levels: Column) -> float:
    """The tap r̃ at a lag, by bisection."""
    low, high = 0, len(lags) - 1  # the first j with lags[j] ≤ lag
    while low < high:
        middle = (low + high) // 2
        if lags[middle] <= lag:
            high = middle
        else:
            low = middle + 1
    return float(levels[low])
