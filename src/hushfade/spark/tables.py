"""A table of events, released at once: all declared steps of all declared keys.

Spark sums the cells, sorts each bucket's by step, and hands them to the mechanism in pieces: memory
is that of a piece, whatever the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hushfade.check import Signed
from hushfade.private.unit_sums import overflow
from hushfade.records.arrow import pa
from hushfade.spark.close_steps import RELEASED, Buckets, released, rows_at_once
from hushfade.stream.partition import Running


def releases(cells: DataFrame, buckets: Buckets, filled: int, steps: int) -> DataFrame:
    """Columns step, lane, value, stddev, of steps 1 to `steps`, from columns step, lane, units."""
    session = cells.sparkSession
    # a bucket without records is released too; and where there are none at all Spark would forget
    # what it observed of them
    silent = session.range(filled).select(
        sql.lit(-1).cast("bigint").alias("step"),
        sql.expr(f"id * {buckets.size}").alias("lane"),
        sql.lit(0).cast("bigint").alias("units"),
    )
    every = cells.select("step", "lane", "units").unionByName(silent)
    # null where the sum exceeds 64 bits, whatever the session's arithmetic does with other sums
    totals = every.groupBy("step", "lane").agg(sql.try_sum("units").alias("units"))
    tasks = min(filled, int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200))
    return (
        totals.select(sql.expr(f"lane div {buckets.size}").alias("bucket"), "*")
        .repartitionById(tasks, sql.expr(f"cast(bucket % {tasks} as int)"))
        .sortWithinPartitions("bucket", "step")
        .mapInArrow(Run(buckets, steps), RELEASED)
    )


class Run:
    """All steps of the buckets of one task, whose cells come in order.  Travels to workers."""

    def __init__(self, buckets: Buckets, steps: int) -> None:
        self._buckets, self._steps = buckets, steps

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The releases of one bucket after the other."""
        table: Table | None = None
        for batch in batches:
            bucket, step, lane = (batch.column(i).to_numpy() for i in range(3))
            units = batch.column(3)
            if units.null_count:  # Spark's try_sum found more than 64 bits
                raise overflow()
            starts = np.flatnonzero(np.diff(bucket, prepend=-1))
            for start, stop in zip(starts, [*starts[1:], len(bucket)], strict=True):
                if table is None or table.bucket != bucket[start]:
                    if table is not None:
                        yield from table.rest()
                    table = Table(int(bucket[start]), self._buckets, self._steps)
                found = slice(start, stop)
                yield from table.added(step[found], lane[found], units.to_numpy()[found])
        if table is not None:
            yield from table.rest()


class Table:
    """A bucket's totals, a piece of so many steps at a time."""

    def __init__(self, bucket: int, buckets: Buckets, steps: int) -> None:
        self.bucket = bucket
        self._running: Running = buckets.running(bucket)
        self._part = self._running.part
        self._rows, self._steps = rows_at_once(self._part.lanes), steps
        self._totals = self._blank()

    def added(self, steps: Signed, lanes: Signed, units: Signed) -> Iterator[Any]:
        """The releases of the steps before the last of these cells, which come by rising steps."""
        at = int(np.searchsorted(steps, 0))  # after what marks the bucket
        while at < len(steps):
            base = self._running.steps
            stop = int(np.searchsorted(steps, base + len(self._totals)))
            self._totals[steps[at:stop] - base, lanes[at:stop] - self._part.first] = units[at:stop]
            at = stop
            if at < len(steps):
                yield self._released()

    def rest(self) -> Iterator[Any]:
        """The releases of all steps that are left."""
        while self._running.steps < self._steps:
            yield self._released()

    def _released(self) -> Any:
        found = released(self._running, self._totals)
        self._totals = self._blank()
        return pa.RecordBatch.from_pydict(found)

    def _blank(self) -> Signed:
        rows = min(self._rows, self._steps - self._running.steps)
        return np.zeros((rows, self._part.lanes), dtype=np.int64)
