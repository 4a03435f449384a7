"""Limits on the records of one person, independent of the order of arrival.

A person's steps count in order of time: the first, then the next that is `apart` steps later, up to
`steps` of them.  If the unit of privacy is a calendar period, this begins again with the first step
of each period.  If the unit is renewed within a window, every step counts.  The choice of steps
depends only on times: another value or key never admits another step.

In each step `records_per_step` records count.  Spark knows no order of arrival, so a hash of the
person, time, lane and units chooses them, under a key that is derived from the noise key.  It
prefers no value: the smallest values, for example, would bias every sum.  The records that count
depend only on the set of that person's records: they are the same in a table, in a stream, and
when a task runs again, which would give other numbers to rows and partitions.

In a stream the records of a person wait until their step has ended.  Late records are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from hushfade.check import Signed
from hushfade.crossing.key_file import Travelling, opened
from hushfade.privacy.unit import Unit
from hushfade.records.arrow import pa
from hushfade.records.calendar import Timed
from hushfade.records.limits import Limits
from hushfade.records.local_calendar import Periods
from hushfade.spark.bucket_steps import Steps, clock_of
from hushfade.spark.step_bounds import with_periods

pd: Any = import_module("pandas")
Records = NDArray[np.void]

LIMITED = "at timestamp, step bigint, lane bigint, units bigint"
_CONTENT = ("high", "low", "microseconds", "lane", "units")
_PLACED = "step bigint, lane bigint, units bigint, microseconds bigint, high bigint, low bigint"
_RECORD = np.dtype([(name, "<i8") for name in ("high", "low", "at", "lane", "units")])
_COLUMNS = {name: name for name in _RECORD.names or ()} | {"at": "microseconds"}
_USED = np.dtype([(name, "<i8") for name in ("high", "low", "count", "last")])


@dataclass(frozen=True, eq=False)
class PersonLimits:
    """The limits per person and, if they hold per calendar period, where each period begins."""

    limits: Limits
    period: str | None = None  # such as "week Europe/Vienna"
    firsts: Signed | None = None  # the first step of each period, from 0

    @classmethod
    def of(cls, unit: Unit, calendar: Timed) -> PersonLimits:
        """The limits that a unit of privacy needs.

        The driver computes the periods: workers look up no time zone.
        """
        if unit.period is None:
            return cls(Limits.of(unit))
        return cls(Limits.of(unit), unit.period, Periods.of(unit.period, calendar).first_steps())

    def since(self, step: int) -> int:
        """The first step of the period in which a step begins; 0 without periods."""
        if self.firsts is None:
            return 0
        return int(self.firsts[np.searchsorted(self.firsts, step, side="right") - 1])


class RecordOrder(Protocol):
    """An order of a person's records in a step.  It is sent to workers."""

    def places(self, *content: Signed) -> Signed:
        """A number for each record, by its person, time, lane and units; the smallest count."""


@dataclass(frozen=True)
class HashOrder:
    """The order by a hash under a key that each worker derives from its own key file."""

    noise: Travelling
    plan: bytes  # the digest

    def places(self, *content: Signed) -> Signed:
        hashed = opened(self.noise).record_order(self.plan).of(*content)
        return hashed[:, 0].astype("<u8").view("<i8").astype(np.int64)


@dataclass(frozen=True)
class _Placing:
    """Appends the column `place` to the cells of one task."""

    order: RecordOrder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            content = [batch.column(name).to_numpy() for name in _CONTENT]
            yield batch.append_column("place", pa.array(self.order.places(*content), pa.int64()))


def of_table(cells: DataFrame, declared: PersonLimits, steps: int, order: RecordOrder) -> DataFrame:
    """The cells of a table that count, including cells with undeclared keys.

    The table has this number of steps.
    """
    limits, person = declared.limits, ("high", "low")
    names = [part.split()[0] for part in _PLACED.split(", ")]
    placed = cells.select(*names).mapInArrow(_Placing(order), f"{_PLACED}, place bigint")
    # equal places need an order too: a task that runs again must choose the same records
    first = Window.partitionBy(*person, "step").orderBy("place", "microseconds", "lane", "units")
    ranked = placed.withColumn("rank", sql.row_number().over(first))
    few = ranked.where(sql.col("rank") <= limits.records_per_step).drop("rank", "place")
    if limits.stretch == "step":
        return few
    kept = sql.expr(
        "aggregate(array_sort(collect_set(step)), cast(array() as array<bigint>), (kept, next) -> "
        f"case when size(kept) < {limits.steps} and "
        f"coalesce(next - try_element_at(kept, -1) >= {limits.apart}, true) "
        "then array_append(kept, next) else kept end)"
    )
    stretches = cells.groupBy(*person)
    if declared.firsts is not None:
        stretches = with_periods(cells, declared.firsts, steps).groupBy(*person, "period")
    chosen = stretches.agg(kept.alias("kept"))
    return few.join(chosen.select(*person, sql.explode("kept").alias("step")), [*person, "step"])


