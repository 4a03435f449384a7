"""The rows that a bucket releases: of sums, or of a statistic as release files have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hushfade import check
from hushfade.check import Signed
from hushfade.public.statistics import LaneStatistic
from hushfade.releases.files import Meaning
from hushfade.releases.statistic_rows import StatisticRows, statistic_columns
from hushfade.stream.partition import Running


@dataclass(frozen=True)
class Shown:
    """What is shown of a statistic.  It is sent to workers."""

    confidence: float = 0.95
    suppress_below: float | None = None  # the noisy count under which no value is shown

    def __post_init__(self) -> None:
        if self.suppress_below is not None:
            check.real(suppress_below=self.suppress_below)

    def meaning(self, statistic: LaneStatistic) -> Meaning:
        """The meaning of the rows, without keys, which a worker does not know."""
        return Meaning(None, None, self.confidence, statistic=statistic)


def columns(statistic: LaneStatistic | None) -> tuple[str, ...]:
    """The columns of a release, after step, time and key."""
    return ("value", "stddev") if statistic is None else statistic_columns(statistic)


def schema(statistic: LaneStatistic | None) -> str:
    """The columns of a bucket's releases, with their types; `lane` is the place of the key."""
    texts = set() if statistic is None else {statistic.output_name}
    typed = (f"{name} {'string' if name in texts else 'double'}" for name in columns(statistic))
    return ", ".join(["step bigint", "lane bigint", *typed])


def released(running: Running, totals: Signed, shown: Shown) -> dict[str, Any]:
    """The columns of `schema` for the next steps, from their totals, (n, lanes)."""
    taken, (count, lanes) = running.steps, totals.shape
    plan = running.part.mechanism.plan
    values = running.run(totals)
    stddevs = np.array(running.part.mechanism.stddevs(taken, count))
    steps = np.arange(taken + 1, taken + 1 + count, dtype=np.int64)
    parts = plan.grid.parts
    own = np.arange(lanes // parts, dtype=np.int64) + running.part.first // parts
    if plan.statistic is None:
        return {
            "step": np.repeat(steps, lanes),
            "lane": np.tile(own, count),
            "value": values.ravel(),
            "stddev": np.repeat(stddevs, lanes),
        }
    rows = StatisticRows(plan.readings(values, steps, stddevs), None, shown.suppress_below)
    table = rows.table(shown.meaning(plan.statistic))
    outputs = len(plan.statistic.outputs or ("",))
    return {"step": table.pop("step"), "lane": np.tile(np.repeat(own, outputs), count), **table}
