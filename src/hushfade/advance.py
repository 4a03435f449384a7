"""The stream's step, compiled: private integers, the crossing, public floats, in one loop.

    v_t = v_{t-1} + Σ_j D_j x_{t-n_j}                                private, exact int64
    y_t = gain_t v_t + z_t                                           the crossing
    u_t = (y_t / gain_t - c_{t-1} - Σ_{j≥1} D_j u_{t-n_j}) / D_0      public: y / r̃
    s_t = Σ_i w_i e_i + Σ_k weight_k window_k + Σ_k f_k u_{t-k}        public: the decay

D_j are the jumps of the integer taps r̃ at the lags n_j, c_t = Σ_n r̃_n u_{t-n} (= y_t / gain_t, but
recomputed from u every RENEW steps, so that rounding does not add up), e_i ← e_i - q_i e_i + u_t.

Blocks and single steps, one lane and many, give the same bits: the order of a step's floating point
operations is fixed (jumps by falling lag; many poles in eight partial sums).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from hushfade.check import Column, Signed
from hushfade.recursion import TOGETHER

RENEW = 1 << 12
BLOCK = 32  # steps written to the rings at once: they have this many rows to spare

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


class Constants(NamedTuple):
    """What a plan fixes."""

    lags: Signed  # falling, so that the nearest is added last
    jumps: Signed
    gain: Signed  # per step of the horizon; empty for all ones
    windows: Signed
    heights: Column  # the jumps as floats
    fades: Column
    pole_weights: Column
    window_weights: Column
    listed: Column  # a custom decay's weights


class State(NamedTuple):
    """What a stream remembers, one column per lane; rings have a power of two of rows."""

    totals: Signed  # private: the ring of past x
    sums: Signed  # private: v
    quotients: Column  # public: the ring of past u
    carried: Column  # public: c
    faded: Column  # public: e, a row per pole
    summed: Column  # public: a row per window


class Packed(NamedTuple):
    """Constants and state in five flat arrays, which cost little to hand to compiled code."""

    sizes: Signed
    fixed_integers: Signed
    fixed_floats: Column
    integers: Signed
    floats: Column


def packed(constants: Constants, past: int, seen: int, lanes: int) -> Packed:
    """A blank state of the constants' kind, with rings of `past` and `seen` rows."""
    sizes = [*(len(part) for part in constants), past, seen, lanes]
    poles, windows = len(constants.fades), len(constants.windows)
    return Packed(
        np.array(sizes, dtype=np.int64),
        np.concatenate(constants[:4]).astype(np.int64),
        np.concatenate(constants[4:]).astype(np.float64),
        np.zeros((past + 1) * lanes, dtype=np.int64),
        np.zeros((seen + 1 + poles + windows) * lanes),
    )


@_compiled
def _unpacked(
    sizes: Signed, fixed_integers: Signed, fixed_floats: Column, integers: Signed, floats: Column
) -> tuple[Constants, State]:
    lags, gain, windows, fades, listed = sizes[0], sizes[2], sizes[3], sizes[5], sizes[8]
    past, seen, lanes = sizes[9], sizes[10], sizes[11]
    a, b = lags + lags, lags + lags + gain
    c, d = lags + fades, lags + 2 * fades
    constants = Constants(
        fixed_integers[:lags],
        fixed_integers[lags:a],
        fixed_integers[a:b],
        fixed_integers[b : b + windows],
        fixed_floats[:lags],
        fixed_floats[lags:c],
        fixed_floats[c:d],
        fixed_floats[d : d + windows],
        fixed_floats[d + windows : d + windows + listed],
    )
    e, f = (seen + 1) * lanes, (seen + 1 + fades) * lanes
    state = State(
        integers[: past * lanes].reshape((past, lanes)),
        integers[past * lanes :],
        floats[: seen * lanes].reshape((seen, lanes)),
        floats[seen * lanes : e],
        floats[e:f].reshape((fades, lanes)),
        floats[f:].reshape((windows, lanes)),
    )
    return constants, state


