"""The constants of a plan's loops: jumps of the taps, levels of the blocks, parts of the decay,
period and lookback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.taps import Jumps, jumps_of
from hushfade.group_sizes import period_of
from hushfade.public.recursion import Parts, parts_of

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


class Constants(NamedTuple):
    """The constants of a plan's loops, the same for every lane."""

    jumps: Jumps
    parts: Parts
    period: int


class Lookback(NamedTuple):
    """The number of steps that each half of the mechanism looks back."""

    private: int
    public: int


class Levels(NamedTuple):
    """The levels of nested blocks, as the loops read them; the depth is 0 if there are none."""

    depth: int
    period: int
    total: int


def constants(plan: Plan) -> Constants:
    """The constants of a plan's loops; u = y / r̃ is in units of the plan's grid."""
    parts = parts_of(plan.decay, plan.grid.resolution)
    # the period does not depend on the number of lanes, so that the bits do not, either
    return Constants(jumps_of(plan.taps, plan.horizon), parts, period_of(max(lookback(plan.pair))))


def lookback(pair: IntegerFactorization) -> Lookback:
    """The lookback of both halves: the reach of the taps, and for the public half of the decay."""
    support = min(pair.taps.support, pair.horizon or pair.taps.support)
    return Lookback(support, max(support, pair.decay.recursion().memory))


def levels(pair: IntegerFactorization) -> Levels:
    """The levels of the pair's steps."""
    if not isinstance(pair, BlockSums):
        return Levels(0, 1, 0)
    return Levels(pair.schedule.depth, pair.schedule.period, pair.schedule.total)
