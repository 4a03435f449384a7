"""A plan: the mechanism of a stream, fixed before any record, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.planning.planned_mechanism import PlannedMechanism

if TYPE_CHECKING:
    from hushfade.crossing.key_file import Noise
    from hushfade.duration import Length
    from hushfade.planning.cost import Cost
    from hushfade.public.statistics import LaneStatistic
    from hushfade.public.statistics.readings import Readings
    from hushfade.stream.stream import Stream


@dataclass(frozen=True, eq=False)
class Plan(PlannedMechanism):
    """A mechanism that is fixed before any record arrives.  `hushfade.plan` makes it without data.

    `PlannedMechanism` has its privacy and its accuracy.
    """

    def start(self, noise: Noise | None = None) -> Stream:
        """A new stream at step 0, with fresh noise by default.

        A `KeyFile` records the new stream under its name, and refuses a second stream of that name.
        """
        from hushfade.stream.stream import Stream

        return Stream.begin(self, noise)

    def step_length(self, declared: object = None, *, name: str = "every") -> Length:
        """The length of a step: nanoseconds, a calendar step, or None if it has none.

        `declared` is the caller's step, such as "1h", "rows" or a timedelta.  It must agree with
        the plan, whose decay counts steps.

        >>> from hushfade import Guarantee, SlidingWindow, plan
        >>> week = plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=0), every="1d")
        >>> week.step_length("1h")
        Traceback (most recent call last):
        hushfade.errors.InvalidValue: every must be 1d, the plan's step, got '1h'
        """
        from hushfade.planning.declared_step import step_length

        return step_length(self.every, declared, name=name)

    def check_rows(self, declared: object = None, *, name: str = "every") -> None:
        """Raise if rows without times cannot be the plan's steps.

        If the plan's step has a length, such as "1h", the caller must declare the same length.
        This declares that each row is one step of that length.
        """
        from hushfade.planning.declared_step import check_rows

        check_rows(self.every, declared, name=name)

    def quantise(self, values: object) -> Column:
        """The records, clipped and rounded to the grid, for callers who use `Stream.step_total`."""
        return self.grid.quantise(values)

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The declared keys."""
        return self.grid.keys

    @property
    def statistic(self) -> LaneStatistic | None:
        """The statistic that is computed from several lanes per key; None for sums and counts."""
        from hushfade.public.statistics import LaneStatistic

        found = self.grid.statistic
        return found if isinstance(found, LaneStatistic) else None

    def require_sums(self, where: str) -> None:
        """Raise if the plan has a statistic of several lanes, which `where` cannot release yet."""
        if self.statistic is not None:
            raise InvalidValue(
                f"{where} cannot release the statistic {self.statistic.name!r}: it releases sums",
                remedy="use a stream, hushfade run or a data frame, or plan a sum or a count",
            )

    def readings(
        self, values: Matrix, steps: Signed | None = None, stddevs: Column | None = None
    ) -> Readings:
        """The statistic of released lanes, (n, keys · lanes), as `stream.run` returns them.

        They belong to the steps 1, ..., n unless `steps` has other ones.

        >>> from hushfade import Guarantee, Mean, SlidingWindow, UnsafeSeededNoise, plan
        >>> week, one = SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6)
        >>> made = plan(week, one, statistic=Mean(low=0, high=1))
        >>> lanes = made.start(UnsafeSeededNoise(1)).run([[750.0, 250.0], [750.0, 250.0]])
        >>> made.readings(lanes).value.round(2).tolist()
        [[0.75], [0.75]]
        """
        from hushfade.public.statistics.readings import Readings

        statistic = self.statistic
        if statistic is None:
            raise InvalidType("readings needs a plan with a statistic of several lanes")
        if steps is None:
            steps = np.arange(1, len(values) + 1, dtype=np.int64)
        if stddevs is None:
            stddevs = self.stddevs(int(steps.max(initial=1)))[steps - 1]
        scale = self.grid.lane_bounds[1]
        return Readings.of(statistic, values, steps, stddevs, self.errors, scale)

    @property
    def jumps(self) -> int:
        """The number of additions per step of the private half."""
        return len(self.taps.jumps)

    @cached_property
    def cost(self) -> Cost:
        """The memory of a stream of this plan, and its work per step, at most."""
        from hushfade.planning.cost import cost

        return cost(self.pair, self.grid.lanes)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of everything that affects privacy or the released values.

        It covers only integers and declared parameters, so it is the same on every machine.
        """
        from hushfade.planning import plan_file

        return plan_file.digest(self)

    def to_json(self) -> str:
        """The plan as a JSON document."""
        from hushfade.planning import plan_file

        return plan_file.written(self)

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan in a JSON document; raises InvalidValue if `to_json` did not write it."""
        from hushfade.planning import plan_file

        return plan_file.read(text)

    def __str__(self) -> str:
        from hushfade.planning import summary

        return summary.table(self)
