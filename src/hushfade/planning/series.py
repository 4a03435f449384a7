"""A series to release, without a guarantee of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from hushfade import check
from hushfade.decays import Decay
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.planning.search_taps import compared_steps
from hushfade.privacy.guarantee import Guarantee
from hushfade.public.statistics import Statistic


@dataclass(frozen=True, kw_only=True)
class Series:
    """One of several series for `plan_together`, with the arguments of `hushfade.plan`.

    The error of a statistic is the standard deviation of one of its lanes, in records.

    `every` is the length of a step.  The decay and the horizon count steps of this length.
    Errors and the printed joint plan show `name`.

    >>> from hushfade import SlidingWindow
    >>> Series(decay=SlidingWindow(length=7), every="1d").every
    '1d'
    """

    decay: Decay
    statistic: Statistic | None = None
    low: float = 0.0
    high: float = 1.0
    horizon: int | None = None
    keys: tuple[str, ...] | None = None
    resolution: float | None = None
    every: str | timedelta | None = None
    name: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.keys, list):  # a series must be hashable, and lists are not
            check.settle(self, keys=tuple(self.keys))

    def plan(
        self,
        guarantee: Guarantee,
        method: Method | Literal["best"] = "best",
        law: LawName | None = None,
    ) -> Plan:
        """The plan of this series alone."""
        return plan(
            self.decay, guarantee, statistic=self.statistic, low=self.low, high=self.high,
            horizon=self.horizon,
            keys=self.keys, resolution=self.resolution, every=self.every, method=method, law=law,
        )  # fmt: skip

    def error(self, made: Plan) -> float:
        """The largest standard deviation of a plan of this series, of a statistic in records."""
        scale = 1.0 if made.statistic is None else made.grid.lane_bounds[1]
        return made.max_stddev(compared_steps(self.decay, self.horizon)) / scale
