"""A table of events, released at once: all declared steps of all declared keys.

Spark sums the cells and sorts each bucket by step.  Tasks process them in pieces of some steps, so
the memory does not depend on the number of steps.

With a noise key hushfade reads a table twice.  First it seals each piece: a keyed digest of its
exact totals.  The driver claims the key's name for all seals together.  Then it seals each piece
again before it draws noise, and the seal must be the claimed one.  So no other totals ever get this
noise, even if files, databases or frames have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from hushfade.check import Signed
from hushfade.crossing.key_file import KeyFile
from hushfade.crossing.sealed_totals import table_digest
from hushfade.errors import Refused
from hushfade.private import integer_totals
from hushfade.private.unit_sums import UnitSums, overflow
from hushfade.records.arrow import pa
from hushfade.spark.close_steps import Buckets, rows_at_once
from hushfade.spark.released_rows import released
from hushfade.stream.partition import Part, Running

_SEALED = "bucket bigint, step bigint, seal binary"
Seals = Mapping[tuple[int, int], int]  # of the pieces, by bucket and first step


def releases(cells: DataFrame, buckets: Buckets, filled: int, steps: int) -> DataFrame:
    """The releases of steps 1 to `steps`, from columns step, lane, units.

    With a noise key the totals are computed immediately, and kept for the releases.
    """
    totals, noise = _totals(cells, buckets, filled), buckets.noise
    if not isinstance(noise, KeyFile):
        return totals.mapInArrow(Release(buckets, steps, None), buckets.schema)
    totals = _kept(totals)
    rows = totals.mapInArrow(Seal(buckets, steps), _SEALED).collect()
    seals = {(row.bucket, row.step): int.from_bytes(row.seal, "big") for row in rows}
    whole = reduce(xor, seals.values(), 0)  # the same however lanes are cut into buckets
    mechanism = buckets.mechanism
    noise.claim(mechanism.digest, "table", table_digest(whole, steps, mechanism.lanes))
    return totals.mapInArrow(Release(buckets, steps, seals), buckets.schema)


def _totals(cells: DataFrame, buckets: Buckets, filled: int) -> DataFrame:
    """Columns bucket, step, lane, units: the totals that are not 0, each bucket's by rising steps.

    For a statistic `units` is a record's code, and a further column `times` counts the records with
    this code in this step and key.  Workers compute the totals from both.

    Each bucket has a row with step -1, because a bucket without records is released too, and
    because Spark loses its observations of a frame without rows.
    """
    session = cells.sparkSession
    silent = session.range(filled).select(
        sql.lit(-1).cast("bigint").alias("step"),
        sql.expr(f"id * {buckets.keys}").alias("lane"),
        sql.lit(0).cast("bigint").alias("units"),
    )
    every = cells.select("step", "lane", "units").unionByName(silent)
    if buckets.mechanism.plan.statistic is None:
        # null if the sum exceeds 64 bits, whatever the session's arithmetic does with other sums
        totals = every.groupBy("step", "lane").agg(sql.try_sum("units").alias("units"))
    else:
        records = sql.count(sql.lit(1)).alias("times")
        totals = every.groupBy("step", "lane", "units").agg(records)
    tasks = min(filled, int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200))
    return (
        totals.select(sql.expr(f"lane div {buckets.keys}").alias("bucket"), "*")
        .repartitionById(tasks, sql.expr(f"cast(bucket % {tasks} as int)"))
        .sortWithinPartitions("bucket", "step")
    )


def _kept(totals: DataFrame) -> DataFrame:
    """The totals, computed once: in the session's checkpoint directory, or else on the workers.

    This happens now, because Spark reports its observations of the records after this action.
    """
    if totals.sparkSession.sparkContext.getCheckpointDir() is None:
        return totals.localCheckpoint()
    return totals.checkpoint()


class Piece(NamedTuple):
    """The totals (steps, lanes) of a bucket, from a step on."""

    part: Part
    bucket: int
    step: int  # the first is 0
    totals: Signed


@dataclass(frozen=True)
class Seal:
    """Seals the pieces of one task.  It is sent to workers."""

    buckets: Buckets
    steps: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Columns bucket, step, seal.  Raise if the plan does not support a total."""
        seal, most = self.buckets.seal(), self.buckets.mechanism.plan.grid.largest_total
        for piece in pieces(batches, self.buckets, self.steps):
            integer_totals.bounded(piece.totals, most)
            found = seal.of(piece.totals, step=piece.step, lane=piece.part.first)
            yield pa.RecordBatch.from_pydict(
                {
                    "bucket": pa.array([piece.bucket], pa.int64()),
                    "step": pa.array([piece.step], pa.int64()),
                    "seal": pa.array([found.to_bytes(16, "big")], pa.binary()),
                }
            )


