"""Compiled loops that turn independent noise into correlated noise, in place: w = R⁻¹ z, r_0 = 1.

    compact taps      c(x) / C(x^period): both inverses are exponentials, in constant memory
    finite taps       w_t = z_t - Σ_{n≥1} r_n w_{t-n}, with a ring of past w

Imported only when used: numba takes half a second to load.  Sums run along the lanes of one tile,
whose state stays in the cache for all steps of a block.  The operations of a lane have a fixed
order, so blocks, tiles and single steps give the same bits.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushfade.compiled import compiled
from hushfade.training.loop_coefficients import FadingLoop, Floats, Loop

NARROW = 8  # with fewer lanes, vector registers do not help


class Mix(Protocol):
    """Replaces z by w in series[:, start:stop], beginning at `step`."""

    def __call__(self, step: int, start: int, stop: int, state: Floats, series: Floats) -> None: ...


def mix_of(loop: Loop) -> Mix:
    """The compiled loop with these coefficients."""
    if isinstance(loop, FadingLoop):
        weights, fades, plain, period = loop.weights, loop.fades, loop.plain, loop.period

        def mix(step: int, start: int, stop: int, state: Floats, series: Floats) -> None:
            _faded(step, start, stop, plain, period, weights, fades, state, series)

    else:
        ratios = loop.ratios

        def mix(step: int, start: int, stop: int, state: Floats, series: Floats) -> None:
            _recurred(step, start, stop, ratios, state, series)

    return mix


@compiled
def _faded(
    step: int,
    start: int,
    stop: int,
    plain: int,
    period: int,
    weights: Floats,
    fades: Floats,
    state: Floats,
    series: Floats,
) -> None:
    """u_t = z_t + Σ_j V_j e_j,            e_j ← e_j + (z_t - ν_j e_j),   j < plain
    w_t = u_t + Σ_i W_i E_i[t mod p],   E_i[t mod p] ← E_i + (u_t - Q_i E_i)[t mod p]

    The state has one row for each e, then p = `period` rows for each E.
    Cost: two multiply-adds per exponential, step and lane.
    """
    if stop - start < NARROW:
        for lane in range(start, stop):
            _faded_alone(step, lane, plain, period, weights, fades, state, series)
        return
    x = np.empty(stop - start, series.dtype)
    for i in range(series.shape[0]):
        w = series[i, start:stop]
        slot = (step + i) % period
        for j in range(len(weights)):
            if j in (0, plain):
                x[:] = w
            row = j if j < plain else plain + (j - plain) * period + slot
            e = state[row, start:stop]
            weight, fade = weights[j], fades[j]
            for k in range(len(x)):
                w[k] += weight * e[k]
                e[k] += x[k] - fade * e[k]


@compiled
def _faded_alone(
    step: int,
    lane: int,
    plain: int,
    period: int,
    weights: Floats,
    fades: Floats,
    state: Floats,
    series: Floats,
) -> None:
    """`_faded` for one lane, whose exponentials do not wait for each other."""
    slot = step % period
    for i in range(series.shape[0]):
        x = w = series[i, lane]
        for j in range(len(weights)):
            if j == plain:
                x = w
            row = j if j < plain else plain + (j - plain) * period + slot
            e = state[row, lane]
            w += weights[j] * e
            state[row, lane] = e + (x - fades[j] * e)
        series[i, lane] = w
        slot = slot + 1 if slot + 1 < period else 0


@compiled
def _recurred(
    step: int, start: int, stop: int, ratios: Floats, state: Floats, series: Floats
) -> None:
    """w_t = z_t - Σ_{n≥1} ratios_n w_{t-n}; the state is the ring of past w.

    Cost: one multiply-add per tap, step and lane.
    """
    past = len(state)
    if past == 0:
        return
    for i in range(series.shape[0]):
        w = series[i, start:stop]
        row = (step + i) % past
        for n in range(1, past + 1):
            old = state[row - n if row >= n else row - n + past, start:stop]
            ratio = ratios[n]
            for k in range(len(w)):
                w[k] -= ratio * old[k]
        state[row, start:stop] = w
