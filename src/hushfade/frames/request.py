"""A request: how to release a column, fixed before the column is read.

    rows        x_1, ..., x_n: one step each                     private
    units       integers on the plan's grid; 0 for an empty step private
    Published   value and standard deviation of every step       public

Every kind of frame reads its column into a `Column` and passes it to a `Request`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Matrix, Signed
from hushfade.crossing import key_file
from hushfade.crossing.key_file import Noise
from hushfade.duration import Length
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.familiar import FamiliarNames
from hushfade.frames.settings import Arguments, TotalsArguments, planned
from hushfade.planning.plan import Plan
from hushfade.private import declared_totals, real_numbers

Made = TypeVar("Made")

CONFIDENCE = 0.95  # of lower and upper
_STATISTIC = ("lower", "upper", "count")
_BESIDE = ("step", "value", "stddev")  # the columns next to the key


@dataclass(frozen=True, repr=False)
class Column:
    """A column as numbers or booleans, and its null rows.  Its repr shows no record."""

    values: NDArray[Any]
    nulls: NDArray[np.bool_]

    def check_numbers(self) -> None:
        """Raise if the column has booleans, which only a share of true records reads."""
        if self.values.dtype.kind == "b":
            check_kind("O", "bool")


@dataclass(frozen=True)
class Published:
    """The public result: values, (n,) or (n, keys), and standard deviations of n steps."""

    value: Matrix
    stddev: check.Column
    keys: tuple[str, ...] | None
    statistic: dict[str, Matrix] | None = None  # lower, upper and count of a statistic

    def columns(self, key: str | None = None) -> dict[str, NDArray[Any]]:
        """Columns value and stddev; with keys, one row per step and key, in that order.

        A statistic has the columns lower, upper and count in place of stddev.
        """
        if self.statistic is not None:
            return self._of_statistic(self.statistic, key)
        if self.keys is None or key is None:
            return {"value": self.value, "stddev": self.stddev}
        n, lanes = self.value.shape
        return {
            "step": np.repeat(np.arange(1, n + 1), lanes),
            key: np.tile(np.array(self.keys, dtype=object), n),
            "value": self.value.ravel(),
            "stddev": np.repeat(self.stddev, lanes),
        }

    def _of_statistic(self, parts: dict[str, Matrix], key: str | None) -> dict[str, NDArray[Any]]:
        found = {"value": self.value.ravel(), **{n: part.ravel() for n, part in parts.items()}}
        if self.keys is None or key is None:
            return found
        n, lanes = self.value.shape
        steps = np.repeat(np.arange(1, n + 1), lanes)
        return {"step": steps, key: np.tile(np.array(self.keys, dtype=object), n), **found}


@dataclass(frozen=True)
class Request:
    """A plan, the noise, and the conversion of rows to units on the plan's grid."""

    plan: Plan
    noise: Noise | None
    units: Callable[[Column], Signed]
    every: Length = None  # the length of a step, if it is declared
    declared: object = None  # the length of a step as the caller declared it

    def check_rows(self) -> None:
        """Raise unless each row may be a step of the plan: rows without times need `every`."""
        self.plan.check_rows(self.declared)

    def run(self, column: Column) -> Published:
        """The release of a column: row t is step t.  Each call is a further release."""
        return self._published(self.units(column))

    def run_by_key(self, column: Column, labels: Iterable[object]) -> Published:
        """The release of a column whose rows belong to keys: a key's t-th row is its step t."""
        return self._published(_by_key(self.units(column), labels, self.plan))

    def _published(self, units: Signed) -> Published:
        plan = self.plan
        statistic = None if plan.statistic is None else dict.fromkeys(_STATISTIC, np.empty((0, 1)))
        if len(units) == 0:  # no steps and no noise
            return Published(np.empty(units.shape[:2]), np.empty(0), plan.keys, statistic)
        noise = key_file.for_totals(self.noise, plan.digest, units)
        value = plan.start(noise).run_units(units)
        stddevs = plan.stddevs(len(units))
        if statistic is None:
            return Published(value, stddevs, plan.keys)
        readings = plan.readings(value)
        ends = (*readings.interval(CONFIDENCE), readings.count)
        named = dict(zip(_STATISTIC, ends, strict=True))
        return Published(readings.value, stddevs, plan.keys, named)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers that are released."""
        return ("value", "stddev") if self.plan.statistic is None else ("value", *_STATISTIC)


class ColumnReleases(FamiliarNames[Made], ABC, Generic[Made]):
    """The methods of a column's namespace `hushfade`.  Each library implements `_run`."""

    def release(self, **arguments: Unpack[Arguments]) -> Made:
        """value and stddev for every row, which is a step with one record.

        See hushfade.frames.release.
        """
        return self._released(of_records(arguments))

    def release_totals(self, **arguments: Unpack[TotalsArguments]) -> Made:
        """value and stddev for every row, which is the total of a step.

        See hushfade.frames.release_totals.
        """
        return self._released(of_totals(arguments))

    @abstractmethod
    def _released(self, request: Request) -> Made:
        """Run the request on the column."""


