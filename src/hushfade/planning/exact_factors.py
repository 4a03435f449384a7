"""The factors that a plan's integer taps approximate, by the name of a method or as given."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from hushfade import check
from hushfade.decay import Decay, NoDecay
from hushfade.errors import Diverges, InvalidValue
from hushfade.factors import factorization
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.exponentials import CompactTaps
from hushfade.factors.factorization import Factorization
from hushfade.factors.taps import ListedTaps

Method = Literal["square_root", "normalized", "unbounded", "blend", "input", "blocks", "given"]
"""How a plan's right factor was made: the paper's square root, the same with a gain per step,
counting without a horizon, 1 + c (√g - 1), noise on the inputs (R = 1), sums over blocks of steps,
or a given pair."""


def exact_factors(
    decay: Decay,
    horizon: int | None,
    method: Method | Factorization,
    expect: int | None = None,
) -> tuple[Factorization, Method]:
    """The factors of a method, or the pair that is given, checked; and the method's name."""
    if expect is not None and method != "unbounded":
        raise InvalidValue(
            "must only be given with the method 'unbounded'",
            argument="expect",
            got=repr(expect),
            remedy="leave it out, or count without a horizon: NoDecay(), method='unbounded'",
        )
    if method == "blocks" or isinstance(method, BlockSums):
        raise InvalidValue(
            "must not be 'blocks' here: block sums have no taps",
            argument="method",
            remedy="take a method with taps, such as square_root",
        )
    if isinstance(method, Factorization):
        return _given(decay, horizon, method), "given"
    check_method(method)
    if method == "given":
        raise InvalidValue("method='given' is the name for a pair of your own: give the pair")
    if method == "input":
        checked = factorization.square_root(decay, horizon)  # checks decay and horizon
        return factorization.from_right(decay, np.ones(1), checked.horizon), method
    return _named(decay, horizon, method, expect), method


def check_method(method: object) -> None:
    """Raise unless it is the name of a method."""
    if method not in get_args(Method):
        raise InvalidValue(
            "must be best, input, blocks, blend, square_root, normalized, unbounded or a "
            "Factorization (of a baseline: baseline.pair())",
            argument="method",
            got=repr(str(method)[:60]),
        )


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


def _named(decay: Decay, horizon: int | None, method: Method, expect: int | None) -> Factorization:
    root = factorization.square_root(decay, horizon)  # checks decay and horizon
    if method == "normalized":
        if horizon is None:
            raise InvalidValue("must be given for the method 'normalized'", argument="horizon")
        return factorization.normalized(decay, horizon)
    if method == "unbounded":
        if not isinstance(decay, NoDecay):
            raise InvalidValue(
                "must not be 'unbounded': that is for NoDecay(), other decays need no horizon",
                argument="method",
            )
        if horizon is not None:
            raise InvalidValue("must not be given for the method 'unbounded'", argument="horizon")
        return factorization.unbounded_counting(expect=expect)
    check_lasting(decay, horizon)
    return root


def check_lasting(decay: Decay, horizon: int | None) -> None:
    """Raise unless a horizon is given, or the decay needs none."""
    if horizon is None and not decay.horizon_free:
        raise Diverges(
            f"must be given: {decay!r} is not known to be horizon-free"
            + (" (or use the method 'unbounded')" if isinstance(decay, NoDecay) else ""),
            argument="horizon",
        )
