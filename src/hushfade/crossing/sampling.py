"""Compiled loops of the sampler.  Imported only when used: numba takes half a second to load."""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Signed, Unsigned
from hushfade.compiled import compiled

# the verdict of floats on a place
_ACCEPTED, _REJECTED, _DOUBTFUL = 0, 1, 2


@compiled
def number(blocks: Unsigned, count: int, start: int, step: int, lanes: int, lane: int) -> None:
    """Write the blocks (step, lane, slot 0) of `count` draws from `start`, numbered by rows."""
    first = np.uint64(lane << 16)
    end = first + (np.uint64(lanes) << np.uint64(16))
    row = np.uint64(step + start // lanes)
    column = first + (np.uint64(start % lanes) << np.uint64(16))
    for i in range(count):
        blocks[i, 0] = row
        blocks[i, 1] = column
        column += np.uint64(1 << 16)
        if column == end:
            column = first
            row += np.uint64(1)


@compiled
def number_listed(
    blocks: Unsigned, places: Signed, slot: int, step: int, lanes: int, lane: int
) -> None:
    """Write the blocks (step, lane, slot) of the listed draws."""
    for i in range(len(places)):
        blocks[i, 0] = np.uint64(step + places[i] // lanes)
        blocks[i, 1] = np.uint64((lane + places[i] % lanes) << 16 | slot)


@compiled
def decode(
    words: Unsigned, high: Unsigned, low: Unsigned, guide: Unsigned, shift: int, out: Signed
) -> None:
    """Decode draws of a table with k = 0: 127 bits give the magnitude, and one bit the sign."""
    for i in range(len(out)):
        a = words[i, 0]
        u = a >> np.uint64(1)
        m = np.uint64(guide[a >> np.uint64(shift)])
        m += np.uint64(high[m] < u)  # usually enough, and without a branch to mispredict
        while high[m] < u or (high[m] == u and low[m] <= words[i, 1]):
            m += np.uint64(1)
        s = np.int64(a & np.uint64(1))
        out[i] = (np.int64(m) ^ -s) + s


@compiled
def decode_cells(
    words: Unsigned,
    start: int,
    high: Unsigned,
    sure: Unsigned,
    guide: Unsigned,
    shift: int,
    k: int,
    curve: Column,
    margin: float,
    out: Signed,
    left: Signed,
    rejected: int,
    doubtful: int,
) -> tuple[int, int]:
    """Decode first attempts with k > 0; returns the new counts of rejected and doubtful draws.

    63 bits give the cell, and the second word gives the place inside it.  `out` begins at draw
    `start`.  A rejected draw keeps its cell in `out` and is added to left[0].  A doubtful draw,
    including a tie of the 63 bits, is added to left[1].
    """
    inside = (np.uint64(1) << np.uint64(k)) - np.uint64(1)
    by_cell = np.uint64(0) if len(sure) == 1 else ~np.uint64(0)
    unsure = rejected  # draws that need their share are stored behind the rejected ones
    for i in range(len(out)):
        a, b = words[i, 0], words[i, 1]
        u = a >> np.uint64(1)
        m = np.uint64(guide[a >> np.uint64(shift)])
        m += np.uint64(high[m] < u)  # usually enough, and without a branch to mispredict
        while high[m] <= u:
            if high[m] == u:
                b = ~np.uint64(0)  # a tie: above every bound, so that the draw is decided later
                break
            m += np.uint64(1)
        s = np.int64(a & np.uint64(1))
        size = m << np.uint64(k) | (b & inside)
        out[i] = (np.int64(size) ^ -s) + s
        if (b >= sure[m & by_cell]) | (size == np.uint64(0)):
            left[0, unsure] = i
            unsure += 1
    for j in range(rejected, unsure):
        i = left[0, j]
        a, b = words[i, 0], words[i, 1]
        s = np.int64(a & np.uint64(1))
        m = np.uint64(abs(out[i]) >> k)
        tied = high[m] == a >> np.uint64(1)
        verdict = _DOUBTFUL if tied else _verdict(b, np.int64(m), k, curve, margin)
        if verdict == _REJECTED:
            out[i] = np.int64(m) ^ -s
            left[0, rejected] = start + i
            rejected += 1
        elif verdict == _DOUBTFUL:
            left[1, doubtful] = start + i
            doubtful += 1
    return rejected, doubtful


@compiled
def place(
    words: Unsigned,
    k: int,
    curve: Column,
    margin: float,
    out: Signed,
    left: Signed,
    rejected: int,
    doubtful: int,
) -> tuple[int, int]:
    """Make further attempts for the rejected draws, each in the cell that it keeps in `out`."""
    waiting, rejected = rejected, 0
    inside = (np.uint64(1) << np.uint64(k)) - np.uint64(1)
    for i in range(waiting):
        at, b = left[0, i], words[i, 1]
        s = np.int64(out[at] < 0)
        m = out[at] ^ -s
        verdict = _verdict(b, m, k, curve, margin)
        if verdict == _ACCEPTED:
            out[at] = ((m << k | np.int64(b & inside)) ^ -s) + s
        elif verdict == _REJECTED:
            left[0, rejected] = at
            rejected += 1
        else:
            left[1, doubtful] = at
            doubtful += 1
    return rejected, doubtful


@compiled
def _verdict(word: np.uint64, cell: np.int64, k: int, curve: Column, margin: float) -> int:
    """The verdict: is the word's uniform number clearly below, or above, the share of its place?

    share = P[z] / P[start] = exp(-(h(z) - h(start)) + c(z) - c(start)), by the fields of `Curve`.

    Its error is below 2^-36, so a margin of 2^-30 is safe.  Start, end and core are integers below
    2^53, and h grows by less than 0.12 within a cell.  So h(z) - h(start) and exp have errors below
    2^-48 on any machine.  c omits (s⁶ + 6 s⁴ p + 3 s² p² - p³)/181440 and higher orders, which are
    below 2^-41, because cells are used only if s² < 2^-10 and p < 2^-18 (Gaussian), or s < 2^-7 and
    p < 2^-8 (Huber).  The bits of the uniform number after the word contribute less than 2^-36.
    """
    start = float(cell << k)
    end = start + float(word & ((np.uint64(1) << np.uint64(k)) - np.uint64(1)))
    drawn = np.float64(word >> np.uint64(k)) * 2.0 ** (k - 64)
    precision, core, slope = curve[0], curve[1], curve[2]
    a, b = min(start, core), min(end, core)
    growth = (b - a) * (0.5 * (a + b)) * precision + slope * ((end - b) - (start - a))
    share = np.exp(_correction(end, curve) - _correction(start, curve) - growth)
    if end == 0.0:  # -0 and +0 are one value
        share = 0.5
    if drawn < share - margin:
        return _ACCEPTED
    return _REJECTED if drawn > share + margin else _DOUBTFUL


@compiled
def _correction(z: float, curve: Column) -> float:
    """c(z) of `Curve`: ln of the integral over a unit minus the log density at its centre."""
    precision: float = curve[0]
    core: float = curve[1]
    edge: float = curve[3]
    tail: float = curve[4]
    if z >= core:
        return edge if z == core else tail
    s = (z * precision) ** 2
    second = s * s + 4.0 * s * precision - 2.0 * precision * precision
    return (s - precision) / 24.0 - second / 2880.0