class KeyedReleases(ABC, Generic[Made]):
    """The methods of a frame's namespace `hushfade`: sums of a column, for every declared key.

    See hushfade.frames for what keys mean.  Without `key` it is the column's own release.
    """

    def release(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[Arguments],
    ) -> Made:
        """Columns step, the key, value and stddev, for rows that hold one record each."""
        names = declared(key, keys, arguments.get("plan"))
        return self._released(of_records(arguments, names), value, key)

    def release_totals(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[TotalsArguments],
    ) -> Made:
        """Columns step, the key, value and stddev, for rows that hold the total of a step."""
        names = declared(key, keys, arguments.get("plan"))
        return self._released(of_totals(arguments, names), value, key)

    @abstractmethod
    def _released(self, request: Request, value: str, key: str | None) -> Made:
        """Run the request on the column `value`, by the column `key`."""


def of_records(arguments: Arguments, keys: tuple[str, ...] | None = None) -> Request:
    """The request for rows with one record each."""
    plan, noise = planned(arguments, keys), arguments.get("noise")
    _check_statistic(plan)
    empty_steps = arguments.get("empty_steps", False)
    if not isinstance(empty_steps, bool):
        raise InvalidType("empty_steps must be a bool", got=type(empty_steps).__name__)
    replaced = empty_steps and plan.guarantee.neighbours == "replace" and not plan.statistic
    if replaced and not plan.grid.low <= 0.0 <= plan.grid.high:
        raise InvalidValue(
            "empty_steps needs 0 between low and high if neighbours is replace: a null record "
            "counts as 0"
        )

    def units(column: Column) -> Signed:
        nulls = column.nulls
        if plan.statistic is None or plan.statistic.kind != "truths":
            column.check_numbers()
        if not empty_steps:
            _none(nulls, "records must not be null (with empty_steps=True a null is no record)")
        _none(~np.isfinite(column.values) & ~nulls, "records must be finite")
        totals = np.zeros(len(nulls), dtype=np.int64)
        if plan.statistic is not None:
            return _lanes(plan, column.values, ~nulls)
        totals[~nulls] = plan.grid.units(column.values[~nulls])
        return totals

    given = arguments.get("every")
    return Request(plan, noise, units, plan.step_length(given), given)


def of_totals(arguments: TotalsArguments, keys: tuple[str, ...] | None = None) -> Request:
    """The request for rows with the total of one step each."""

    if "empty_steps" in arguments:
        raise InvalidType("empty_steps is for records: the total of an empty step is 0")
    plan = planned(arguments, keys)
    plan.require_sums("release_totals")

    def units(column: Column) -> Signed:
        column.check_numbers()
        _none(column.nulls, "totals must not be null (the total of a step without records is 0)")
        _none(~np.isfinite(column.values), "totals must be finite")
        grid = plan.grid
        totals = declared_totals.block(column.values, 1, grid.resolution, grid.largest_total)
        return np.asarray(totals[:, 0])

    given = arguments.get("every")
    return Request(plan, arguments.get("noise"), units, plan.step_length(given), given)


