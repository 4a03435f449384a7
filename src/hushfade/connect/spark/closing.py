"""Steps of a bucket of lanes, closed when the watermark has passed their end.

A bucket's state is what the mechanism remembers and the totals of its open steps.  Totals are
integers, so the order of arrival does not matter.  All lanes of the bucket are released at each
step, whether they had records or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hushfade.check import Signed
from hushfade.connect.keyfile import Travelling, opened
from hushfade.connect.part import Mechanism, Part, Running
from hushfade.errors import InvalidValue
from hushfade.events.calendar import Calendar

pd: Any = import_module("pandas")

RELEASED = "step bigint, lane bigint, value double, stddev double"
_PIECE = 1 << 18  # releases at a time
_MOST = 1 << 61
_TOO_MANY = "records must be fewer: their sum could exceed 62 bits"


@dataclass(frozen=True)
class Buckets:
    """How a mechanism's lanes are cut, and what noise they have.  Travels to workers."""

    mechanism: Mechanism
    noise: Travelling
    size: int

    def part(self, bucket: int) -> Part:
        """The lanes of a bucket."""
        first = bucket * self.size
        return Part(self.mechanism, first, min(self.size, self.mechanism.lanes - first))

    def running(self, bucket: int, saved: bytes | None = None) -> Running:
        """A bucket on this machine."""
        return self.part(bucket).resumed(opened(self.noise), saved)


def released(running: Running, totals: Signed) -> dict[str, Any]:
    """Columns step, lane, value, stddev of the next steps, (n, lanes)."""
    taken, (steps, lanes) = running.steps, totals.shape
    values = running.run(totals)
    stddevs = np.array(running.part.mechanism.stddevs(taken, steps))
    numbers = np.arange(taken + 1, taken + 1 + steps, dtype=np.int64)
    own = np.arange(running.part.first, running.part.first + lanes, dtype=np.int64)
    return {
        "step": np.repeat(numbers, lanes),
        "lane": np.tile(own, steps),
        "value": values.ravel(),
        "stddev": np.repeat(stddevs, lanes),
    }


def rows_at_once(lanes: int) -> int:
    """Steps that are released in one piece."""
    return max(1, _PIECE // lanes)


class Clock:
    """Which steps have ended, in the milliseconds in which Spark's watermark counts."""

    def __init__(self, calendar: Calendar) -> None:
        self._start, self._every = calendar.start // 1000, calendar.every // 1000
        self._steps = calendar.steps

    def ended(self, watermark: int) -> int:
        """How many steps have ended at this watermark: no record of theirs is let in any more."""
        found = max(0, (watermark * 1000 - self._start) // self._every)
        return found if self._steps is None else min(found, self._steps)

    def timer(self, closed: int) -> int | None:
        """When the next step may close; None after the last.

        A timer fires when the watermark is beyond it, and a step closes when it is at its end.
        """
        if self._steps is not None and closed >= self._steps:
            return None
        end = self._start + (closed + 1) * self._every
        return -(-end // 1000) - 1


class Closing(StatefulProcessor):
    """Sums the records of a bucket's open steps, and releases each when it has ended."""

    def __init__(self, buckets: Buckets, calendar: Calendar) -> None:
        self._buckets = buckets
        self._clock = Clock(calendar)

    def init(self, handle: Any) -> None:
        """The state: what the mechanism remembers, steps closed, totals of open steps."""
        self._handle = handle
        self._memory = handle.getValueState("memory", "saved binary")
        self._closed = handle.getValueState("closed", "steps bigint")
        self._open = handle.getMapState("open", "step bigint", "totals binary")

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Every bucket waits for the end of step 1, also where no record ever comes."""
        self._wait(0)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Nothing yet: the records are added to the totals of their steps."""
        part = self._buckets.part(int(key[0]))
        closed = self._steps_closed()
        found: dict[int, Signed] = {}
        for frame in rows:
            steps, lanes, units = (frame[name].to_numpy() for name in ("step", "lane", "units"))
            kept = steps >= closed  # heartbeats have step -1
            add(found, part.lanes, steps[kept], lanes[kept] - part.first, units[kept])
        for step, totals in found.items():
            self._add(step, totals)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """The releases of all steps that have ended."""
        bucket, closed = int(key[0]), self._steps_closed()
        ended = self._clock.ended(timerValues.getCurrentWatermarkInMs())
        saved = self._memory.get()
        running = self._buckets.running(bucket, None if saved is None else saved[0])
        waiting = {step for (step,) in self._open.keys() if step < ended}
        lanes = running.part.lanes
        for start in range(closed, ended, rows_at_once(lanes)):
            stop = min(start + rows_at_once(lanes), ended)
            totals = np.zeros((stop - start, lanes), dtype=np.int64)
            for step in sorted(waiting.intersection(range(start, stop))):
                totals[step - start] = self._taken(step)
            yield pd.DataFrame(released(running, totals))
        self._memory.update((running.save(),))
        self._closed.update((ended,))
        self._wait(ended)

    def close(self) -> None:
        """Nothing is held."""

    def _steps_closed(self) -> int:
        found = self._closed.get()
        return 0 if found is None else int(found[0])

    def _wait(self, closed: int) -> None:
        timer = self._clock.timer(closed)
        if timer is not None:
            self._handle.registerTimer(timer)

    def _add(self, step: int, totals: Signed) -> None:
        found = self._open.getValue((step,))
        if found is not None:
            totals = _bounded(totals + np.frombuffer(found[0], dtype="<i8"))
        self._open.updateValue((step,), (totals.astype("<i8").tobytes(),))

    def _taken(self, step: int) -> Signed:
        (found,) = self._open.getValue((step,))
        self._open.removeKey((step,))
        return np.frombuffer(found, dtype="<i8")


def add(
    totals: dict[int, Signed], width: int, steps: Signed, lanes: Signed, units: Signed
) -> None:
    """Adds each record to its step's totals."""
    if not len(steps):
        return
    if len(units) * int(np.abs(units).max()) >= _MOST:
        raise InvalidValue(_TOO_MANY)
    order = np.argsort(steps, kind="stable")
    steps, lanes, units = steps[order], lanes[order], units[order]
    firsts = np.flatnonzero(np.diff(steps, prepend=-1))
    for first, last in zip(firsts, [*firsts[1:], len(steps)], strict=True):
        row = totals.setdefault(int(steps[first]), np.zeros(width, dtype=np.int64))
        np.add.at(row, lanes[first:last], units[first:last])
        _bounded(row)


def _bounded(totals: Signed) -> Signed:
    """The totals, if what comes next cannot make them exceed 63 bits."""
    if not (int(totals.max()) < _MOST and int(totals.min()) > -_MOST):
        raise InvalidValue(_TOO_MANY)
    return totals
