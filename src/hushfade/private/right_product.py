"""The private product v = R̃ x, exact in int64: one multiply-add per jump of the taps and step.

    v_t = v_{t-1} + Σ_j D_j x_{t-n_j}        v_t = r̃_0 x_t if r̃_0 is the only tap

A loop exists twice because memory is read in two ways: a block of steps of one lane, and one step
of many lanes.  Integer sums are exact, so both loops give the same values.
"""

from __future__ import annotations

from hushfade.check import Signed
from hushfade.compiled import compiled
from hushfade.factors.taps import Jumps
from hushfade.ring_buffers import add_past, write, write_short


@compiled
def product_block(step: int, x: Signed, jumps: Jumps, ring: Signed, v: int, out: Signed) -> int:
    """The last v of a block of one lane, for several taps; writes v at each step to `out`."""
    lags, rises = jumps.lags, jumps.rises
    n = len(x)
    here = step % len(ring)
    write_short(ring, here, x)
    for i in range(n):
        out[i] = 0
    for j in range(len(lags)):
        add_past(out, rises[j], ring, here - lags[j], n)
    for i in range(n):
        v += out[i]
        out[i] = v
    return v


@compiled
def scaled_block(step: int, x: Signed, tap: int, ring: Signed, out: Signed) -> int:
    """The same for a single tap."""
    write(ring, step % len(ring), x)
    for i in range(len(x)):
        out[i] = tap * x[i]
    return int(out[len(x) - 1])


@compiled
def product_row(step: int, low: int, high: int, jumps: Jumps, ring: Signed, sums: Signed) -> None:
    """Update v in `sums` for one step of lanes low, ..., high-1; x_t is already in the ring."""
    lags, rises = jumps.lags, jumps.rises
    rows = ring.shape[0]
    here = step % rows
    v = sums[low:high]
    if jumps.single:
        new = ring[here][low:high]
        for lane in range(len(v)):
            v[lane] = jumps.single * new[lane]
        return
    for j in range(len(lags)):
        row, d = here - lags[j], rises[j]
        if row < 0:
            row += rows
        past = ring[row][low:high]
        for lane in range(len(v)):
            v[lane] += d * past[lane]
