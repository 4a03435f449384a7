"""plan(...): the plan that releases a decayed sum at every step under a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Literal, get_args

import numpy as np

from hushfade import duration
from hushfade.decays import Decay, checked_decay
from hushfade.errors import InvalidType, InvalidValue, Unstable
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization, IntegerFactorization
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Gaussian, Law
from hushfade.planning import noise_scale
from hushfade.planning.candidates import candidates, given
from hushfade.planning.exact_factors import Method
from hushfade.planning.largest_total import NoiseOutOfRange, sized
from hushfade.planning.mechanism_search import Candidate, LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planned_mechanism import Considered
from hushfade.planning.search_taps import integer_factors
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid, grid_of
from hushfade.public.statistics import (
    Count,
    Histogram,
    LaneStatistic,
    Mean,
    Quantiles,
    Ratio,
    Share,
    Statistic,
    Sum,
    Variance,
)

_FINEST = 2.0**-6  # the largest slope of Huber's law per unit of the noise grid
_CHECKED = 16  # steps whose errors a plan must have
_CLOSE = 1.05  # errors within this factor are compared once more, with integer taps
_EQUAL = 1.0101  # errors within this factor count as equal
_STATISTICS = (Count, Histogram, Mean, Quantiles, Ratio, Share, Sum, Variance)


def plan(
    decay: Decay,
    guarantee: Guarantee,
    *,
    statistic: Statistic | None = None,
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

    hushfade clips each record to [low, high] and rounds it to a multiple of `resolution`, a power
    of two that is at most 1/1024 of the range by default.  Use statistic=hf.Count() for counts,
    which need no bounds, and resolution=1 for other whole numbers: the noise then consists of whole
    numbers, too, and is smaller.  hf.Mean, hf.Share, hf.Variance, hf.Histogram and hf.Quantiles
    also have the noise of a count.  `keys` declares one stream per key.  `width` and `norm` release
    sums of vectors, which hushfade clips to this ℓ2 norm.  Without a horizon the stream has no end.
    `every` declares the step length, "1h" or "rows"; using the plan with another step length is an
    error.  With a step length, the decay may have durations: Exponential(half_life="24h").

    method="best" chooses the mechanism with the smallest error; `print(plan)` names it and compares
    it with others.  "input" adds noise to the inputs.  "square_root" is the paper's mechanism.
    "blend" lies between these two.  "normalized" uses a known horizon.  "blocks" adds Laplace noise
    to sums over blocks of steps, for a small delta or delta = 0.  "unbounded" counts without a
    horizon, with the smallest error near `expect` steps, 2^20 by default
    (`factors.unbounded_counting`).  The method can also be a `Factorization` of the decay.  `law`
    fixes the law of the noise.

    Guarantee: the whole series, all steps and keys together, has `guarantee`, even if later records
    depend on earlier releases (Denisov et al. 2022; docs/explanation/noise-law-theorem.md).

    >>> from hushfade.decays import Exponential
    >>> day = Exponential(half_life=24)
    >>> p = plan(day, Guarantee(epsilon=1, delta=1e-6))
    >>> q = plan(day, Guarantee(epsilon=1, delta=1e-6), method="square_root")  # the paper
    >>> p.law.name, round(p.stddev(1000), 2), q.law.name, round(q.stddev(1000), 2)
    ('huber', 5.81, 'gaussian', 7.68)
    """
    decay = checked_decay(decay).resolved(duration.length(every))
    if law is not None and law not in get_args(LawName):
        raise InvalidValue(
            "must be gaussian, laplace or huber", argument="law", got=repr(str(law)[:60])
        )
    if statistic is not None:
        if width is not None or norm is not None:
            raise InvalidType("statistic and norm exclude each other: a statistic has no vectors")
        low, high, resolution = _of_statistic(statistic, low, high, resolution)
    if isinstance(statistic, Quantiles) and statistic.bins is None:
        from hushfade.planning.quantile_bins import chosen_bins

        names = None if keys is None else tuple(keys)
        return chosen_bins(
            statistic,
            lambda binned: plan(
                decay, guarantee, statistic=binned, horizon=horizon, method=method, law=law,
                expect=expect, keys=names, width=width, norm=norm, every=every,
            ),
        )  # fmt: skip
    grid = grid_of(
        guarantee,
        low=low,
        high=high,
        keys=keys,
        width=width,
        norm=norm,
        resolution=resolution,
        statistic=statistic if isinstance(statistic, LaneStatistic) else None,
    )
    step = None if every is None else duration.declared_step(every)
    if step is not None:
        duration.check_zone(step)
    if guarantee.protects.period is not None:
        duration.check_zone(guarantee.protects.period, name="period")
    with _computable():
        if isinstance(method, str) and method == "best":
            several = candidates(decay, guarantee, grid, horizon, law, expect)
        else:
            several = [given(decay, guarantee, grid, horizon, method, law, expect)]
        made = _made(decay, guarantee, grid, several)
    return made if step is None else replace(made, every=step)


