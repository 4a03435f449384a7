"""A decay's own recursion: s = M u in constant memory, or with the last few u.

    poles      e_i ← e_i - q_i e_i + u_t,  s_t += w_i e_i
    windows    b_k ← b_k + u_t - u_{t-length},  s_t += w_k b_k
    listed     s_t += Σ_k f_k u_{t-k}

Poles forget their rounding errors as they forget u.  The sums of windows would not: they are added
up anew from the last u before every multiple of the period, as in `stepped`.

Two loops for two ways to read memory, with the same operations in the same order: poles in eight
partial sums if they are many, then windows, then the list by rising lag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled
from hushfade.convolve import BLOCK, Remembering, period_of
from hushfade.convolve.stepped import add_past, write
from hushfade.decay import Decay
from hushfade.public.recursion import TOGETHER, Recursion, recursion


class Parts(NamedTuple):
    """A recursion as the loops read it."""

    windows: Signed
    fades: Column
    pole_weights: Column
    window_weights: Column
    listed: Column


class Sums(NamedTuple):
    """What a recursion remembers besides past u, a column per lane."""

    faded: Matrix  # e, a row per pole
    summed: Matrix  # b, a row per window
    renewed: Matrix  # b at the next multiple of the period, as far as it is known


def parts_of(found: Recursion, unit: float = 1.0) -> Parts:
    """The recursion's arrays; u counts `unit`."""
    return Parts(
        np.array(found.windows, dtype=np.int64),
        np.array(found.fades, dtype=np.float64),
        np.array(found.pole_weights, dtype=np.float64) * unit,
        np.array(found.window_weights, dtype=np.float64) * unit,
        np.array(found.listed, dtype=np.float64) * unit,
    )


@compiled
def fade(u: float, fades: Column, weights: Column, faded: Column) -> float:
    """Σ_i w_i e_i after u_t, for a multiple of TOGETHER poles, in so many partial sums."""
    for p in range(len(fades)):  # apart from the sums, so that wide registers serve it
        faded[p] += u - fades[p] * faded[p]
    e, w = faded.reshape((-1, TOGETHER)), weights.reshape((-1, TOGETHER))
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for g in range(e.shape[0]):
        a0 += w[g, 0] * e[g, 0]
        a1 += w[g, 1] * e[g, 1]
        a2 += w[g, 2] * e[g, 2]
        a3 += w[g, 3] * e[g, 3]
        a4 += w[g, 4] * e[g, 4]
        a5 += w[g, 5] * e[g, 5]
        a6 += w[g, 6] * e[g, 6]
        a7 += w[g, 7] * e[g, 7]
    return float(a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7)


@compiled
def decay_block(
    step: int,
    u: Column,
    period: int,
    parts: Parts,
    ring: Matrix,
    sums: Sums,
    out: Column,
) -> None:
    """A block of one lane, which crosses no multiple of the period; its u are in the ring."""
    windows, fades, pole_weights, window_weights, listed = parts
    past, faded = ring.ravel(), sums.faded.ravel()
    summed, renewed = sums.summed.ravel(), sums.renewed.ravel()
    n, rows = len(u), len(past)
    here = step % rows
    if len(fades) >= TOGETHER:
        for i in range(n):
            out[i] = fade(u[i], fades, pole_weights, faded)
    else:
        for i in range(n):
            out[i] = 0.0
        for p in range(len(fades)):
            e, q, weight = faded[p], fades[p], pole_weights[p]
            for i in range(n):
                e += u[i] - q * e
                out[i] += weight * e
            faded[p] = e
    to_come = period - 1 - step % period
    for w in range(len(windows)):
        row = here - windows[w]
        if row < 0:
            row += rows
        for i in range(n):
            at = row + i if row + i < rows else row + i - rows
            summed[w] += u[i] - past[at]
            out[i] += window_weights[w] * summed[w]
            if to_come - i < windows[w]:
                renewed[w] += u[i]
        if to_come == n - 1:
            summed[w] = renewed[w]
            renewed[w] = 0.0
    for k in range(len(listed)):
        add_past(out, listed[k], past, here - k, n)