@dataclass(frozen=True)
class Release:
    """Releases the pieces of one task, if they have their seals.  It is sent to workers."""

    buckets: Buckets
    steps: int
    seals: Seals | None  # none without a key

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The releases, one bucket after another."""
        seal = None if self.seals is None else self.buckets.seal()
        running: Running | None = None
        for piece in pieces(batches, self.buckets, self.steps):
            if seal is not None and self.seals is not None:
                found = seal.of(piece.totals, step=piece.step, lane=piece.part.first)
                if self.seals.get((piece.bucket, piece.step)) != found:
                    raise Refused("the table must not change after its noise was claimed")
            if running is None or piece.step == 0:
                running = self.buckets.running(piece.bucket)
            yield pa.RecordBatch.from_pydict(released(running, piece.totals, self.buckets.shown))


def pieces(batches: Iterable[Any], buckets: Buckets, steps: int) -> Iterator[Piece]:
    """All steps of the buckets of one task, whose cells come in order."""
    table: Table | None = None
    for batch in batches:
        bucket, step, lane = (batch.column(i).to_numpy() for i in range(3))
        units = batch.column(3)
        times = batch.column(4).to_numpy() if batch.num_columns > 4 else None
        if units.null_count:  # Spark's try_sum found more than 64 bits
            raise overflow()
        starts = np.flatnonzero(np.diff(bucket, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(bucket)], strict=True):
            if table is None or table.bucket != bucket[start]:
                if table is not None:
                    yield from table.rest()
                table = Table(int(bucket[start]), buckets, steps)
            rows = slice(start, stop)
            records = None if times is None else times[rows]
            yield from table.added(step[rows], lane[rows], units.to_numpy()[rows], records)
    if table is not None:
        yield from table.rest()


class Table:
    """A bucket's totals, a piece of some steps at a time."""

    def __init__(self, bucket: int, buckets: Buckets, steps: int) -> None:
        self.bucket = bucket
        self._part, self._grid = buckets.part(bucket), buckets.mechanism.plan.grid
        self._keys, self._first = self._part.lanes // self._grid.parts, bucket * buckets.keys
        self._rows, self._steps, self._taken = rows_at_once(self._part.lanes), steps, 0
        self._sums = self._blank()

    def added(
        self, steps: Signed, lanes: Signed, units: Signed, times: Signed | None = None
    ) -> Iterator[Piece]:
        """The pieces before the last of these cells, which come by rising steps."""
        at = int(np.searchsorted(steps, 0))  # after what marks the bucket
        while at < len(steps):
            stop = int(np.searchsorted(steps, self._taken + self._length))
            cells = (steps[at:stop] - self._taken) * self._keys + lanes[at:stop] - self._first
            self._add(cells, units[at:stop], None if times is None else times[at:stop])
            at = stop
            if at < len(steps):
                yield self._piece()

    def _add(self, cells: Signed, units: Signed, times: Signed | None) -> None:
        if times is None:  # Spark has summed: a cell comes once
            self._sums.totals[cells] = units
            return
        places, added = self._grid.spread(cells, units)
        if len(cells):
            self._sums.add(places, added, np.repeat(times, len(added) // len(cells)))

    def rest(self) -> Iterator[Piece]:
        """The pieces of all steps that are left."""
        while self._taken < self._steps:
            yield self._piece()

    def _piece(self) -> Piece:
        totals = self._sums.totals.reshape(self._length, self._part.lanes)
        piece = Piece(self._part, self.bucket, self._taken, totals)
        self._taken += self._length
        self._sums = self._blank()
        return piece

    @property
    def _length(self) -> int:
        """The number of steps of the piece that is being filled."""
        return min(self._rows, self._steps - self._taken)

    def _blank(self) -> UnitSums:
        return UnitSums(self._length * self._part.lanes, largest=self._grid.largest_unit)