@contextmanager
def _computable() -> Iterator[None]:
    """A context in which numbers that exceed float64 raise InvalidValue."""
    try:
        yield
    except ArithmeticError:
        raise InvalidValue(
            "the arguments lead to numbers that a computer cannot represent",
            remedy="use a less extreme epsilon, delta, horizon or decay, or records in another "
            "unit",
        ) from None


def _of_statistic(
    statistic: Statistic, low: float, high: float, resolution: float | None
) -> tuple[float, float, float | None]:
    """The bounds and the resolution of the statistic; the caller must not give others."""
    if type(statistic) not in _STATISTICS:  # a class of its own might spread a record further
        raise InvalidType(
            "must be a statistic, such as hf.Count() or hf.Mean(low=0, high=1)",
            argument="statistic",
            got=repr(statistic)[:60],
        )
    if (low, high) != (0.0, 1.0) or (resolution is not None and statistic.resolution is not None):
        given = "bounds" if statistic.resolution is None else "bounds or a resolution"
        raise InvalidValue(
            f"the statistic {statistic.name!r} must not have {given} here",
            remedy="declare bounds in the statistic itself"
            if statistic.resolution is None
            else "leave them out: each record counts 1",
        )
    if statistic.resolution is not None:
        resolution = statistic.resolution
    elif resolution is None and isinstance(statistic, Variance):
        resolution = statistic.default_resolution
    return *statistic.bounds, resolution


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

    Mechanisms whose noise does not fit the grid are omitted.

    >>> from hushfade.decays import SlidingWindow
    >>> week = compared_plans(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6))
    >>> [(made.method, made.law.name) for made in week]
    [('input', 'laplace'), ('blend', 'huber'), ('square_root', 'gaussian')]
    """
    grid = grid_of(
        guarantee, low=low, high=high, keys=None, width=None, norm=None, resolution=resolution
    )
    with _computable():
        several = candidates(decay, guarantee, grid, horizon, law)
        best = _made(decay, guarantee, grid, several)
    yield best
    for one in several:
        if (one.method, one.law) != (best.method, best.law.name):
            with suppress(InvalidValue), _computable():
                yield _made(decay, guarantee, grid, [one])


def _made(decay: Decay, guarantee: Guarantee, grid: Grid, several: list[Candidate]) -> Plan:
    """The plan of the first candidate for which integer taps and noise tables exist.

    If the next candidate is nearly as good, the function compares again: the error of the first
    with its integer taps, and the expected error of the next.
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
    made = Plan(decay, guarantee, grid, pair.horizon, chosen.method, pair, law, loss, considered)
    return _kept(sized(made))


def _kept(plan: Plan) -> Plan:
    """The plan, if its noise keeps its guarantee and has a finite size; raises otherwise."""
    guarantee, last = plan.guarantee, min(plan.horizon or _CHECKED, _CHECKED)
    if (
        not isinstance(plan.law, Gaussian)  # which follows from mu, with fractions
        and not plan.privacy.delta(float(guarantee.epsilon)) <= guarantee.delta
    ):
        raise InvalidValue("no noise that keeps epsilon and delta was found")
    if not 0.0 < plan.max_stddev(last) < math.inf:
        raise InvalidValue("the standard deviation of the error must be positive and finite")
    return plan


def _on_inputs(chosen: Candidate) -> IntegerFactorization:
    """R = 1, on a grid as fine as the law needs."""
    bits = 0
    if chosen.law == "huber":
        bits = max(0, math.ceil(math.log2(chosen.slope / _FINEST)))
    elif chosen.law == "gaussian":
        bits = 8
    taps = IntegerTaps.of(np.array([1 << bits]), bits)
    return IntegerFactorization(chosen.factors.decay, taps, chosen.factors.horizon)


def _law(chosen: Candidate, guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Law:
    """The noise that the guarantee requires for these integer taps."""
    if chosen.law == "gaussian":
        return noise_scale.gaussian(guarantee, grid, pair)
    if chosen.law == "laplace":
        return noise_scale.laplace(guarantee, grid, pair)
    guess = chosen.slope * 2.0**-pair.taps.bits
    return noise_scale.huber(guarantee, grid, pair, chosen.kappa, guess)