@_compiled
def advance(
    step: int,
    x: Signed,
    z: Signed,
    sizes: Signed,
    fixed_integers: Signed,
    fixed_floats: Column,
    integers: Signed,
    floats: Column,
    out: Column,
) -> None:
    """Take x.shape[0] steps from `step` on and fill `out` with the decayed sums.

    Cost per step and lane: two multiply-adds per jump, one per pole.
    """
    constants, state = _unpacked(sizes, fixed_integers, fixed_floats, integers, floats)
    if x.shape[1] == 1:
        _advance_one(step, x.ravel(), z.ravel(), constants, state, out.ravel())
    else:
        _advance_many(step, x, z, constants, state, out)


@_compiled
def advance_single(
    step: int,
    x: int,
    z: int,
    sizes: Signed,
    fixed_integers: Signed,
    fixed_floats: Column,
    integers: Signed,
    floats: Column,
) -> float:
    """One step of one lane: the same as `advance`, without arrays to hand over."""
    constants, state = _unpacked(sizes, fixed_integers, fixed_floats, integers, floats)
    both, out = np.empty(2, np.int64), np.empty(1)
    both[0], both[1] = x, z
    _advance_one(step, both[:1], both[1:], constants, state, out)
    return float(out[0])


@_compiled
def _advance_one(
    step: int, x: Signed, z: Signed, constants: Constants, state: State, out: Column
) -> None:
    """One lane.  Sums over lags beyond the block run along it, so that they use wide registers."""
    lags, jumps, gain, windows, heights, fades, pole_weights, window_weights, listed = constants
    totals, quotients = state.totals.ravel(), state.quotients.ravel()  # views: they are contiguous
    faded, summed = state.faded.ravel(), state.summed.ravel()
    past, seen = len(totals) - 1, len(quotients) - 1
    v, carried = state.sums[0], state.carried[0]
    last = len(lags) - 1
    inverse = 1.0 / heights[last]
    added = np.empty(BLOCK, dtype=np.int64)
    known = np.empty(BLOCK)
    grouped = len(fades) >= TOGETHER
    partial = np.empty(TOGETHER)
    start = 0
    while start < len(x):
        t0 = step + start
        n = min(BLOCK, len(x) - start, RENEW - t0 % RENEW)
        for i in range(n):
            totals[(t0 + i) & past] = x[start + i]
            added[i] = 0
            known[i] = 0.0
        for j in range(last + 1):
            row, d = (t0 - lags[j]) & past, jumps[j]
            if row + n <= past + 1:
                for i in range(n):
                    added[i] += d * totals[row + i]
            else:
                for i in range(n):
                    added[i] += d * totals[(row + i) & past]
        far = 0
        while far < last and lags[far] >= n:
            row, height = (t0 - lags[far]) & seen, heights[far]
            if row + n <= seen + 1:
                for i in range(n):
                    known[i] += height * quotients[row + i]
            else:
                for i in range(n):
                    known[i] += height * quotients[(row + i) & seen]
            far += 1
        for i in range(n):
            t = t0 + i
            v += added[i]
            if len(gain):
                crossed = (gain[t] * v + z[start + i]) / gain[t]
            else:
                crossed = float(v + z[start + i])
            back = known[i]
            for j in range(far, last):
                back += heights[j] * quotients[(t - lags[j]) & seen]
            u = (crossed - carried - back) * inverse
            carried = crossed
            quotients[t & seen] = u
            s = 0.0
            if grouped:
                partial[:] = 0.0
                for p in range(0, len(fades), TOGETHER):
                    for k in range(TOGETHER):
                        faded[p + k] += u - fades[p + k] * faded[p + k]
                        partial[k] += pole_weights[p + k] * faded[p + k]
                for k in range(TOGETHER):
                    s += partial[k]
            else:
                for p in range(len(fades)):
                    faded[p] += u - fades[p] * faded[p]
                    s += pole_weights[p] * faded[p]
            for w in range(len(windows)):
                summed[w] += u - quotients[(t - windows[w]) & seen]
                s += window_weights[w] * summed[w]
            for k in range(len(listed)):
                s += listed[k] * quotients[(t - k) & seen]
            out[start + i] = s
        start += n
        if (step + start) % RENEW == 0:
            _renew(step + start - 1, constants, state)
            carried = state.carried[0]
    state.sums[0], state.carried[0] = v, carried


