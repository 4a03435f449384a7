"""The decayed sum s = M u, in constant memory or with the last few u.

    poles      e_i ← e_i - q_i e_i + u_t,  s_t += w_i e_i
    windows    b_k ← b_k + u_t - u_{t-length},  s_t += w_k b_k
    listed     s_t += Σ_k f_k u_{t-k}

The rounding errors of poles fade with u.  The errors of window sums do not fade.  So a window sum
is computed again from the last u before every multiple of the period, as in `left_quotient`.

The loop exists twice because memory is read in two ways.  Both loops perform the same operations in
the same order: poles (in eight partial sums if there are many), then windows, then the list by lag.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix
from hushfade.compiled import compiled
from hushfade.public.recursion import TOGETHER, Parts
from hushfade.ring_buffers import add_past


class Sums(NamedTuple):
    """The state of a recursion in addition to past u, one column per lane."""

    faded: Matrix  # e, one row per pole
    summed: Matrix  # b, one row per window
    renewed: Matrix  # partial sums of b at the next multiple of the period


@compiled
def fade(u: float, fades: Column, weights: Column, faded: Column, terms: Column) -> float:
    """Σ_i w_i e_i after u_t, for a multiple of TOGETHER poles; `terms` is a buffer for w_i e_i."""
    for p in range(len(fades)):  # separate from the sum, so that the compiler vectorises it
        faded[p] += u - fades[p] * faded[p]
        terms[p] = weights[p] * faded[p]
    return float(grouped_sum(terms))


@compiled
def fade_block(u: Column, fades: Column, weights: Column, faded: Column, out: Column) -> None:
    """`fade` for each step of a block, four poles at a time, so that e stays in a register.

    The terms are stored in a separate buffer that overlaps with nothing, so that the compiler can
    vectorise the loop.
    """
    terms = np.empty((4, len(fades)))
    terms0, terms1, terms2, terms3 = terms
    fours = len(u) - len(u) % 4
    for start in range(0, fours, 4):
        u0, u1, u2, u3 = u[start], u[start + 1], u[start + 2], u[start + 3]
        for p in range(len(fades)):
            e, q, w = faded[p], fades[p], weights[p]
            e += u0 - q * e
            terms0[p] = w * e
            e += u1 - q * e
            terms1[p] = w * e
            e += u2 - q * e
            terms2[p] = w * e
            e += u3 - q * e
            terms3[p] = w * e
            faded[p] = e
        for i in range(4):
            out[start + i] = grouped_sum(terms[i])
    for i in range(fours, len(u)):
        out[i] = fade(u[i], fades, weights, faded, terms0)


@compiled
def grouped_sum(terms: Column) -> float:
    """The sum of a multiple of TOGETHER terms, in TOGETHER partial sums, each by rising index."""
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for g in range(len(terms) // TOGETHER):
        p = np.uintp(g * TOGETHER)  # unsigned, so that reads need no check for a negative index
        a0 += terms[p]
        a1 += terms[p + np.uintp(1)]
        a2 += terms[p + np.uintp(2)]
        a3 += terms[p + np.uintp(3)]
        a4 += terms[p + np.uintp(4)]
        a5 += terms[p + np.uintp(5)]
        a6 += terms[p + np.uintp(6)]
        a7 += terms[p + np.uintp(7)]
    return float(a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7)


@compiled
def slide(b: float, weight: float, u: Column, leaving: Column, out: Column) -> float:
    """The last b after the steps of u; each step adds w b to `out`."""
    for i in range(len(u)):
        b += u[i] - leaving[i]
        out[i] += weight * b
    return b


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
    """Compute a block of one lane, which contains no multiple of the period.

    The ring ends before the block.
    """
    windows, fades, pole_weights, window_weights, listed = parts
    past, faded = ring.ravel(), sums.faded.ravel()
    summed, renewed = sums.summed.ravel(), sums.renewed.ravel()
    n, rows = len(u), len(past)
    here = step % rows
    if len(fades) >= TOGETHER:
        fade_block(u, fades, pole_weights, faded, out)
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
        b, weight, length = summed[w], window_weights[w], windows[w]
        row = here - length
        if row < 0:
            row += rows
        before = min(n, length)  # values that leave at these steps came before the block
        k = min(before, rows - row)
        b = slide(b, weight, u[:k], past[row : row + k], out[:k])
        if k < before:
            b = slide(b, weight, u[k:before], past[: before - k], out[k:before])
        if before < n:
            b = slide(b, weight, u[before:], u, out[before:])
        summed[w] = b
        for i in range(max(0, to_come - length + 1), n):
            renewed[w] += u[i]
        if to_come == n - 1:
            summed[w] = renewed[w]
            renewed[w] = 0.0
    for k in range(len(listed)):
        add_past(out, listed[k], past, here - k, min(n, k))
        later = out[min(n, k) :]
        for i in range(len(later)):
            later[i] += listed[k] * u[i]


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
    """Compute one step of lanes low, ..., high-1, whose u are already in the ring."""
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
