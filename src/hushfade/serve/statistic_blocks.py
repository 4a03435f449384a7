"""What a statistic's releases say: values, intervals and parts, computed in blocks and remembered.

An interval costs some milliseconds, whether it is computed for one step or for many, so it is
computed for a block of steps at a time.  A release must have the same bytes whenever it is read.
So a step has a fixed place in a block of fixed size, and no row of a block affects another: missing
steps are filled with a copy of a step that is there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushfade.check import Column, Matrix

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.public.statistics import LaneStatistic
    from hushfade.store import Published

_ROWS = 256  # keys and steps that are computed together
_LONGEST = 64  # steps
_NUMBERS = 200_000  # numbers that are remembered per stream


class Part(NamedTuple):
    """A noisy sum behind a statistic, such as its count, by key."""

    value: Column
    stddev: float
    margin: float  # half the width of its interval


class Reading(NamedTuple):
    """One step of a statistic: (keys, outputs), with one key or output where there are none."""

    value: Matrix
    lower: Matrix
    upper: Matrix
    whole: np.ndarray[Any, np.dtype[np.bool_]]  # whether the interval is the whole range
    parts: dict[str, Part]
    derived: dict[str, Column]
    stddev: float  # of one lane, in records


class StatisticBlocks:
    """The readings of a stream's releases, the newest and the last ones used in memory."""

    def __init__(self, plan: Plan, confidence: float) -> None:
        statistic = plan.statistic
        assert statistic is not None
        self._plan, self._confidence = plan, confidence
        self._statistic: LaneStatistic = statistic
        self._groups = len(plan.keys or ("",))
        self._steps = max(1, min(_LONGEST, _ROWS // self._groups))
        self._known: OrderedDict[int, Reading] = OrderedDict()
        self._most = max(2 * self._steps, _NUMBERS // plan.grid.lanes)
        self._turn = Lock()

    def readings(self, releases: Sequence[Published]) -> list[Reading]:
        """The readings of these releases.  Threads take turns: the second finds the result."""
        with self._turn:
            missing = [one for one in releases if one.step not in self._known]
            fresh = dict(self._computed(missing))
            found = [fresh.get(one.step) or self._known[one.step] for one in releases]
            self._known |= fresh
            for one in releases:
                self._known.move_to_end(one.step)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return found

    def _computed(self, releases: Sequence[Published]) -> Iterator[tuple[int, Reading]]:
        blocks: dict[int, list[Published]] = {}
        for one in releases:
            blocks.setdefault((one.step - 1) // self._steps, []).append(one)
        for block in blocks.values():
            rows = [block[0]] * self._steps
            for one in block:
                rows[(one.step - 1) % self._steps] = one
            read = self._block(rows)
            yield from ((one.step, read((one.step - 1) % self._steps)) for one in block)

    def _block(self, rows: Sequence[Published]) -> Any:
        """A function from a row to its reading."""
        statistic = self._statistic
        readings = self._plan.readings(
            np.stack([row.values for row in rows]),
            np.array([row.step for row in rows], dtype=np.int64),
            np.array([row.stddev for row in rows]),
        )
        shape = len(rows), self._groups, -1
        low, high = statistic.range
        value = readings.value.reshape(shape)
        lower, upper = (end.reshape(shape) for end in readings.interval(self._confidence))
        whole = (lower <= low) & (upper >= high) & np.isfinite(high - low)
        derive = getattr(statistic, "derived", None)
        derived = {} if derive is None else derive(readings.lanes)
        sums = {name: readings.lanes @ weights for name, weights in statistic.sums.items()}
        spreads = {name: readings.sum_stddevs(name) for name in sums}
        ends = {name: readings.sum_interval(name, self._confidence) for name in sums}

        def read(row: int) -> Reading:
            parts = {
                name: Part(
                    sums[name][row],
                    float(spreads[name][row]),
                    float(ends[name][1][row, 0] - ends[name][0][row, 0]) / 2.0,
                )
                for name in sums
            }
            return Reading(
                value[row], lower[row], upper[row], whole[row], parts,
                {name: column[row] for name, column in derived.items()},
                float(readings.stddevs[row]),
            )  # fmt: skip

        return read
