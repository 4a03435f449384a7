"""plan(...): the plan that releases a decayed sum at every step under a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Literal, get_args

import numpy as np

from hushfade import duration
from hushfade.decay import Decay
from hushfade.errors import InvalidType, InvalidValue, Unstable
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization, IntegerFactorization
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Law
from hushfade.planning import noise_scale
from hushfade.planning.candidates import candidates, given
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_search import Candidate, LawName
from hushfade.planning.plan import Considered, NoiseOutOfRange, Plan, sized
from hushfade.planning.search_taps import integer_factors
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid, grid_of
from hushfade.public.statistics import Count

_FINEST = 2.0**-6  # of a unit: slopes of Huber's law per unit of the crossing are at most this
_CLOSE = 1.05  # errors that near are compared once more, with integer taps
_EQUAL = 1.0101  # an error up to this factor of another one is taken for equal


def plan(
    decay: Decay,
    guarantee: Guarantee,
    *,
    statistic: Count | None = None,
    low: float = 0.0,
    high: float = 1.0,
    horizon: int | None = None,
    method: Method | Literal["best"] | Factorization = "best",
    law: LawName | None = None,
    expect: int | None = None,
    keys: Iterable[str] | None = None,
    width: int | None = None,
    norm: float | None = None,
    resolution: float | None = None,
    every: str | timedelta | None = None,
) -> Plan:
    """The plan that releases the decayed sum at every step under the guarantee.

    Each record is clipped to [low, high] and rounded to a grid of `resolution` (a power of two, by
    default at most 1/1024 of the range).  Give statistic=hf.Count() for counts, which needs no
    bounds, and resolution=1 for other whole numbers: the noise is then whole too, and smaller.
    `keys` declares one stream per key; `width` and `norm` release sums of vectors clipped to that
    ℓ2 norm.  Without a horizon the stream runs for ever.  `every` declares what a step is, "1h" or
    "rows": whatever uses the plan with another step is refused.

    method="best" takes the mechanism with the smallest error: `print(plan)` states which one, and
    how it compares.  "input" adds noise to the inputs, "square_root" is the paper's mechanism,
    "blend" lies between them, "normalized" uses a known horizon.  "blocks" adds Laplace noise to
    sums over blocks of steps, for a small delta or 0.  "unbounded" counts for ever, with the
    smallest error near `expect` steps, 2^20 by default (`factors.unbounded_counting`).  Any other
    pair of the decay, a `Factorization`, may be given as the method.  `law` fixes the law of the
    noise.

    Guarantee: the whole series, all steps and keys together, has `guarantee`, also when later
    records depend on earlier releases (Denisov et al. 2022; docs/noise-laws.md).

    >>> from hushfade.decay import Exponential
    >>> day = Exponential(half_life=24)
    >>> p = plan(day, Guarantee(epsilon=1, delta=1e-6))
    >>> q = plan(day, Guarantee(epsilon=1, delta=1e-6), method="square_root")  # the paper
    >>> p.law.name, round(p.stddev(1000), 2), q.law.name, round(q.stddev(1000), 2)
    ('huber', 5.81, 'gaussian', 7.68)
    """
    if law is not None and law not in get_args(LawName):
        raise InvalidValue(
            "must be gaussian, laplace or huber", argument="law", got=repr(str(law)[:60])
        )
    if statistic is not None:
        if not isinstance(statistic, Count):
            raise InvalidType("must be hf.Count()", argument="statistic", got=repr(statistic)[:60])
        if (low, high, width, norm, resolution) != (0.0, 1.0, None, None, None):
            raise InvalidValue("a count takes neither bounds nor a resolution: a record counts 1")
        resolution = statistic.resolution
    grid = grid_of(
        guarantee,
        low=low,
        high=high,
        keys=keys,
        width=width,
        norm=norm,
        resolution=resolution,
    )
    if isinstance(method, str) and method == "best":
        several = candidates(decay, guarantee, grid, horizon, law, expect)
    else:
        several = [given(decay, guarantee, grid, horizon, method, law, expect)]
    made = _made(decay, guarantee, grid, several)
    return made if every is None else replace(made, every=duration.declared_step(every))


def compared_plans(
    decay: Decay,
    guarantee: Guarantee,
    *,
    low: float = 0.0,
    high: float = 1.0,
    horizon: int | None = None,
    law: LawName | None = None,
    resolution: float | None = None,
) -> Iterator[Plan]:
    """A plan for each mechanism that method="best" compares, the chosen one first.

    Mechanisms whose noise does not fit the grid are left out.

    >>> from hushfade.decay import SlidingWindow
    >>> week = compared_plans(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6))
    >>> [(made.method, made.law.name) for made in week]
    [('input', 'laplace'), ('blend', 'huber'), ('square_root', 'gaussian')]
    """
    grid = grid_of(
        guarantee, low=low, high=high, keys=None, width=None, norm=None, resolution=resolution
    )
    several = candidates(decay, guarantee, grid, horizon, law)
    best = _made(decay, guarantee, grid, several)
    yield best
    for one in several:
        if (one.method, one.law) != (best.method, best.law.name):
            with suppress(InvalidValue):
                yield _made(decay, guarantee, grid, [one])


def _made(decay: Decay, guarantee: Guarantee, grid: Grid, several: list[Candidate]) -> Plan:
    """The plan of the first candidate that integer taps and the noise tables can serve.

    Where the next candidate is nearly as good, the errors of both are compared once more: that of
    the integer taps with what was expected of the other.
    """
    for place, chosen in enumerate(several):
        others = [one for one in several if one is not chosen]
        try:
            made = _plan(decay, guarantee, grid, chosen, others)
        except (NoiseOutOfRange, Unstable):
            if place == len(several) - 1:
                raise
            continue
        rest = several[place + 1 :]
        if not rest or rest[0].error > _CLOSE * chosen.error:
            return made
        if made.max_stddev(chosen.steps) <= _EQUAL * rest[0].error:
            return made
    return made


def _plan(
    decay: Decay, guarantee: Guarantee, grid: Grid, chosen: Candidate, others: list[Candidate]
) -> Plan:
    pair: IntegerFactorization
    if isinstance(chosen.factors, BlockSums):
        pair, loss = chosen.factors, 0.0
    elif chosen.method == "input":
        pair, loss = _on_inputs(chosen), 0.0
    else:
        pair, loss = integer_factors(chosen.factors)
    law = _law(chosen, guarantee, grid, pair)
    considered = tuple(
        Considered(one.method, one.law, one.error)
        for one in (chosen, *others)
        if not math.isnan(one.error)
    )
    return sized(
        Plan(decay, guarantee, grid, pair.horizon, chosen.method, pair, law, loss, considered)
    )


def _on_inputs(chosen: Candidate) -> IntegerFactorization:
    """R = 1, on a grid as fine as the law needs."""
    bits = 0
    if chosen.law == "huber":
        bits = max(0, math.ceil(math.log2(chosen.slope / _FINEST)))
    elif chosen.law == "gaussian":
        bits = 8
    taps = IntegerTaps(np.array([1 << bits]), bits)
    return IntegerFactorization(chosen.factors.decay, taps, chosen.factors.horizon)


def _law(chosen: Candidate, guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Law:
    """The noise that the guarantee requires for these integer taps."""
    if chosen.law == "gaussian":
        return noise_scale.gaussian(guarantee, grid, pair)
    if chosen.law == "laplace":
        return noise_scale.laplace(guarantee, grid, pair)
    guess = chosen.slope * 2.0**-pair.taps.bits
    return noise_scale.huber(guarantee, grid, pair, chosen.kappa, guess)
