"""What a plan is drafted from: how records are read, the exact factors, integer taps for them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.errors import Diverges, InvalidType, InvalidValue, Unstable
from hushfade.factors import factorization
from hushfade.factors.exponentials import CompactTaps
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import IntegerTaps, ListedTaps
from hushfade.planning import piecewise_taps
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid

Method = Literal["square_root", "normalized", "unbounded", "given"]

MAX_LOSS = 0.001  # of the integer taps over the exact factors
_REFERENCE, _FARTHEST = 1 << 13, 1 << 17  # steps over which an endless plan's loss is measured
_LONGEST = 1 << 22  # taps looked at
_ATTEMPTS, _REFINED = 12, 2  # at integer taps: at most, and once the loss is small enough
_NO_TAPS = (
    "no integer taps of this pair are stable within the horizon: its series has a zero inside the "
    "unit disk; give a shorter horizon, or another pair as the method"
)


def grid_of(
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    keys: Iterable[str] | None,
    width: int | None,
    norm: float | None,
    resolution: float | None,
) -> Grid:
    """How records are read, checked argument by argument."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidType("guarantee must be a Guarantee", got=type(guarantee).__name__)
    low, high = check.real(low=low), check.real(high=high)
    if not low < high:
        raise InvalidValue("must be < high", argument="low", got=f"{low!r} and {high!r}")
    if (width is None) != (norm is None):
        raise InvalidType("width and norm go together: vectors need both")
    if keys is not None and width is not None:
        raise InvalidType("keys and width exclude each other: a key's record is a number")
    names = None if keys is None else _names(keys)
    if norm is not None:
        norm = check.positive(norm=norm)
        low, high = -norm, norm
    span = high - low
    if not math.isfinite(span):
        raise InvalidValue("high - low must be finite", got=f"{low!r} and {high!r}")
    grid = 2.0 ** (math.floor(math.log2(span)) - 10) if resolution is None else resolution
    grid = check.positive(resolution=grid)
    if math.frexp(grid)[0] != 0.5:
        raise InvalidValue("must be a power of two", argument="resolution", got=repr(grid))
    lanes = 1 if width is None else check.count(width=width, most=10**8)
    found = Grid(low, high, grid, 1, names, lanes, norm)
    largest = max(abs(low), abs(high)) / grid
    if not 1.0 <= largest <= 2.0**40:
        raise InvalidValue(
            "must divide the bounds 1 to 2^40 times", argument="resolution", got=repr(grid)
        )
    if found.low_unit == found.high_unit:
        raise InvalidValue("must be below high - low", argument="resolution", got=repr(grid))
    return found


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise InvalidType("must be several names", argument="keys", got="one str")
    names = tuple(keys)
    if not names:
        raise InvalidValue("must not be empty", argument="keys")
    if not all(isinstance(name, str) for name in names):
        raise InvalidType("must be str", argument="keys")
    if len(set(names)) != len(names):
        raise InvalidValue("must differ from each other", argument="keys")
    return names


def exact_pair(
    decay: Decay, horizon: int | None, method: Method | Factorization
) -> tuple[Factorization, Method]:
    """The factor pair that the method asks for, if the decay has it without a horizon."""
    if isinstance(method, Factorization):
        return _given(decay, horizon, method), "given"
    check_method(method)
    if method == "given":
        raise InvalidValue("method='given' is said of a plan made from a pair: give the pair")
    return _named(decay, horizon, method), method


def _given(decay: Decay, horizon: int | None, pair: Factorization) -> Factorization:
    if pair.decay != decay:
        raise InvalidValue(
            "must be a pair for the plan's decay", argument="method", got=repr(pair.decay)
        )
    if horizon is not None:
        check.count(horizon=horizon, most=pair.horizon)
        if pair.gain is not None and horizon != pair.horizon:
            raise InvalidValue(
                f"must be the pair's own, {pair.horizon}", argument="horizon", got=horizon
            )
        pair = replace(pair, horizon=horizon)
    if pair.horizon is None:
        pair.taps.energy()  # raises where the noise would grow for ever
    # a pair's scale is free; with r_0 = 1 the grid of what crosses is as fine as it can be
    match pair.taps:
        case ListedTaps() as taps:
            return replace(pair, taps=ListedTaps(taps.values / taps.values[0]))
        case CompactTaps() as taps:
            return replace(pair, taps=replace(taps, scale=1.0))
        case _:
            return pair


def _named(decay: Decay, horizon: int | None, method: Method) -> Factorization:
    root = factorization.square_root(decay, horizon)  # checks decay and horizon
    if method == "normalized":
        if horizon is None:
            raise InvalidValue("must be given for the method 'normalized'", argument="horizon")
        return factorization.normalized(decay, horizon)
    if method == "unbounded":
        if repr(decay) != "NoDecay()":
            raise InvalidValue(
                "must not be 'unbounded': that is for NoDecay(), other decays need no horizon",
                argument="method",
            )
        if horizon is not None:
            raise InvalidValue("must not be given for the method 'unbounded'", argument="horizon")
        return factorization.unbounded_counting()
    if horizon is None and not decay.horizon_free:
        raise Diverges(
            f"must be given: {decay!r} is not known to be horizon-free"
            + (" (or use the method 'unbounded')" if decay == NoDecay() else ""),
            argument="horizon",
        )
    return root


def check_method(method: object) -> None:
    """Raise unless it is one of the methods."""
    if method not in get_args(Method):
        raise InvalidValue(
            "must be square_root, normalized, unbounded or a Factorization "
            "(of a rival: rival.pair())",
            argument="method",
            got=repr(str(method)[:60]),
        )


def integer_pair(exact: Factorization) -> tuple[Factorization, float]:
    """Integer taps of few jumps whose loss is at most MAX_LOSS, or the best found; and the loss.

    Pieces within the distance that such a loss predicts are sought (`pieces`).  Then the loss is
    measured: that of ‖L‖ over some steps times ‖R‖ over all that the pair serves.  The distance is
    corrected by it, a few times for fewer jumps, more often where the loss is too large.
    """
    r, beyond = _wanted(exact)
    r, beyond = r / r[0], beyond / float(r[0]) ** 2  # a pair's scale is free
    if not float(np.max(np.abs(r))) < 2.0**45:
        raise Unstable(_NO_TAPS)
    whole = float(np.sum(r**2)) + beyond
    best: tuple[Factorization, float] | None = None
    landscape = piecewise_taps.Landscape.of(r, beyond, MAX_LOSS * whole)
    share = 1.0  # of the distance that predicts MAX_LOSS
    # what crosses has the places of the taps and of the gain, so with one the taps have few
    least, rounding = (8, 0.1) if exact.gain is None else (10, 0.6)
    for attempt in range(_ATTEMPTS):
        distance = share * MAX_LOSS * whole
        bits = max(least, landscape.places(rounding * distance))
        try:
            pair = exact.with_integers(landscape.fewest(distance, bits), bits)
        except (Unstable, InvalidValue):  # a zero inside the disk, or a first tap <= 0
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
        elif 1.08 < spare < 2.0 and _jumps(pair) * (1.0 - spare**-0.5) > 1.0:
            share *= 0.97 * spare  # the number of jumps is like the distance^(-1/2)
        else:
            break
    if best is None:
        raise Unstable(_NO_TAPS)
    return best


def _rank(pair: Factorization, loss: float) -> tuple[float, int, int]:
    """What is preferred: a loss of at most MAX_LOSS, then few jumps, then a short memory."""
    return max(loss, MAX_LOSS), _jumps(pair), pair.taps.support or 0


def _jumps(pair: Factorization) -> int:
    assert isinstance(pair.taps, IntegerTaps)
    return len(pair.taps.jumps)


def _wanted(exact: Factorization) -> tuple[Column, float]:
    """The right taps to come near to, and Σ r_n² of those that are left out from the start.

    As many as matter; of a heavy decay those of 2^17 steps, or of the horizon.
    """
    support, horizon = exact.taps.support, exact.horizon
    if support is not None:
        return exact.taps.first(min(support, horizon or support)), 0.0
    span = _span(exact.decay)
    if span == math.inf or not exact.decay.horizon_free:
        return exact.taps.first(horizon or _FARTHEST), 0.0
    most = max(_FARTHEST, min(1 << int(2.0 * span).bit_length(), _LONGEST))
    energy, n = exact.taps.energy(), _REFERENCE
    while True:
        if horizon is not None and n >= horizon:
            return exact.taps.first(horizon), 0.0
        r = exact.taps.first(n)
        beyond = max(energy - float(np.sum(r**2)), 0.0)
        if beyond <= 0.2 * MAX_LOSS * energy:
            return r, beyond
        if n >= most:  # what cannot be met is not aimed at
            return r, beyond if beyond <= 0.5 * MAX_LOSS * energy else 0.0
        n *= 2


def _loss(pair: Factorization, exact: Factorization) -> float:
    """The loss over n steps: as many as show it, of a heavy decay 2^17, at most the horizon.

    Falling taps show it within their own length, others ring for a while longer.
    """
    taps, horizon = pair.taps, exact.horizon
    assert isinstance(taps, IntegerTaps)
    if exact.gain is not None or _span(exact.decay) == math.inf:
        n = horizon or _FARTHEST
    else:
        lengths = 2 if np.all(taps.heights[1:] <= 0) else 8
        n = min(max(_REFERENCE, 1 << (lengths * taps.support).bit_length() - 1), _LONGEST)
    if horizon is None:
        return _endless(pair, n) / _endless(exact, n) - 1.0
    n = min(n, horizon)
    return pair.error_factor(n) / exact.error_factor(n) - 1.0


def _endless(pair: Factorization, n: int) -> float:
    """The error factor when the stream runs on after n steps."""
    return float(np.linalg.norm(pair.left(n))) * pair.sensitivity().value


def _span(decay: Decay) -> float:
    """Steps within which right taps of a small loss end; inf for heavy tails, where none do.

    A tail is heavy where Σ f_k² diverges: then the error grows beyond the taps' reach.
    """
    match decay:
        case Exponential():
            span = 5.0 * decay.half_life
        case SlidingWindow():
            span = 10.0 * decay.length
        case CustomDecay():
            span = 10.0 * len(decay.values)
        case PowerLaw():
            span = _REFERENCE if decay.power > 0.5 else math.inf
        case Mixture():
            span = max(_span(part) for _, part in decay.parts)
        case NoDecay():
            span = math.inf
        case _:
            energy = np.cumsum(decay.weights(_REFERENCE) ** 2)
            span = _REFERENCE if energy[-1] <= 1.01 * energy[_REFERENCE // 2] else math.inf
    return span
