"""The decayed sum s = M u, in constant memory or with the last few u.

    poles      e_i ← e_i - q_i e_i + u_t,  s_t += w_i e_i
    windows    b_k ← b_k + u_t - u_{t-length},  s_t += w_k b_k
    listed     s_t += Σ_k f_k u_{t-k}

Poles forget their rounding errors as they forget u.  Window sums do not: they are added up again
from the last u before every multiple of the period, as in `left_quotient`.

The loop exists twice because memory is read in two ways.  Both perform the same operations in the
same order: poles in eight partial sums if there are many, then windows, then the list by lag.
"""

from __future__ import annotations

from typing import NamedTuple

from hushfade.check import Column, Matrix
from hushfade.compiled import compiled
from hushfade.numerics.ring_buffers import add_past
from hushfade.public.recursion import TOGETHER, Parts


class Sums(NamedTuple):
    """What a recursion remembers besides past u, a column per lane."""

    faded: Matrix  # e, a row per pole
    summed: Matrix  # b, a row per window
    renewed: Matrix  # b at the next multiple of the period, as far as it is known


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
