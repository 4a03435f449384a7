"""Draws from a table, each a function of its own random 64-bit words.

A cell A contains 2^k magnitudes.  It is drawn from a cumulative table of 127-bit probabilities; for
k = 0 the cell is the magnitude.  For k > 0 the place r inside the cell is drawn uniformly, and
accepted with probability P[A 2^k + r] / P[A 2^k], which is near 1 (½ for z = 0, which has one
sign).  If it is rejected, a new place is drawn in the same cell.

The same words give the same draw on every machine.  Tables are computed with integers and decimal
numbers.  A float accepts or rejects a place only if the uniform number is farther than 2^-30 from
its share, and the error of the float is far smaller (`sampling`).  Closer cases are decided by
exact arithmetic with 128 further bits.  So every decision agrees with exact arithmetic.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from functools import cache
from types import ModuleType
from typing import Protocol

import numpy as np

from hushfade.check import Signed, Unsigned
from hushfade.crossing.exact_probabilities.fixed_point import precise
from hushfade.crossing.sampling_tables import GUIDE_BITS, MARGIN, Table

_CHUNK = 1 << 13  # draws at a time, so that their words stay in the cache
_SPAN = 16 * _CHUNK  # the rejected draws of a span are drawn again together
_UNIFORM_SLOT, _CELL_SLOT = 1 << 15, 3 << 14


class Words(Protocol):
    """Two random words for each draw and slot, one row per draw; draws are counted from 0.

    The rows are valid until the next call.  Further rows of the array have no meaning.
    """

    def first(self, start: int, count: int) -> Unsigned:
        """The words of slot 0 of `count` draws, beginning at `start`."""

    def listed(self, places: Signed, slot: int) -> Unsigned:
        """The words of one slot of the draws at `places`."""


@cache
def loops() -> ModuleType:
    """The module `sampling`, loaded on first use."""
    from hushfade.crossing import sampling

    return sampling


def fill(out: Signed, table: Table, words: Words) -> None:
    """Write independent draws into `out`.

    Slot 0 is for the first attempt, and slot j for attempt j.  Slot 2^15 + j extends the uniform
    number of attempt j, and slot 3 · 2^14 extends the 63 bits of the cell.
    Cost: one pair of words and 2 to 3 nanoseconds per draw.
    """
    if table.k > 0:
        left = np.empty((2, min(len(out), _SPAN)), dtype=np.int64)
        for start in range(0, len(out), _SPAN):
            _fill_span(out, table, words, start, left)
        return
    decode = loops().decode
    for start in range(0, len(out), _CHUNK):
        part = out[start : start + _CHUNK]
        first = words.first(start, len(part))
        decode(first, table.high, table.low, table.guide, 64 - GUIDE_BITS, part)


def _fill_span(out: Signed, table: Table, words: Words, begin: int, left: Signed) -> None:
    """Fill the span of `out` that starts at `begin`; `left` lists rejected and doubtful draws."""
    kernels = loops()
    shape = (table.k, table.curve, MARGIN)
    tables = (table.high, table.sure, table.guide, 64 - GUIDE_BITS)
    rejected = doubtful = 0
    for start in range(begin, min(begin + _SPAN, len(out)), _CHUNK):
        part = out[start : start + _CHUNK]
        first = words.first(start, len(part))
        rejected, doubtful = kernels.decode_cells(
            first, start, *tables, *shape, part, left, rejected, doubtful
        )
    attempt = 1
    while rejected:
        again = words.listed(left[0, :rejected], attempt)
        rejected, doubtful = kernels.place(again, *shape, out, left, rejected, doubtful)
        attempt += 1
    for place in left[1, :doubtful].tolist():  # about one draw in 2^29
        out[place] = _exactly(table, place, words)


def _exactly(table: Table, place: int, words: Words) -> int:
    """One draw by exact arithmetic, attempt after attempt."""
    where = np.array([place], dtype=np.int64)

    def pair(slot: int) -> tuple[int, int]:
        row = words.listed(where, slot)
        return int(row[0, 0]), int(row[0, 1])

    first, second = pair(0)
    further, _ = pair(_CELL_SLOT)
    cell = bisect_right(table.above, (first >> 1 << 64) | further)
    attempt = 0
    while True:
        inside = second & ((1 << table.k) - 1)
        middle, lower = pair(_UNIFORM_SLOT + attempt)
        uniform = (second >> table.k << 128) | middle << 64 | lower
        if _accepted(table, cell, inside, uniform, 192 - table.k):
            magnitude = (cell << table.k) + inside
            return -magnitude if first & 1 else magnitude
        attempt += 1
        _, second = pair(attempt)


def _accepted(table: Table, cell: int, place: int, uniform: int, bits: int) -> bool:
    """Whether uniform / 2^bits is below the share P[z] / P[start] of this place."""
    start = cell << table.k
    z = start + place
    if z == 0:  # -0 and +0 are one value; all other magnitudes have two signs
        return uniform < 1 << (bits - 1)
    with precise():
        share = table.exact.probability(z) / table.exact.probability(start)
        return Decimal(uniform) / (1 << bits) < share