@_compiled
def _advance_many(
    step: int, x: Signed, z: Signed, constants: Constants, state: State, out: Column
) -> None:
    """Many lanes.  Every sum runs along them."""
    lags, jumps, gain, windows, heights, fades, pole_weights, window_weights, listed = constants
    totals, sums, quotients, carried, faded, summed = state
    past, seen = totals.shape[0] - 1, quotients.shape[0] - 1
    lanes = x.shape[1]
    last = len(lags) - 1
    inverse = 1.0 / heights[last]
    groups = TOGETHER if len(fades) >= TOGETHER else 1
    partial = np.empty((groups, lanes))
    for i in range(x.shape[0]):
        t = step + i
        weight = gain[t] if len(gain) else 1
        for lane in range(lanes):
            totals[t & past, lane] = x[i, lane]
            out[i, lane] = 0.0
        for j in range(last + 1):
            row, d = (t - lags[j]) & past, jumps[j]
            for lane in range(lanes):
                sums[lane] += d * totals[row, lane]
        for j in range(last):
            row, height = (t - lags[j]) & seen, heights[j]
            for lane in range(lanes):
                out[i, lane] += height * quotients[row, lane]
        here = t & seen
        for lane in range(lanes):
            crossed = (weight * sums[lane] + z[i, lane]) / weight
            quotients[here, lane] = (crossed - carried[lane] - out[i, lane]) * inverse
            carried[lane] = crossed
        partial[:] = 0.0
        for p in range(len(fades)):
            for lane in range(lanes):
                e = faded[p, lane]
                e += quotients[here, lane] - fades[p] * e
                faded[p, lane] = e
                partial[p % groups, lane] += pole_weights[p] * e
        out[i] = 0.0
        for k in range(groups):
            for lane in range(lanes):
                out[i, lane] += partial[k, lane]
        for w in range(len(windows)):
            leaving = (t - windows[w]) & seen
            for lane in range(lanes):
                summed[w, lane] += quotients[here, lane] - quotients[leaving, lane]
                out[i, lane] += window_weights[w] * summed[w, lane]
        for k in range(len(listed)):
            row = (t - k) & seen
            for lane in range(lanes):
                out[i, lane] += listed[k] * quotients[row, lane]
        if (t + 1) % RENEW == 0:
            _renew(t, constants, state)


@_compiled
def _renew(t: int, constants: Constants, state: State) -> None:
    """Recompute c and the windows' sums from the u that are kept."""
    lags, jumps, windows = constants.lags, constants.jumps, constants.windows
    quotients, carried, summed = state.quotients, state.carried, state.summed
    seen = quotients.shape[0] - 1
    carried[:] = 0.0
    height = 0
    for j in range(len(lags) - 1, -1, -1):  # from lag 0 on: r̃ is constant between jumps
        height += jumps[j]
        end = lags[j - 1] if j > 0 else t + 1  # taps that a horizon cuts have no last jump
        if height:
            for n in range(lags[j], min(end, t + 1)):
                row = (t - n) & seen
                for lane in range(len(carried)):
                    carried[lane] += height * quotients[row, lane]
    for w in range(len(windows)):
        summed[w, :] = 0.0
        for n in range(min(windows[w], t + 1)):
            row = (t - n) & seen
            for lane in range(len(carried)):
                summed[w, lane] += quotients[row, lane]