class Limiting(StatefulProcessor):
    """Passes on the records that count, when their step has ended."""

    def __init__(
        self, declared: PersonLimits, calendar: Timed, bond: str, order: RecordOrder
    ) -> None:
        self._declared, self._limits, self._bond = declared, declared.limits, bond
        self._order = order
        self._clock = clock_of(calendar)

    def init(self, handle: Any) -> None:
        """The state: what each person has used, and the records of open steps."""
        self._steps = Steps(handle, self._clock, self._bond)
        self._used = handle.getValueState("used", "persons binary")

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Let all persons wait for the end of step 1."""
        self._used.update((b"",))
        self._steps.begin()

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Keep the first records of each person and open step; the result has no rows."""
        self._steps.check()
        closed = self._steps.closed
        for frame in rows:
            steps = frame["step"].to_numpy()
            records = np.empty(len(frame), dtype=_RECORD)
            for name, column in _COLUMNS.items():
                records[name] = frame[column].to_numpy()
            for step in np.unique(steps[steps >= closed]).tolist():
                found = self._steps.found(step) or b""
                both = np.concatenate([np.frombuffer(found, _RECORD), records[steps == step]])
                few = first_of_each(both, self._limits.records_per_step, self._order)
                self._steps.put(step, few.tobytes())
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """The records that count of all steps that have ended."""
        self._steps.check()
        watermark = timerValues.getCurrentWatermarkInMs()
        ended = self._clock.ended(watermark)
        used = np.frombuffer(bytes(self._used.get()[0]), dtype=_USED)
        for step in self._steps.waiting(ended):
            records = np.frombuffer(self._steps.taken(step), dtype=_RECORD)
            kept = np.ones(len(records), dtype=np.bool_)
            if self._limits.stretch != "step":  # then nobody has to be remembered
                used, kept = taken(self._current(used, step), records, step, self._limits)
            passed = records[kept & (records["lane"] >= 0)]
            # Spark lets no row out that is older than the watermark; the step is in the row
            at = pd.DatetimeIndex(np.full(len(passed), watermark * 10**6), tz="UTC")
            rest = {name: passed[name].astype(np.int64) for name in ("lane", "units")}
            yield pd.DataFrame({"at": at, "step": np.full(len(passed), step), **rest})
        self._used.update((self._current(used, ended).tobytes(),))
        self._steps.close(ended)

    def _current(self, used: Records, step: int) -> Records:
        """The used limits of the period of a step: the limits of earlier periods are over."""
        current: Records = used[used["last"] >= self._declared.since(step)]
        return current

    def close(self) -> None:
        """Do nothing: the processor holds no resources."""


def first_of_each(records: Records, most: int, order: RecordOrder) -> Records:
    """The first `most` records of each person in this order."""
    high, low, *rest = (records[name] for name in _RECORD.names or ())
    places = order.places(high, low, *rest)
    found = records[np.lexsort([*reversed(rest), places, low, high])]
    begins = np.flatnonzero(_new_person(found))
    ranks = np.arange(len(found)) - np.repeat(begins, np.diff([*begins, len(found)]))
    few: Records = found[ranks < most]
    return few


def taken(
    used: Records, records: Records, step: int, limits: Limits
) -> tuple[Records, NDArray[np.bool_]]:
    """The used limits per person after this step, and which of its records count.

    The records are ordered by person.  Steps come in order, so the last step of a person is enough.
    Cost: a sort of all persons.
    """
    firsts = _new_person(records)
    new = np.zeros(int(firsts.sum()), dtype=_USED)
    new["high"], new["low"] = records["high"][firsts], records["low"][firsts]
    both = np.concatenate([used, new])
    order = np.lexsort([both["low"], both["high"]])  # stable: who is known comes before
    both = both[order]
    known = ~_new_person(both)  # a person of this step who stands in `used` as well
    here = order >= len(used)
    before = np.flatnonzero(known) - 1
    both["count"][known], both["last"][known] = both["count"][before], both["last"][before]
    free = here & (both["count"] < limits.steps)
    free &= (both["count"] == 0) | (step - both["last"] >= limits.apart)
    both["count"][free] += 1
    both["last"][free] = step
    allowed = np.empty(len(new), dtype=np.bool_)
    allowed[order[here] - len(used)] = free[here]
    replaced = np.zeros(len(both), dtype=np.bool_)
    replaced[before] = True
    return both[~replaced], allowed[np.cumsum(firsts) - 1]


def _new_person(ordered: Records) -> NDArray[np.bool_]:
    """Where another person begins."""
    found = np.ones(len(ordered), dtype=np.bool_)
    same = ordered[1:][["high", "low"]] == ordered[:-1][["high", "low"]]
    found[1:] = ~same
    return found
