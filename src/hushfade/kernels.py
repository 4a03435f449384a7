"""Compiled loops.  Imported only when used: numba takes half a second to load."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.gaussian import Unsigned

States = NDArray[np.uint8]

# what is known of a draw: its value, its cell only, or nothing that floats could decide
DECIDED, REJECTED, REJECTED_NEGATIVE, DOUBTFUL = 0, 1, 2, 3

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def decode(words: Unsigned, high: Unsigned, low: Unsigned, guide: Signed, out: Signed) -> None:
    """Draws of a table with k = 0: 127 bits find the magnitude, one bit is the sign."""
    for i in range(len(out)):
        a, b = words[i, 0], words[i, 1]
        u = a >> np.uint64(1)
        m = guide[a >> np.uint64(53)]
        while high[m] < u or (high[m] == u and low[m] <= b):
            m += 1
        out[i] = -m if a & np.uint64(1) else m


@_compiled
def decode_cells(
    words: Unsigned,
    high: Unsigned,
    guide: Signed,
    k: int,
    sigma: float,
    margin: float,
    out: Signed,
    state: States,
) -> None:
    """First attempts with k > 0: 63 bits find the cell, the second word the place inside it.

    A rejected lane keeps its cell in `out` for `place`; a tie of the 63 bits is doubtful.
    """
    precision, unit = 1.0 / (sigma * sigma), 2.0 ** (k - 64)
    for i in range(len(out)):
        a = words[i, 0]
        u = a >> np.uint64(1)
        m = guide[a >> np.uint64(53)]
        while high[m] < u:
            m += 1
        negative = int(a & np.uint64(1))
        if high[m] == u:
            state[i] = DOUBTFUL
        else:
            state[i] = _placed(words[i, 1], m, negative, k, precision, unit, margin, out, i)


@_compiled
def place(
    words: Unsigned,
    lanes: Signed,
    k: int,
    sigma: float,
    margin: float,
    out: Signed,
    state: States,
) -> None:
    """Further attempts of the rejected lanes, each in the cell that it keeps in `out`."""
    precision, unit = 1.0 / (sigma * sigma), 2.0 ** (k - 64)
    for i in range(len(lanes)):
        lane = lanes[i]
        negative = int(state[lane] == REJECTED_NEGATIVE)
        state[lane] = _placed(
            words[i, 1], out[lane], negative, k, precision, unit, margin, out, lane
        )


@numba.njit(cache=True, inline="always", error_model="numpy")
def _placed(
    word: int,
    cell: int,
    negative: int,
    k: int,
    precision: float,
    unit: float,
    margin: float,
    out: Signed,
    lane: int,
) -> int:
    """Put the value into out[lane] if the uniform is clearly below the place's share.

    share = P[z] / P[start] = exp(-(z² - start²) / 2σ²) (1 + (z² - start²) / 24σ⁴ + O(σ⁻⁴)).
    """
    start = np.int64(cell) << k
    offset = np.int64(word & np.uint64((1 << k) - 1))
    drawn = np.float64(word >> np.uint64(k)) * unit
    magnitude = start + offset
    growth = (float(start) + 0.5 * offset) * offset * precision
    if drawn < 1.0 - growth - margin and magnitude != 0:  # e^-g ≥ 1 - g: no need of the share
        out[lane] = -magnitude if negative else magnitude
        return DECIDED
    share = np.exp(-growth) * (1.0 + growth * precision / 12.0)
    if magnitude == 0:
        share = 0.5
    if drawn < share - margin:
        out[lane] = -magnitude if negative else magnitude
        return DECIDED
    out[lane] = cell
    if drawn > share + margin:
        return REJECTED_NEGATIVE if negative else REJECTED
    return DOUBTFUL
