"""Closing of the steps of a bucket of lanes, when the watermark has passed their end.

The state of a bucket is the memory of the mechanism and the totals of its open steps.  Totals are
integers, so the order of arrival does not matter.  Each step releases all lanes of the bucket,
whether they had records or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hushfade.check import Signed
from hushfade.crossing.key_file import Travelling, opened
from hushfade.crossing.noise_sources import KeyedNoise
from hushfade.crossing.sealed_totals import TotalsSeal
from hushfade.private.unit_sums import UnitSums, merged
from hushfade.records.calendar import Timed
from hushfade.spark.bucket_steps import Steps, clock_of
from hushfade.spark.released_rows import Shown, released, schema
from hushfade.stream.partition import Mechanism, Part, Running

pd: Any = import_module("pandas")

_PIECE = 1 << 18  # totals at a time


@dataclass(frozen=True)
class Buckets:
    """The division of a mechanism's lanes into buckets, and the noise.  It is sent to workers."""

    mechanism: Mechanism
    noise: Travelling
    size: int  # totals per bucket and step
    shown: Shown = field(default_factory=Shown)  # of a statistic

    @property
    def keys(self) -> int:
        """The number of keys per bucket."""
        return self.size // self.mechanism.plan.grid.parts

    @property
    def schema(self) -> str:
        """The columns of the releases."""
        return schema(self.mechanism.plan.statistic)

    def part(self, bucket: int) -> Part:
        """The lanes of a bucket."""
        first = bucket * self.size
        return Part(self.mechanism, first, min(self.size, self.mechanism.lanes - first))

    def seal(self) -> TotalsSeal:
        """Digests of totals under the key of this machine's file."""
        source = opened(self.noise)
        assert isinstance(source, KeyedNoise)
        return source.seal(self.mechanism.digest)

    def running(self, bucket: int, saved: bytes | None = None) -> Running:
        """A bucket on this machine."""
        return self.part(bucket).resumed(opened(self.noise), saved)


def rows_at_once(lanes: int) -> int:
    """Steps that are released in one piece."""
    return max(1, _PIECE // lanes)


class Closing(StatefulProcessor):
    """Sums the records of a bucket's open steps, and releases each when it has ended."""

    def __init__(self, buckets: Buckets, calendar: Timed, bond: str) -> None:
        self._buckets, self._bond = buckets, bond
        self._clock = clock_of(calendar)

    def init(self, handle: Any) -> None:
        """The state: what the mechanism remembers, and the totals of open steps."""
        self._steps = Steps(handle, self._clock, self._bond)
        self._memory = handle.getValueState("memory", "saved binary")

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Let every bucket wait for the end of step 1, even if it never has records."""
        self._memory.update((self._buckets.running(int(key[0])).save(),))
        self._steps.begin()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Add the records to the totals of their steps; the result has no rows."""
        self._steps.check()
        part, closed = self._buckets.part(int(key[0])), self._steps.closed
        totals: dict[int, Signed] = {}
        for frame in rows:
            steps, lanes, units = (frame[name].to_numpy() for name in ("step", "lane", "units"))
            kept = (steps >= closed) & (lanes >= 0)  # the clock's rows have neither
            add(totals, part, steps[kept], lanes[kept], units[kept])
        for step, row in totals.items():
            waiting = self._steps.found(step)
            both = row if waiting is None else merged(row, np.frombuffer(waiting, dtype="<i8"))
            self._steps.put(step, both.astype("<i8").tobytes())
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Close and release all steps that have ended."""
        self._steps.check()
        closed = self._steps.closed
        ended = self._clock.ended(timerValues.getCurrentWatermarkInMs())
        running = self._buckets.running(int(key[0]), bytes(self._memory.get()[0]))
        waiting = set(self._steps.waiting(ended))
        lanes, most = running.part.lanes, running.part.mechanism.plan.grid.largest_total
        for start in range(closed, ended, rows_at_once(lanes)):
            stop = min(start + rows_at_once(lanes), ended)
            totals = np.zeros((stop - start, lanes), dtype=np.int64)
            for step in waiting.intersection(range(start, stop)):
                totals[step - start] = np.frombuffer(self._steps.taken(step), dtype="<i8")
            # a larger total would stop the query, and one record would decide about all later steps
            cut = np.clip(totals, -most, most)
            yield pd.DataFrame(released(running, cut, self._buckets.shown))
        self._memory.update((running.save(),))
        self._steps.close(ended)

    def close(self) -> None:
        """Do nothing: the processor holds no resources."""


def add(totals: dict[int, Signed], part: Part, steps: Signed, lanes: Signed, units: Signed) -> None:
    """Add each record to the totals of its step; `lanes` are the places of the records' keys."""
    distinct, rows = np.unique(steps, return_inverse=True)
    grid = part.mechanism.plan.grid
    keys, first = part.lanes // grid.parts, part.first // grid.parts
    sums = UnitSums(len(distinct) * part.lanes, largest=grid.largest_unit)
    sums.add(*grid.spread(rows * keys + lanes - first, units))
    for step, row in zip(
        distinct.tolist(), sums.totals.reshape(len(distinct), part.lanes), strict=True
    ):
        totals[step] = merged(totals[step], row) if step in totals else row
