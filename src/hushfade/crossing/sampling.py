"""Compiled loops.  Imported only when used: numba takes half a second to load."""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Signed, Unsigned
from hushfade.compiled import compiled

# what floats can say of a place
_ACCEPTED, _REJECTED, _DOUBTFUL = 0, 1, 2


@compiled
def number(blocks: Unsigned, count: int, start: int, step: int, lanes: int, lane: int) -> None:
    """The blocks (step, lane, slot 0) of `count` draws from `start` on, counted by rows."""
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
    """The blocks (step, lane, slot) of the listed draws."""
    for i in range(len(places)):
        blocks[i, 0] = np.uint64(step + places[i] // lanes)
        blocks[i, 1] = np.uint64((lane + places[i] % lanes) << 16 | slot)


@compiled
def decode(
    words: Unsigned, high: Unsigned, low: Unsigned, guide: Unsigned, shift: int, out: Signed
) -> None:
    """Draws of a table with k = 0: 127 bits find the magnitude, one bit is the sign."""
    for i in range(len(out)):
        a = words[i, 0]
        u = a >> np.uint64(1)
        m = np.uint64(guide[a >> np.uint64(shift)])
        m += np.uint64(high[m] < u)  # mostly enough, and no branch to mispredict
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
    """First attempts with k > 0: 63 bits find the cell, the second word the place inside it.

    `out` begins at draw `start`.  A rejected draw keeps its cell in `out` and joins left[0]; a
    doubtful one, also by a tie of the 63 bits, joins left[1].  Their new counts come back.
    """
    inside = (np.uint64(1) << np.uint64(k)) - np.uint64(1)
    by_cell = np.uint64(0) if len(sure) == 1 else ~np.uint64(0)
    unsure = rejected  # draws that need their share wait behind the rejected ones
    for i in range(len(out)):
        a, b = words[i, 0], words[i, 1]
        u = a >> np.uint64(1)
        m = np.uint64(guide[a >> np.uint64(shift)])
        while high[m] <= u:
            if high[m] == u:
                b = ~np.uint64(0)  # a tie: above every bound, so that the draw waits
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
    """Further attempts of the rejected draws, each in the cell that it keeps in `out`."""
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
    """Is the word's uniform clearly below or above the share of the word's place?

    share = P[z] / P[start] = exp(-(h(z) - h(start)) + c(z) - c(start)), by the fields of `Curve`.

    Its error is below 2^-36, so that a margin of 2^-30 is safe.  Start, end and core are integers
    below 2^53, and h grows by less than 0.12 within a cell: h(z) - h(start) and exp err by less
    than 2^-48 on any machine.  c leaves out (s⁶ + 6 s⁴ p + 3 s² p² - p³)/181440 and higher orders,
    less than 2^-41: cells are used only where s² < 2^-10 and p < 2^-18 (Gaussian), or s < 2^-7 and
    p < 2^-8 (Huber).  The bits of the uniform that follow the word weigh less than 2^-36.
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
    """c(z) of `Curve`: what the integral over a unit adds to the log density at its middle."""
    precision: float = curve[0]
    core: float = curve[1]
    edge: float = curve[3]
    tail: float = curve[4]
    if z >= core:
        return edge if z == core else tail
    s = (z * precision) ** 2
    second = s * s + 4.0 * s * precision - 2.0 * precision * precision
    return (s - precision) / 24.0 - second / 2880.0
