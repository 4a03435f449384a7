"""The constants of a plan's loops: jumps of the taps, parts of the decay, period, lookback."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hushfade.factors.factorization import Factorization
from hushfade.factors.jumps import Jumps, jumps_of
from hushfade.factors.taps import IntegerTaps
from hushfade.numerics.blocks import period_of
from hushfade.public.recursion import Parts, recursion

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


class Constants(NamedTuple):
    """The constants of a plan's loops, the same for every lane."""

    jumps: Jumps
    parts: Parts
    period: int


class Lookback(NamedTuple):
    """How many steps back each half of the mechanism looks."""

    private: int
    public: int


def constants(plan: Plan) -> Constants:
    """The constants; u = y / r̃ counts units of the plan's grid."""
    taps = plan.pair.taps
    assert isinstance(taps, IntegerTaps)
    parts = recursion(plan.decay).parts(plan.grid.resolution)
    # the same period for any number of lanes, so that their bits are the same
    return Constants(jumps_of(taps, plan.horizon), parts, period_of(max(lookback(plan.pair))))


def lookback(pair: Factorization) -> Lookback:
    """Both halves look back as far as the taps reach, the public one as far as the decay needs."""
    support = pair.taps.support
    assert support is not None
    support = min(support, pair.horizon or support)
    return Lookback(support, max(support, recursion(pair.decay).memory))
