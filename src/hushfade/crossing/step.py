"""One step of the mechanism, compiled: private integers, the crossing, public floats.

    v_t = Σ_n r̃_n x_{t-n}             private, exact int64      private.right_product
    y_t = (gain_t v_t + z_t) / gain_t  the crossing              `cross`, below
    u_t = (y / r̃)_t                   public                    public.left_quotient
    s_t = Σ_k f_k u_{t-k}              public: the decayed sum   public.decayed_sum

With block sums, v_t is a sum over a block of steps (private.block_totals), and u_t is the amount
that y_t adds to the prefix sum (public.block_differences).

`cross` is the only place that adds noise to private data.  Single steps and blocks, one lane and
many, all lanes or a range of them, give the same bits.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled, inlined, short
from hushfade.crossing.memory import (
    BLOCK_PERIOD,
    BLOCK_SUMS,
    BLOCK_TOTAL,
    CARRIED,
    DEPTH,
    FADED,
    FADES,
    GAIN,
    GAINS,
    HEIGHTS,
    JUMPS,
    LAGS,
    LANES,
    LENGTHS,
    LEVELS,
    LISTED,
    LISTED_WEIGHTS,
    NEAR,
    PAST,
    PAST_ROWS,
    PERIOD,
    POLE_WEIGHTS,
    POLES,
    RELEASED,
    RENEWED,
    RESUMMED,
    RISES,
    SEEN,
    SEEN_ROWS,
    SINGLE,
    SUMMED,
    SUMS,
    WINDOW_WEIGHTS,
    WINDOWS,
)
from hushfade.factors.block_levels import level_of
from hushfade.factors.taps import Jumps
from hushfade.group_sizes import BLOCK, LONG_BLOCK
from hushfade.private.block_totals import add_block, add_block_row, add_blocks
from hushfade.private.right_product import product_block, product_row, scaled_block
from hushfade.public.block_differences import (
    Blocks,
    difference,
    difference_block,
    difference_row,
)
from hushfade.public.decayed_sum import Sums, decay_block, decay_row, fade
from hushfade.public.left_product import Left
from hushfade.public.left_quotient import Quotients, level, quotient_block, quotient_row
from hushfade.public.recursion import TOGETHER, Parts
from hushfade.ring_buffers import write

WIDE, NARROW = 1024, 256  # lanes at a time: for one step; for many, so that the past is cached


@inlined
def cross(v: int, z: int, gain: int) -> float:
    """The public value y = (gain v + z) / gain, from the private integer v and the noise z."""
    return (gain * v + z) / gain


@short("float64(int64, int64, int64, int64[::1], float64[::1])")
def advance_single(step: int, x: int, z: int, integers: Signed, floats: Column) -> float:
    """s_t of one step of one lane, like `advance_block` but without arrays to slice and fill."""
    N, F = integers, floats
    jumps, lags, period, single, depth = N[JUMPS], N[LAGS], N[PERIOD], N[SINGLE], N[DEPTH]
    block_level = 0
    if depth:
        block_level = level_of(step, N[BLOCK_PERIOD], depth, N[BLOCK_TOTAL])

    sums, past, ring, rises = N[SUMS], N[PAST_ROWS], N[PAST], N[RISES]
    here = step % past
    N[ring + here] = x
    if single:
        v = single * x
    else:
        v = N[sums]
        for j in range(jumps):
            row = here - N[lags + j]
            v += N[rises + j] * N[ring + (row if row >= 0 else row + past)]
    if depth:
        v = add_block(v, block_level, N[N[BLOCK_SUMS] : N[BLOCK_SUMS] + depth])
    N[sums] = v

    y = cross(v, z, N[N[GAIN] + step] if N[GAINS] else 1)
    if depth:
        y = difference(y, block_level, F[N[RELEASED] : N[RELEASED] + depth])

    heights, levels, carried, renewed = N[HEIGHTS], N[LEVELS], N[CARRIED], N[RENEWED]
    rows, seen = N[SEEN_ROWS], N[SEEN]
    here = step % rows
    to_come = period - 1 - step % period
    if single:
        u = y / single
    else:
        back = 0.0
        for j in range(jumps - 1):
            row = here - N[lags + j]
            back += F[heights + j] * F[seen + (row if row >= 0 else row + rows)]
        u = (y - F[carried] - back) * (1.0 / F[heights + jumps - 1])
    F[seen + here] = u
    F[carried] = y
    if not single and (to_come < N[lags] or F[levels] != 0.0):
        F[renewed] += level(to_come, N[lags : lags + jumps], F[levels : levels + jumps]) * u
        if to_come == 0:
            F[carried] = F[renewed]
            F[renewed] = 0.0

    poles, fades, weights, faded = N[POLES], N[FADES], N[POLE_WEIGHTS], N[FADED]
    s = 0.0
    if poles >= TOGETHER:
        s = fade(
            u,
            F[fades : fades + poles],
            F[weights : weights + poles],
            F[faded : faded + poles],
            np.empty(poles),
        )
    else:
        for p in range(poles):
            F[faded + p] += u - F[fades + p] * F[faded + p]
            s += F[weights + p] * F[faded + p]
    for w in range(N[WINDOWS]):
        length, summed, resummed = N[N[LENGTHS] + w], N[SUMMED] + w, N[RESUMMED] + w
        row = here - length
        F[summed] += u - F[seen + (row if row >= 0 else row + rows)]
        s += F[N[WINDOW_WEIGHTS] + w] * F[summed]
        if to_come < length:
            F[resummed] += u
        if to_come == 0:
            F[summed] = F[resummed]
            F[resummed] = 0.0
    for k in range(N[LISTED]):
        row = here - k
        s += F[N[LISTED_WEIGHTS] + k] * F[seen + (row if row >= 0 else row + rows)]
    return float(s)


@compiled
def advance_block(
    step: int, x: Signed, z: Signed, integers: Signed, floats: Column, out: Column
) -> None:
    """Take len(x) steps of one lane, and write s at each of them to `out`."""
    sums, block_sums, past, gain = _private(integers)
    jumps, parts, period, blocks, quotients, decayed = _public(integers, floats)
    longest = LONG_BLOCK if jumps.single else BLOCK
    v = np.empty(longest, np.int64)
    y, u, back = np.empty(longest), np.empty(longest), np.empty(longest)
    ring, seen = past.ravel(), quotients.ring.ravel()
    start = 0
    while start < len(x):
        t = step + start
        n = min(longest, len(x) - start, period - t % period)
        end = start + n
        if jumps.single:
            sums[0] = scaled_block(t, x[start:end], jumps.single, ring, v)
        else:
            sums[0] = product_block(t, x[start:end], jumps, ring, sums[0], v)
        if len(block_sums):
            add_blocks(t, blocks.period, blocks.total, v[:n], block_sums.ravel())
            sums[0] = v[n - 1]
        for i in range(n):
            y[i] = cross(v[i], z[start + i], gain[t + i] if len(gain) else 1)
        if len(block_sums):
            difference_block(t, y[:n], blocks)
        quotient_block(t, y[:n], period, jumps, quotients, back, u)
        decay_block(t, u[:n], period, parts, quotients.ring, decayed, out[start:end])
        write(seen, t % len(seen), u[:n])
        start = end


@compiled
def advance_lanes(
    step: int,
    low: int,
    high: int,
    x: Signed,
    z: Signed,
    integers: Signed,
    floats: Column,
    out: Matrix,
) -> None:
    """Take x.shape[0] steps of lanes low, ..., high-1, and write s to the same columns of `out`.

    Ranges of lanes share no memory, so different threads may take them.
    """
    sums, block_sums, past, gain = _private(integers)
    jumps, parts, period, blocks, quotients, decayed = _public(integers, floats)
    depth, block_level = len(block_sums), 0
    tile = min(high - low, WIDE if x.shape[0] == 1 else NARROW)
    y, back, partial = np.empty(tile), np.empty(tile), np.empty((TOGETHER, tile))
    while low < high:
        end = min(low + tile, high)
        u = y[: end - low]
        for i in range(x.shape[0]):
            t = step + i
            weight = gain[t] if len(gain) else 1
            new, kept, noise = x[i][low:end], past[t % past.shape[0]][low:end], z[i][low:end]
            for lane in range(len(u)):
                kept[lane] = new[lane]
            product_row(t, low, end, jumps, past, sums)
            v = sums[low:end]
            if depth:
                block_level = level_of(t, blocks.period, depth, blocks.total)
                add_block_row(block_level, low, end, v, block_sums)
            for lane in range(len(u)):
                u[lane] = cross(v[lane], noise[lane], weight)
            if depth:
                difference_row(block_level, low, end, u, blocks.sums)
            quotient_row(t, low, end, u, period, jumps, quotients, back)
            row = out[i][low:end]
            decay_row(t, low, end, u, period, parts, quotients.ring, decayed, partial, row)
        low = end


@compiled
def _private(integers: Signed) -> tuple[Signed, Signed, Signed, Signed]:
    """v of each lane, the sums of open blocks, the ring of past x, and the gain by step.

    The sums are empty without blocks, and the gains without a gain per step.
    """
    N = integers
    rows, lanes, depth = N[PAST_ROWS], N[LANES], N[DEPTH]
    sums, open_sums, ring, gain = N[SUMS], N[BLOCK_SUMS], N[PAST], N[GAIN]
    block_sums = N[open_sums : open_sums + depth * lanes].reshape((depth, lanes))
    past = N[ring : ring + rows * lanes].reshape((rows, lanes))
    return N[sums : sums + lanes], block_sums, past, N[gain : gain + N[GAINS]]


@compiled
def _public(integers: Signed, floats: Column) -> Left:
    """The constants and the state of L, one column per lane."""
    N, F = integers, floats
    J, W, P, K, D = N[JUMPS], N[WINDOWS], N[POLES], N[LISTED], N[DEPTH]
    rows, lanes = N[SEEN_ROWS], N[LANES]
    jumps = Jumps(
        N[N[LAGS] : N[LAGS] + J],
        N[N[RISES] : N[RISES] + J],
        F[N[HEIGHTS] : N[HEIGHTS] + J],
        F[N[LEVELS] : N[LEVELS] + J],
        F[N[NEAR] : N[NEAR] + BLOCK],
        N[SINGLE],
    )
    parts = Parts(
        N[N[LENGTHS] : N[LENGTHS] + W],
        F[N[FADES] : N[FADES] + P],
        F[N[POLE_WEIGHTS] : N[POLE_WEIGHTS] + P],
        F[N[WINDOW_WEIGHTS] : N[WINDOW_WEIGHTS] + W],
        F[N[LISTED_WEIGHTS] : N[LISTED_WEIGHTS] + K],
    )
    blocks = Blocks(
        N[BLOCK_PERIOD],
        N[BLOCK_TOTAL],
        F[N[RELEASED] : N[RELEASED] + D * lanes].reshape((D, lanes)),
    )
    quotients = Quotients(
        F[N[SEEN] : N[SEEN] + rows * lanes].reshape((rows, lanes)),
        F[N[CARRIED] : N[CARRIED] + lanes],
        F[N[RENEWED] : N[RENEWED] + lanes],
    )
    sums = Sums(
        F[N[FADED] : N[FADED] + P * lanes].reshape((P, lanes)),
        F[N[SUMMED] : N[SUMMED] + W * lanes].reshape((W, lanes)),
        F[N[RESUMMED] : N[RESUMMED] + W * lanes].reshape((W, lanes)),
    )
    return Left(jumps, parts, N[PERIOD], blocks, quotients, sums)