@compiled
def decay_row(
    step: int,
    low: int,
    high: int,
    u: Column,
    period: int,
    parts: Parts,
    ring: Matrix,
    sums: Sums,
    partial: Matrix,
    out: Column,
) -> None:
    """One step of lanes low, ..., high-1; their u are in the ring already."""
    windows, fades, pole_weights, window_weights, listed = parts
    rows, width = ring.shape[0], len(u)
    here = step % rows
    groups = TOGETHER if len(fades) >= TOGETHER else 1
    for k in range(groups):
        of = partial[k]
        for lane in range(width):
            of[lane] = 0.0
    for p in range(len(fades)):
        e, of = sums.faded[p][low:high], partial[p % groups]
        q, weight = fades[p], pole_weights[p]
        for lane in range(width):
            e[lane] += u[lane] - q * e[lane]
            of[lane] += weight * e[lane]
    for lane in range(width):
        out[lane] = 0.0
    for k in range(groups):
        of = partial[k]
        for lane in range(width):
            out[lane] += of[lane]
    to_come = period - 1 - step % period
    for w in range(len(windows)):
        row = here - windows[w]
        if row < 0:
            row += rows
        leaving, b, weight = ring[row][low:high], sums.summed[w][low:high], window_weights[w]
        for lane in range(width):
            b[lane] += u[lane] - leaving[lane]
            out[lane] += weight * b[lane]
        renewed = sums.renewed[w][low:high]
        if to_come < windows[w]:
            for lane in range(width):
                renewed[lane] += u[lane]
        if to_come == 0:
            for lane in range(width):
                b[lane] = renewed[lane]
                renewed[lane] = 0.0
    for k in range(len(listed)):
        row, f = here - k, listed[k]
        if row < 0:
            row += rows
        before = ring[row][low:high]
        for lane in range(width):
            out[lane] += f * before[lane]


class Recursive(Remembering):
    """s = M u for one of hushfade's decays.

    Exact but for a power law, whose weights have a relative error of at most `relative_error`.

    >>> from hushfade.decay import Exponential
    >>> Recursive(Exponential(half_life=1)).push_many([8, 0, 0, 1])
    array([8., 4., 2., 2.])
    """

    def __init__(self, decay: Decay, lanes: int = 1) -> None:
        found = recursion(decay)
        self.relative_error = found.relative_error
        self._parts = parts_of(found)
        self._period = period_of(found.memory)
        self._ring = np.zeros((found.memory + (BLOCK if lanes == 1 else 1), lanes))
        windows = len(found.windows)
        self._sums = Sums(
            np.zeros((len(found.fades), lanes)),
            np.zeros((windows, lanes)),
            np.zeros((windows, lanes)),
        )
        super().__init__(lanes, self._ring, *self._sums)

    def _advance(self, step: int, x: Matrix, out: Matrix) -> None:
        _decayed(step, x, self._period, self._parts, self._ring, self._sums, out)


@compiled
def _decayed(
    step: int, u: Matrix, period: int, parts: Parts, ring: Matrix, sums: Sums, out: Matrix
) -> None:
    rows, lanes = ring.shape[0], u.shape[1]
    if lanes == 1:
        column, found, past = u.ravel(), out.ravel(), ring.ravel()
        start = 0
        while start < len(column):
            t = step + start
            end = start + min(BLOCK, len(column) - start, period - t % period)
            write(past, t % rows, column[start:end])
            decay_block(t, column[start:end], period, parts, ring, sums, found[start:end])
            start = end
        return
    partial = np.empty((TOGETHER, lanes))
    for i in range(u.shape[0]):
        ring[(step + i) % rows] = u[i]
        decay_row(step + i, 0, lanes, u[i], period, parts, ring, sums, partial, out[i])
