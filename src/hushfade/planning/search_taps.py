"""The search for integer taps with few jumps and almost the error of the exact factors.

The result is integers, but the search compares floats.  Their last bits may differ between
machines, so the search rounds each float to a coarse grid before it compares: see `_settled`.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade.check import Column
from hushfade.decays import (
    Decay,
)
from hushfade.errors import InvalidValue, Unstable
from hushfade.factors.columns import sum_of_squares
from hushfade.factors.factorization import Factorization, IntegerFactorization
from hushfade.factors.taps import MOST_TAPS, BlendedTaps, CountingTaps
from hushfade.planning import piecewise_taps

MAX_LOSS = 0.001  # relative error that integer taps may add to the exact factors
_REFERENCE, _FARTHEST = 1 << 13, 1 << 17  # steps over which an endless plan's loss is measured
_LONGEST = 1 << 22  # the largest number of taps that the search computes
_ATTEMPTS, _REFINED = 12, 2  # attempts: in all, and after the loss is small enough
_SETTLED = 2.0**-26  # relative grid to which losses and energies are rounded
_NO_TAPS = (
    "no integer taps of this pair are stable within the horizon, because its series has a zero "
    "inside the unit disk: give a shorter horizon, or another pair as the method"
)


def integer_factors(exact: Factorization) -> tuple[IntegerFactorization, float]:
    """Integer taps with few jumps, and their loss: at most MAX_LOSS, or the smallest loss found.

    `piecewise_taps` finds the fewest pieces within the distance that predicts this loss.  The
    search then measures their loss: ‖L‖ over some steps times ‖R‖ over all steps of the pair.  It
    corrects the distance by the measured loss and repeats: a few times to reduce the number of
    jumps, more often if the loss is too large.
    """
    r, beyond = _wanted(exact)
    if r[0] != 1.0:  # the scale of a pair is arbitrary
        r, beyond = r / r[0], beyond / float(r[0]) ** 2
    if not max(float(np.max(r)), -float(np.min(r))) < 2.0**45:
        raise Unstable(_NO_TAPS)
    whole = sum_of_squares(r) + beyond
    if isinstance(exact.taps, BlendedTaps):  # all taps except the first have a factor c
        whole *= exact.taps.c**2
    best: tuple[IntegerFactorization, float] | None = None
    landscape = piecewise_taps.Landscape.of(r, beyond, MAX_LOSS * whole)
    share = 1.0  # share of the distance that predicts MAX_LOSS
    # binary places of taps and gain add up in the noisy values, so with a gain the taps have few
    least, rounding = (8, 0.1) if exact.gain is None else (10, 0.6)
    for attempt in range(_ATTEMPTS):
        distance = share * MAX_LOSS * whole
        bits = max(least, landscape.places(rounding * distance))
        try:
            pair = exact.with_pieces(*landscape.pieces(distance, bits), bits)
        except (Unstable, InvalidValue):  # a zero inside the unit disk, or a first tap <= 0
            share /= 2.0
            continue
        loss = _loss(pair, exact)
        if best is None or _rank(pair, loss) < _rank(*best):
            best = pair, loss
        spare = MAX_LOSS / loss if loss > 0.0 else math.inf
        if best[1] <= MAX_LOSS and attempt >= _REFINED:
            break
        if spare < 1.0:
            share *= max(0.95 * spare, 0.1)
        elif 1.08 < spare < 2.0 and len(pair.taps.jumps) * (1.0 - 1.0 / math.sqrt(spare)) > 1.0:
            share *= 0.97 * spare  # the number of jumps grows like distance^(-1/2)
        else:
            break
    if best is None:
        raise Unstable(_NO_TAPS)
    return best


def _rank(pair: IntegerFactorization, loss: float) -> tuple[float, int, int]:
    """The rank of a pair, smaller is better: loss above MAX_LOSS, then jumps, then memory."""
    return max(loss, MAX_LOSS), len(pair.taps.jumps), pair.taps.support


def _settled(value: float, scale: float = 1.0) -> float:
    """The value, rounded half up to a multiple of 2^-26 of the scale.

    The loss or energy differs between machines by about 1e-15.  So two machines round to different
    multiples with a probability of about 1e-15 / 2^-26, one in ten million.
    """
    unit = scale * _SETTLED
    return math.floor(value / unit + 0.5 + 2.0**-21) * unit


def _wanted(exact: Factorization) -> tuple[Column, float]:
    """The right taps to approximate, and Σ r_n² of the taps that are omitted from the start.

    The result has as many taps as matter.  For a decay with a heavy tail these are the taps of
    2^17 steps, or of the horizon.
    """
    support, horizon = exact.taps.support, exact.horizon
    if support is not None:
        return exact.taps.first(_checked(min(support, horizon or support))), 0.0
    span = exact.decay.span(_REFERENCE)
    if span == math.inf or not exact.decay.horizon_free:
        return exact.taps.first(_checked(horizon or _FARTHEST)), 0.0
    most = max(_FARTHEST, min(1 << int(2.0 * span).bit_length(), _LONGEST))
    energy, n = exact.taps.energy(), _REFERENCE
    scale = math.ldexp(1.0, math.frexp(energy)[1])
    while True:
        if horizon is not None and n >= horizon:
            return exact.taps.first(horizon), 0.0
        r = exact.taps.first(n)
        beyond = max(_settled(energy - sum_of_squares(r), scale), 0.0)
        if beyond <= 0.2 * MAX_LOSS * energy:
            return r, beyond
        if n >= most:  # a smaller rest cannot be reached
            return r, beyond if beyond <= 0.5 * MAX_LOSS * energy else 0.0
        n *= 2


def _checked(taps: int) -> int:
    """The number of taps, if streams and plan files can hold them; raises InvalidValue if not."""
    if taps > MOST_TAPS:
        raise InvalidValue(
            f"must need at most {MOST_TAPS} taps",
            argument="horizon",
            got=f"{taps} taps",
            remedy="use longer steps, a shorter horizon, or a decay that falls faster",
        )
    return taps


def _loss(pair: IntegerFactorization, exact: Factorization) -> float:
    """The loss, measured over enough steps: 2^17 for a heavy tail, and at most the horizon.

    Falling taps show their loss within their own length.  Other taps oscillate for longer.
    """
    taps, horizon = pair.taps, exact.horizon
    if isinstance(exact.taps, CountingTaps):
        n = min(_FARTHEST, exact.taps.support or _FARTHEST)
    elif exact.gain is not None or exact.decay.span(_REFERENCE) == math.inf:
        n = horizon or _FARTHEST
    else:
        lengths = 2 if np.all(taps.heights[1:] <= 0) else 8
        n = min(max(_REFERENCE, 1 << (lengths * taps.support).bit_length() - 1), _LONGEST)
    if horizon is None:
        return _settled(_endless(pair, n) / _endless(exact, n) - 1.0)
    n = min(n, horizon)
    return _settled(pair.error_factor(n) / exact.error_factor(n) - 1.0)


def _endless(pair: Factorization, n: int) -> float:
    """The error factor of n steps of a stream that continues after them."""
    return pair.largest_error(n) * pair.sensitivity().value


def reference_steps(decay: Decay) -> int:
    """The number of steps after which an endless plan's error settles; 2^17 if it never does."""
    span = decay.span(_REFERENCE)
    if span == math.inf:
        return _FARTHEST
    return min(max(_REFERENCE, 1 << int(2.0 * span).bit_length()), _LONGEST)


def compared_steps(decay: Decay, horizon: int | None) -> int:
    """The number of steps over which to compare mechanisms: the horizon, or enough to settle."""
    settled = reference_steps(decay)
    if horizon is None:
        return settled
    return min(horizon, _LONGEST if decay.span(_REFERENCE) == math.inf else settled)