def _check_statistic(plan: Plan) -> None:
    """Raise if the statistic is not one number per row."""
    if plan.statistic is None:
        return
    if plan.statistic.outputs is not None or plan.statistic.kind in ("texts", "pairs"):
        raise InvalidValue(
            f"release has one number per row, and cannot release the statistic "
            f"{plan.statistic.name!r}",
            remedy="use release_events, which has a row per step and output",
        )


def _lanes(plan: Plan, values: NDArray[Any], present: NDArray[np.bool_]) -> Signed:
    """The lanes of one record per row, (n, parts); 0 for rows without a record."""
    lanes = np.zeros(len(values) * plan.grid.parts, dtype=np.int64)
    cells, units = plan.grid.spread(np.flatnonzero(present), plan.grid.units(values[present]))
    np.add.at(lanes, cells, units)
    return lanes.reshape(len(values), plan.grid.parts)


def declared(
    key: str | None, keys: Iterable[str] | None, plan: Plan | None = None
) -> tuple[str, ...] | None:
    """The keys of a release, by default the plan's keys; None without a key column."""
    if key is None:
        if keys is not None:
            raise InvalidType("keys need key, the name of the column with the keys")
        return None
    if key in _BESIDE:
        raise InvalidValue(f"key must not be named {', '.join(_BESIDE)}", got=repr(key))
    if keys is None and isinstance(plan, Plan) and plan.keys is not None:
        return plan.keys
    if keys is None or isinstance(keys, str):
        raise InvalidType(
            "keys must be declared as a list: the keys that occur in the data may be secret"
        )
    return tuple(keys)


def record_column(data: object) -> Column:
    """A numpy array or a list of records as a column without nulls; NaN is not a null."""
    records = _sequence(data)
    if len(records) and all(isinstance(record, bool | np.bool_) for record in records):
        return _column(np.asarray(records))
    return _column(real_numbers.nearest(records, "data"))


def total_column(data: object) -> Column:
    """A numpy array or a list of totals as a column without nulls; NaN is not a null."""
    return _column(real_numbers.array(_sequence(data), "data"))


def _sequence(data: object) -> NDArray[Any] | Sequence[Any]:
    if not isinstance(data, np.ndarray | list | tuple):
        raise InvalidType("must be a column of numbers", argument="data", got=type(data).__name__)
    return data


def _column(values: NDArray[Any]) -> Column:
    if values.ndim != 1:
        raise InvalidValue("must be one column", argument="data", got=f"{values.ndim} dimensions")
    return Column(values, np.zeros(len(values), dtype=np.bool_))


def check_kind(kind: str, shown: object) -> None:
    """Raise unless the column has integers, floats or booleans."""
    if kind not in ("i", "u", "f", "b"):
        raise InvalidType(
            "a column must have integers or floats of at most 64 bits",
            got=shown,
            remedy="cast it, so that the value of a record is clear",
        )


def _by_key(units: Signed, labels: Iterable[object], plan: Plan) -> Signed:
    """The units as (steps, keys), with the steps of the key with most rows; 0 elsewhere."""
    assert plan.keys is not None
    lane_of: dict[Any, int] = plan.grid.lane_of
    places: Signed = np.array([lane_of.get(label, -1) for label in labels], dtype=np.int64)
    _none(places < 0, "rows must belong to the declared keys")
    counts = np.bincount(places, minlength=len(plan.keys))
    step = np.empty(len(places), dtype=np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    step[np.argsort(places, kind="stable")] = np.arange(len(places)) - first
    by_key = np.zeros((int(counts.max()), len(plan.keys), *units.shape[1:]), dtype=np.int64)
    by_key[step, places] = units
    return by_key.reshape(len(by_key), len(plan.keys) * plan.grid.parts)


def _none(bad: NDArray[np.bool_], rule: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise InvalidValue(f"{rule}", got=f"{len(rows)} invalid, the first in row {rows[0]}")
