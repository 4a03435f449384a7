"""Factors with constant memory: right taps as a few exponentials, fitted to the square root.

For a completely monotone decay, g and √g are mixtures of exponentials (Stieltjes functions of x),
and a few exponentials approximate √g:

    r(x) = scale · c(x),           c(x) = 1 + Σ_j ω_j x / (1 - (1-q_j) x),   ω_j > 0
    r(x) = scale · c(x) / C(x^w)   for a sliding window of length w, C of the same form

`compact(decay)` fits them with `exponential_fit`.  The error factor of the fit over n steps is then
a closed sum.

The last digits of a fit depend on the machine, but its loss hardly depends on them: near the least
variance a change δ of ln r costs 2 δ².  So weights and fades are rounded to few bits, and machines
agree unless a number lies very close to the midpoint of two rounded numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade import check, decays
from hushfade.check import Column
from hushfade.errors import Diverges, InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.training import exponential_fit
from hushfade.training.exponentials import (
    CompactTaps,
    Exponentials,
    gained,
    geometric,
    powers,
)

if TYPE_CHECKING:
    from hushfade.decays import Decay

ENDLESS = 1 << 30  # without a horizon, the loss is measured over this many steps
MOST = 16  # the most exponentials that `compact` tries
RINGS = 3  # the most ring buffers that `compact` tries for a window

_COARSE, _FINEST = 16.0, 16  # rounding by √loss / 16 costs < 1 % of the loss; the most bits
_ROWS = 1024  # window lengths that are summed; the rest is below 1e-7


def compact(
    decay: Decay, *, horizon: int | None = None, loss: float = 1e-3, order: int | None = None
) -> Factorization:
    """A pair with constant memory whose error factor is within a relative `loss` of √g.

    It has the fewest exponentials that achieve the loss over the first `horizon` steps, or over
    2^30 steps without a horizon.  Afterwards the left factor falls like f itself, so the error of a
    power law ≤ ½ grows slowly without bound.  `order` fixes the number of exponentials instead,
    whatever the loss.

    The function accepts NoDecay, Exponential, PowerLaw and their positive mixtures.  It also
    accepts SlidingWindow, with one ring buffer of its length down to a loss of about 0.15 %, two
    down to 0.01 %, and then three.  Cost: tenths of a second.

    >>> from hushfade.decays import Exponential
    >>> pair = compact(Exponential(half_life=24))
    >>> pair.taps.memory, round(pair.error_factor(1000), 3)
    (2, 1.817)
    """
    decays.checked_decay(decay)
    steps = ENDLESS if horizon is None else check.count(horizon=horizon, most=1 << 40)
    if horizon is None and not decay.horizon_free:
        raise Diverges(f"horizon must be given: {decay!r} is not known to be horizon-free")
    if not check.positive(loss=loss) >= 1e-6:
        raise InvalidValue("loss must be >= 1e-6", got=repr(loss))
    if order is not None:
        order = check.count(order=order, least=0, most=MOST)
    goal = _goal(decay, steps)
    bits = _FINEST if order is not None else math.ceil(math.log2(_COARSE / math.sqrt(loss)))
    first, best = None, math.inf
    for taps in _candidates(goal, order, loss, min(max(bits, 1), _FINEST)):
        price = _error_factor(goal, taps) / goal.root - 1.0
        if price <= loss:
            return Factorization(decay, taps, horizon)
        first, best = first or taps, min(best, price)
    if order is None or first is None:
        raise InvalidValue(f"loss must be >= {best:.2g} with {MOST} exponentials", got=repr(loss))
    return Factorization(decay, first, horizon)


# The error factor of a fit -------------------------------------------------------------------


class _Goal(NamedTuple):
    """The square root √g over a number of steps, with f_0 = 1."""

    scale: float  # √f_0 of the decay
    decay: Exponentials  # f; for a window, the f of counting
    period: int  # the window's length, or 0
    steps: int
    root: float  # the error factor of √g


@lru_cache(maxsize=64)
def _goal(decay: Decay, steps: int) -> _Goal:
    scale = math.sqrt(decay.first)
    if len(decay.terms) == 1:
        ((_, decay),) = decay.terms
    period = 0
    if decay.window is not None and decay.window > 1:
        period = decay.window if steps > decay.window else 0
        decay = decays.NoDecay()
    if not decay.completely_monotone:
        raise InvalidValue(
            "decay must be completely monotone or a sliding window, so that a few exponentials "
            "can approximate its square root",
            got=repr(decay),
        )
    weights, rates = decay.exponentials(steps)
    f = Exponentials(weights * np.exp(-rates) / np.sum(weights), -np.expm1(-rates))
    # √g itself, with enough exponentials that its error factor, which is stationary there, has an
    # error below 1e-7 (measured against the series: 1e-10)
    circle = exponential_fit.circle_of_sum(f, min(steps, period * _ROWS or steps))
    near = exponential_fit.best_fit(circle, len(circle.angle) // 8, 0).fading
    teeth = np.cumprod(np.append(1.0, 1.0 - 1.5 / np.arange(1, _ROWS))) if period else np.ones(1)
    squares = [_squares(c, teeth, period or steps, steps) for c in (near, f.over(near))]
    return _Goal(scale, f, period, steps, math.sqrt(math.prod(squares)))


def _error_factor(goal: _Goal, taps: CompactTaps) -> float:
    """‖r‖ · ‖g/r‖ over the goal's steps, for scale 1."""
    period = goal.period or goal.steps
    rows = min(_ROWS, -(-goal.steps // period))
    right, left = taps.comb.inverse().first(rows), taps.comb.first(rows)
    if goal.period:
        left = np.diff(left, prepend=0.0)  # (1 - x^w) C(x^w)
    return math.sqrt(
        _squares(taps.fading, right, period, goal.steps)
        * _squares(goal.decay.over(taps.fading), left, period, goal.steps)
    )


def _squares(c: Exponentials, teeth: Column, period: int, n: int) -> float:
    """Σ of the first n squared coefficients of c(x) · teeth(x^period).

    Between lag i · period and the next multiple, the coefficients are Σ_j ω_j G_ij (1-q_j)^m for
    m = 0, 1, ..., where G_i = (1-q)^period G_{i-1} + teeth_i.  Each multiple adds the next tooth.
    """
    full, rest = divmod(n - 1, period)
    if full >= len(teeth):
        full, rest = len(teeth) - 1, 0
    common = c.fades[:, None] + c.fades - np.outer(c.fades, c.fades)  # 1 - (1-q_i)(1-q_j)
    rows = c.weights * gained(c.fades, period, teeth[: full + 1])
    whole, last = rows[:-1], rows[-1]
    ends = whole @ powers(c.fades, np.array([period - 1]))[:, 0]
    total = np.sum(teeth[: full + 1] ** 2) + 2.0 * np.sum(teeth[1 : full + 1] * ends)
    total += np.sum((whole @ geometric(common, period)) * whole)
    return float(total + last @ geometric(common, rest) @ last)


# Candidates ----------------------------------------------------------------------------------


def _candidates(goal: _Goal, order: int | None, loss: float, bits: int) -> Iterator[CompactTaps]:
    """Taps with a growing state.  Combs that are too coarse for every c are skipped."""
    if goal.period:
        circle = exponential_fit.circle_of_window(goal.period)
    else:
        circle = exponential_fit.circle_of_sum(goal.decay, goal.steps)
    for rings in range(1, RINGS + 1) if goal.period else (0,):
        if order is None and 0 < rings < RINGS:
            finest = exponential_fit.fit(circle, MOST, rings, low=0.01)
            if 2.0 * finest.variance > loss:
                continue
        for d in range(MOST + 1) if order is None else (order,):
            _, c, comb = exponential_fit.best_fit(circle, d, rings)
            yield CompactTaps(goal.scale, _rounded(c, bits), _rounded(comb, bits), goal.period or 1)


def _rounded(c: Exponentials, bits: int) -> Exponentials:
    """The exponentials with weights rounded to `bits` bits, and fades rounded up but below 1.

    Exponentials with equal fades are merged.
    """
    fades = np.minimum(_bits(c.fades, bits, np.ceil), 1.0 - 2.0**-bits)
    fades, groups = np.unique(fades, return_inverse=True)
    weights = np.zeros(len(fades))
    np.add.at(weights, groups, c.weights)
    return Exponentials(_bits(weights, bits, np.rint), fades)


def _bits(x: Column, bits: int, rule: np.ufunc) -> Column:
    """The numbers, rounded to `bits` bits each."""
    mantissa, exponent = np.frexp(x)
    rounded: Column = np.ldexp(rule(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded
