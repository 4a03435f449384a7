"""What a plan is drafted from: how records are read, the exact factors, integer taps for them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from hushfade import check, factor
from hushfade.decay import Decay, NoDecay
from hushfade.errors import Diverges, InvalidType, InvalidValue, Unstable
from hushfade.exponentials import CompactTaps
from hushfade.factor import Factorization
from hushfade.guarantee import Guarantee
from hushfade.intake import Intake
from hushfade.taps import ListedTaps

Method = Literal["square_root", "normalized", "unbounded", "given"]

MAX_LOSS = 0.001  # of the integer taps over the exact factors
_REFERENCE, _FARTHEST = 1 << 13, 1 << 17  # steps over which an endless plan's loss is measured
_CANDIDATES = [  # bits and tolerance of the taps, from cheap to fine
    (8, 0.2), (8, 0.12), (10, 0.12), (10, 0.06), (12, 0.06), (12, 0.03), (14, 0.03), (16, 0.03),
    (18, 0.02), (20, 0.02),
]  # fmt: skip


def intake_of(
    guarantee: Guarantee,
    *,
    low: float,
    high: float,
    keys: Iterable[str] | None,
    width: int | None,
    norm: float | None,
    resolution: float | None,
) -> Intake:
    """How records are read, checked argument by argument."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidType(f"guarantee must be a Guarantee, got {type(guarantee).__name__}")
    low, high = check.real(low=low), check.real(high=high)
    if not low < high:
        raise InvalidValue(f"low must be < high, got {low!r} and {high!r}")
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
        raise InvalidValue(f"high - low must be finite, got {low!r} and {high!r}")
    grid = 2.0 ** (math.floor(math.log2(span)) - 10) if resolution is None else resolution
    grid = check.positive(resolution=grid)
    if math.frexp(grid)[0] != 0.5:
        raise InvalidValue(f"resolution must be a power of two, got {grid!r}")
    lanes = 1 if width is None else check.count(width=width, most=10**8)
    found = Intake(low, high, grid, 1, names, lanes, norm)
    largest = max(abs(low), abs(high)) / grid
    if not 1.0 <= largest <= 2.0**40:
        raise InvalidValue(f"resolution must divide the bounds 1 to 2^40 times, got {grid!r}")
    if found.low_unit == found.high_unit:
        raise InvalidValue(f"resolution must be below high - low, got {grid!r}")
    return found


def _names(keys: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keys, str):
        raise InvalidType("keys must be several names, got one str")
    names = tuple(keys)
    if not names:
        raise InvalidValue("keys must not be empty")
    if not all(isinstance(name, str) for name in names):
        raise InvalidType("keys must be str")
    if len(set(names)) != len(names):
        raise InvalidValue("keys must differ from each other")
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
        raise InvalidValue(f"method must be a pair for the plan's decay, got {pair.decay!r}")
    if horizon is not None:
        check.count(horizon=horizon, most=pair.horizon)
        if pair.gain is not None and horizon != pair.horizon:
            raise InvalidValue(f"horizon must be the pair's own, {pair.horizon}, got {horizon}")
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
    root = factor.square_root(decay, horizon)  # checks decay and horizon
    if method == "normalized":
        if horizon is None:
            raise InvalidValue("horizon must be given for method='normalized'")
        return factor.normalized(decay, horizon)
    if method == "unbounded":
        if repr(decay) != "NoDecay()":
            raise InvalidValue("method='unbounded' is for NoDecay(): other decays need no horizon")
        if horizon is not None:
            raise InvalidValue("horizon must not be given for method='unbounded'")
        return factor.unbounded_counting()
    if horizon is None and not decay.horizon_free:
        raise Diverges(
            f"horizon must be given: {decay!r} is not known to be horizon-free"
            + (" (or method='unbounded')" if decay == NoDecay() else "")
        )
    return root


def check_method(method: object) -> None:
    """Raise unless it is one of the methods."""
    if method not in get_args(Method):
        raise InvalidValue(
            "method must be square_root, normalized, unbounded or a Factorization "
            f"(of a rival: rival.pair()), got {str(method)[:60]!r}"
        )


def integer_pair(exact: Factorization) -> tuple[Factorization, float]:
    """The cheapest stepped taps whose loss is at most MAX_LOSS, or the best that was found.

    The loss is that of ‖L‖ over n steps times ‖R‖ over all that the pair serves.  n is the horizon
    or, without one, 2^13; 2^17 for a heavy decay, whose error keeps growing beyond the taps' reach,
    so that its taps must be fine enough to reach far.
    """
    heavy = exact.horizon is None and _heavy(exact.decay)
    n = exact.horizon or (_FARTHEST if heavy else _REFERENCE)
    longest = 2 * _FARTHEST if heavy else factor.LONGEST
    best: tuple[Factorization, float] | None = None
    for bits, tolerance in _CANDIDATES[4:] if heavy else _CANDIDATES:
        try:
            pair = exact.stepped(bits, tolerance, longest=longest)
        except Unstable:
            continue
        loss = _error_factor(pair, n) / _error_factor(exact, n) - 1.0
        if best is None or loss < best[1]:
            best = pair, loss
        if loss <= MAX_LOSS:
            break
    if best is None:
        raise Unstable(
            "no integer taps of this pair are stable within the horizon: its series has a zero "
            "inside the unit disk; give a shorter horizon, or another pair as the method"
        )
    return best


def _heavy(decay: Decay) -> bool:
    """Does Σ f_k² seem to diverge?  Counting, and powers up to one half."""
    energy = np.cumsum(decay.weights(_REFERENCE) ** 2)
    return bool(energy[-1] > 1.01 * energy[_REFERENCE // 2])


@lru_cache(maxsize=64)
def _error_factor(pair: Factorization, n: int) -> float:
    return float(np.max(pair.errors(n))) * pair.sensitivity().value
