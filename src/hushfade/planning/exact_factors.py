"""The exact factors that a plan's integer taps approximate, for each method."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from hushfade import check
from hushfade.decays import Decay
from hushfade.errors import Diverges, InvalidValue
from hushfade.factors import factorization
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization

Method = Literal["square_root", "normalized", "unbounded", "blend", "input", "blocks", "given"]
"""The origin of a plan's right factor: the paper's square root, the square root with a gain per
step, unbounded counting, the blend 1 + c (√g - 1), noise on the inputs (R = 1), sums over blocks of
steps, or a pair from the caller."""


def exact_factors(
    decay: Decay,
    horizon: int | None,
    method: Method | Factorization,
    expect: int | None = None,
) -> tuple[Factorization, Method]:
    """The factors of a method, or the caller's pair after checks; and the name of the method."""
    if expect is not None and method != "unbounded":
        raise InvalidValue(
            "must only be given with the method 'unbounded'",
            argument="expect",
            got=repr(expect),
            remedy="leave it out, or count without a horizon: NoDecay(), method='unbounded'",
        )
    if method == "blocks" or isinstance(method, BlockSums):
        raise InvalidValue(
            "must not be 'blocks' here, because block sums have no taps",
            argument="method",
            remedy="use a method with taps, such as square_root",
        )
    if isinstance(method, Factorization):
        return _given(decay, horizon, method), "given"
    check_method(method)
    if method == "given":
        raise InvalidValue("method must be your pair itself, not its name 'given'")
    if method == "input":
        checked = factorization.square_root(decay, horizon)  # checks decay and horizon
        return factorization.from_right(decay, np.ones(1), checked.horizon), method
    return _named(decay, horizon, method, expect), method


def check_method(method: object) -> None:
    """Raise InvalidValue unless it is the name of a method."""
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
        pair.taps.energy()  # raises if the noise would grow without bound
    # the scale of a pair is arbitrary; r_0 = 1 gives the finest grid of noisy values
    return replace(pair, taps=pair.taps.scaled())


def _named(decay: Decay, horizon: int | None, method: Method, expect: int | None) -> Factorization:
    root = factorization.square_root(decay, horizon)  # checks decay and horizon
    if method == "normalized":
        if horizon is None:
            raise InvalidValue("must be given for the method 'normalized'", argument="horizon")
        return factorization.normalized(decay, horizon)
    if method == "unbounded":
        if decay.rate != 0.0:
            raise InvalidValue(
                "must not be 'unbounded' except for NoDecay(): other decays need no horizon",
                argument="method",
            )
        if horizon is not None:
            raise InvalidValue("must not be given for the method 'unbounded'", argument="horizon")
        return factorization.unbounded_counting(expect=expect)
    check_lasting(decay, horizon)
    return root


def check_lasting(decay: Decay, horizon: int | None) -> None:
    """Raise Diverges unless there is a horizon or the decay needs none."""
    if horizon is None and not decay.horizon_free:
        raise Diverges(
            f"must be given: {decay!r} is not known to be horizon-free"
            + (" (or use the method 'unbounded')" if decay.rate == 0.0 else ""),
            argument="horizon",
        )
