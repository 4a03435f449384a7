"""The crossing, compiled: private integers, noise, public floats, in one loop.

    v_t = Σ_n r̃_n x_{t-n}          private, exact int64         convolve.stepped
    y_t = gain_t v_t + z_t          the crossing                  here
    u_t = (y / gain / r̃)_t         public                        convolve.stepped
    s_t = Σ_k f_k u_{t-k}           public: the decayed sum       convolve.recursive

Single steps and blocks, one lane and many, in one go or by ranges of lanes, give the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled, short
from hushfade.convolve import BLOCK
from hushfade.convolve.recursive import Parts, Sums, decay_block, decay_row, fade
from hushfade.convolve.stepped import (
    Jumps,
    Quotients,
    level,
    product_block,
    product_row,
    quotient_block,
    quotient_row,
)
from hushfade.public.recursion import TOGETHER

WIDE, NARROW = 1024, 256  # lanes at a time: for one step, and for many, whose past stays in cache
_HEAD = 12


class Memory(NamedTuple):
    """A stream's constants and state in two flat arrays, which cost little to hand over.

    Both begin with constants; the state follows, the rings last.
    """

    integers: Signed
    floats: Column

    @property
    def state(self) -> tuple[Signed, Column]:
        """The part that changes."""
        return self.integers[self.integers[10] :], self.floats[self.integers[11] :]


class Private(NamedTuple):
    """What the private half remembers, a column per lane."""

    sums: Signed  # v
    ring: Signed  # past x


def memory(
    jumps: Jumps, gain: Signed, parts: Parts, rows: tuple[int, int], lanes: int, period: int
) -> Memory:
    """Constants, and a blank state with rings of so many rows for x and for u.

    The rings are zeros that the operating system gives when they are first written to.
    """
    past, seen = rows
    sizes = [len(jumps.lags), len(gain), *(len(part) for part in parts[:2]), len(parts.listed)]
    fixed = np.concatenate([jumps.lags, jumps.rises, gain, parts.windows])
    weights = np.concatenate([jumps.heights, jumps.levels, jumps.near, *parts[1:]])
    poles, windows = len(parts.fades), len(parts.windows)
    head = [*sizes, past, seen, lanes, period, 0, _HEAD + len(fixed), len(weights)]
    integers = np.zeros(head[10] + (1 + past) * lanes, dtype=np.int64)
    floats = np.zeros(head[11] + (2 + poles + 2 * windows + seen) * lanes)
    integers[:_HEAD] = head
    integers[_HEAD : _HEAD + len(fixed)] = fixed
    floats[: len(weights)] = weights
    return Memory(integers, floats)


@compiled
def _constants(integers: Signed, floats: Column) -> tuple[Jumps, Signed, Parts]:
    J, G, W, P, K = integers[0], integers[1], integers[2], integers[3], integers[4]
    a = _HEAD + J
    b = a + J
    c = b + G
    d = J + J
    e = d + BLOCK
    f = e + P
    g = f + P
    h = g + W
    k = h + K
    jumps = Jumps(integers[_HEAD:a], integers[a:b], floats[:J], floats[J:d], floats[d:e])
    parts = Parts(integers[c : c + W], floats[e:f], floats[f:g], floats[g:h], floats[h:k])
    return jumps, integers[b:c], parts


@compiled
def _state(integers: Signed, floats: Column) -> tuple[Private, Quotients, Sums]:
    W, P, past, seen, lanes = integers[2], integers[3], integers[5], integers[6], integers[7]
    a = integers[10]
    b = a + lanes
    private = Private(integers[a:b], integers[b : b + past * lanes].reshape((past, lanes)))
    c = integers[11]
    d = c + lanes
    e = d + lanes
    f = e + P * lanes
    g = f + W * lanes
    h = g + W * lanes
    ring = floats[h : h + seen * lanes].reshape((seen, lanes))
    faded = floats[e:f].reshape((P, lanes))
    summed, renewed = floats[f:g].reshape((W, lanes)), floats[g:h].reshape((W, lanes))
    return private, Quotients(ring, floats[c:d], floats[d:e]), Sums(faded, summed, renewed)


@short("float64(int64, int64, int64, int64[::1], float64[::1])")
def advance_single(step: int, x: int, z: int, integers: Signed, floats: Column) -> float:
    """One step of one lane: s_t.  What `advance_block` does, without arrays to cut out and fill."""
    N, F = integers, floats
    J, G, W, P, K, past, seen, period = N[0], N[1], N[2], N[3], N[4], N[5], N[6], N[8]
    lags, rises, sums = _HEAD, _HEAD + J, N[10]
    here = step % past
    N[sums + 1 + here] = x
    v = N[sums]
    for j in range(J):
        row = here - N[lags + j]
        v += N[rises + j] * N[sums + 1 + (row if row >= 0 else row + past)]
    N[sums] = v
    gain = N[rises + J + step] if G else 1
    y = (gain * v + z) / gain

    carried = N[11]
    faded = carried + 2
    summed = faded + P
    ring = summed + 2 * W
    here = step % seen
    back = 0.0
    for j in range(J - 1):
        row = here - N[lags + j]
        back += F[j] * F[ring + (row if row >= 0 else row + seen)]
    u = (y - F[carried] - back) * (1.0 / F[J - 1])
    F[ring + here] = u
    F[carried] = y
    to_come = period - 1 - step % period
    if to_come < N[lags] or F[J] != 0.0:
        F[carried + 1] += level(to_come, N[lags:rises], F[J : J + J]) * u
        if to_come == 0:
            F[carried] = F[carried + 1]
            F[carried + 1] = 0.0

    fades = J + J + BLOCK
    weights, window_weights = fades + P, fades + P + P
    s = 0.0
    if P >= TOGETHER:
        s = fade(u, F[fades:weights], F[weights:window_weights], F[faded:summed])
    else:
        for p in range(P):
            F[faded + p] += u - F[fades + p] * F[faded + p]
            s += F[weights + p] * F[faded + p]
    for w in range(W):
        length = N[rises + J + G + w]
        row = here - length
        F[summed + w] += u - F[ring + (row if row >= 0 else row + seen)]
        s += F[window_weights + w] * F[summed + w]
        if to_come < length:
            F[summed + W + w] += u
        if to_come == 0:
            F[summed + w] = F[summed + W + w]
            F[summed + W + w] = 0.0
    for k in range(K):
        row = here - k
        s += F[window_weights + W + k] * F[ring + (row if row >= 0 else row + seen)]
    return float(s)


@compiled
def advance_block(
    step: int, x: Signed, z: Signed, integers: Signed, floats: Column, out: Column
) -> None:
    """len(x) steps of one lane: s at each of them into `out`."""
    jumps, gain, parts = _constants(integers, floats)
    private, quotients, sums = _state(integers, floats)
    period = integers[8]
    v = np.empty(BLOCK, np.int64)
    y, u, back = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    ring = private.ring.ravel()
    start = 0
    while start < len(x):
        t = step + start
        n = min(BLOCK, len(x) - start, period - t % period)
        end = start + n
        private.sums[0] = product_block(t, x[start:end], jumps, ring, private.sums[0], v)
        for i in range(n):
            if len(gain):
                y[i] = (gain[t + i] * v[i] + z[start + i]) / gain[t + i]
            else:
                y[i] = float(v[i] + z[start + i])
        quotient_block(t, y[:n], period, jumps, quotients, back, u)
        decay_block(t, u[:n], period, parts, quotients.ring, sums, out[start:end])
        start = end


@compiled
def answer_block(step: int, y: Column, integers: Signed, floats: Column, out: Column) -> None:
    """What one lane of the public half makes of what crosses: L y."""
    jumps, _, parts = _constants(integers, floats)
    _, quotients, sums = _state(integers, floats)
    period = integers[8]
    u, back = np.empty(BLOCK), np.empty(BLOCK)
    start = 0
    while start < len(y):
        t = step + start
        n = min(BLOCK, len(y) - start, period - t % period)
        end = start + n
        quotient_block(t, y[start:end], period, jumps, quotients, back, u)
        decay_block(t, u[:n], period, parts, quotients.ring, sums, out[start:end])
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
    """x.shape[0] steps of lanes low, ..., high-1: s into the same columns of `out`.

    Ranges of lanes have nothing in common: threads may take one each.
    """
    jumps, gain, parts = _constants(integers, floats)
    private, quotients, sums = _state(integers, floats)
    period, past = integers[8], integers[5]
    tile = WIDE if x.shape[0] == 1 else NARROW
    y, back, partial = np.empty(tile), np.empty(tile), np.empty((TOGETHER, tile))
    while low < high:
        end = min(low + tile, high)
        u = y[: end - low]
        for i in range(x.shape[0]):
            t = step + i
            weight = gain[t] if len(gain) else 1
            new, kept, noise = x[i][low:end], private.ring[t % past][low:end], z[i][low:end]
            for lane in range(len(u)):
                kept[lane] = new[lane]
            product_row(t, low, end, jumps, private.ring, private.sums)
            v = private.sums[low:end]
            for lane in range(len(u)):
                u[lane] = (weight * v[lane] + noise[lane]) / weight
            quotient_row(t, low, end, u, period, jumps, quotients, back)
            decay_row(t, low, end, u, period, parts, quotients.ring, sums, partial, out[i][low:end])
        low = end
