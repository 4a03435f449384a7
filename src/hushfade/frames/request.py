"""A request: what is to be released from a column, fixed before the column is seen.

    rows        x_1, ..., x_n: one step each                     private
    units       integers on the plan's grid; 0 for an empty step private
    Published   value and standard deviation of every step       public

Every kind of frame reads its column into a `Column` and passes it to a `Request`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Matrix, Signed
from hushfade.crossing import key_file
from hushfade.crossing.key_file import Noise
from hushfade.duration import ROWS, step_length
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.settings import Arguments, TotalsArguments, planned
from hushfade.planning.plan import Plan
from hushfade.private import declared_totals, real_numbers

Made = TypeVar("Made")

_BESIDE = ("step", "value", "stddev")  # the columns beside the key's


@dataclass(frozen=True, repr=False)
class Column:
    """A column as numbers, and which of its rows are null.  Its repr shows no record."""

    values: NDArray[Any]
    nulls: NDArray[np.bool_]


@dataclass(frozen=True)
class Published:
    """What may leave: the values, (n,) or (n, keys), and the standard deviations of n steps."""

    value: Matrix
    stddev: check.Column
    keys: tuple[str, ...] | None

    def columns(self, key: str | None = None) -> dict[str, NDArray[Any]]:
        """value and stddev; by key one row for each step and key, in that order."""
        if self.keys is None or key is None:
            return {"value": self.value, "stddev": self.stddev}
        n, lanes = self.value.shape
        return {
            "step": np.repeat(np.arange(1, n + 1), lanes),
            key: np.tile(np.array(self.keys, dtype=object), n),
            "value": self.value.ravel(),
            "stddev": np.repeat(self.stddev, lanes),
        }


@dataclass(frozen=True)
class Request:
    """A plan, the noise, and how rows become units on the plan's grid."""

    plan: Plan
    noise: Noise | None
    units: Callable[[Column], Signed]
    every: int | None = None  # the length of a step in nanoseconds, if it is declared

    def run(self, column: Column) -> Published:
        """The release of a column: row t is step t.  Each call is a release of its own."""
        return self._published(self.units(column))

    def run_by_key(self, column: Column, labels: Iterable[object]) -> Published:
        """The release of a column whose rows belong to keys: a key's t-th row is its step t."""
        return self._published(_by_key(self.units(column), labels, self.plan))

    def _published(self, units: Signed) -> Published:
        if len(units) == 0:  # no step is taken, no noise drawn
            return Published(np.empty(units.shape), np.empty(0), self.plan.keys)
        noise = key_file.for_totals(self.noise, self.plan.digest, units)
        value = self.plan.start(noise).run_units(units)
        return Published(value, self.plan.stddevs(len(units)), self.plan.keys)


class ColumnReleases(ABC, Generic[Made]):
    """The methods of a column's namespace `hushfade`; a library states how a request is run."""

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
    """The request for rows that hold one record each."""
    plan, noise = planned(arguments, keys), arguments.get("noise")
    empty_steps = arguments.get("empty_steps", False)
    if not isinstance(empty_steps, bool):
        raise InvalidType("empty_steps must be a bool", got=type(empty_steps).__name__)
    replaced = empty_steps and plan.guarantee.neighbours == "replace"
    if replaced and not plan.grid.low <= 0.0 <= plan.grid.high:
        raise InvalidValue(
            "empty_steps needs 0 between low and high where records are replaced: a record that "
            "becomes null counts as 0"
        )

    def units(column: Column) -> Signed:
        nulls = column.nulls
        if not empty_steps:
            _none(nulls, "records must not be null (with empty_steps=True a null is no record)")
        _none(~np.isfinite(column.values) & ~nulls, "records must be finite")
        totals = np.zeros(len(nulls), dtype=np.int64)
        totals[~nulls] = plan.grid.units(column.values[~nulls])
        return totals

    return Request(plan, noise, units, plan.step_length(_every(arguments)))


def of_totals(arguments: TotalsArguments, keys: tuple[str, ...] | None = None) -> Request:
    """The request for rows that hold a step's total each."""

    if "empty_steps" in arguments:
        raise InvalidType("empty_steps is for records: the total of an empty step is 0")
    plan = planned(arguments, keys)

    def units(column: Column) -> Signed:
        _none(column.nulls, "totals must not be null (the total of a step without records is 0)")
        _none(~np.isfinite(column.values), "totals must be finite")
        grid = plan.grid
        totals = declared_totals.block(column.values, 1, grid.resolution, grid.largest_total)
        return np.asarray(totals[:, 0])

    every = plan.step_length(_every(arguments))
    return Request(plan, arguments.get("noise"), units, every)


def declared(
    key: str | None, keys: Iterable[str] | None, plan: Plan | None = None
) -> tuple[str, ...] | None:
    """The keys of a frame's release, by default those of the plan; None where it has no key."""
    if key is None:
        if keys is not None:
            raise InvalidType("keys need a key: the name of the column that holds them")
        return None
    if key in _BESIDE:
        raise InvalidValue(f"key must not be named {', '.join(_BESIDE)}", got=repr(key))
    if keys is None and isinstance(plan, Plan) and plan.keys is not None:
        return plan.keys
    if keys is None or isinstance(keys, str):
        raise InvalidType(
            "keys must be declared, as a list: which keys occur in the data may itself be secret"
        )
    return tuple(keys)


def _every(arguments: TotalsArguments) -> int | None:
    given = arguments.get("every")
    return None if given in (None, ROWS) else step_length(given)


def record_column(data: object) -> Column:
    """A numpy array or a list of records as a column without nulls; NaN is not a null."""
    return _column(real_numbers.nearest(_sequence(data), "data"))


def total_column(data: object) -> Column:
    """A numpy array or a list of totals as a column without nulls; NaN is not a null."""
    return _column(real_numbers.array(_sequence(data), "data"))


def _sequence(data: object) -> object:
    if not isinstance(data, np.ndarray | list | tuple):
        raise InvalidType("must be a column of numbers", argument="data", got=type(data).__name__)
    return data


def _column(values: NDArray[Any]) -> Column:
    if values.ndim != 1:
        raise InvalidValue("must be one column", argument="data", got=f"{values.ndim} dimensions")
    return Column(values, np.zeros(len(values), dtype=np.bool_))


def check_kind(kind: str, shown: object) -> None:
    """Raise unless the column's numpy kind is one of integers or floats."""
    if kind not in ("i", "u", "f"):
        raise InvalidType(
            "a column must have integers or floats of at most 64 bits",
            got=shown,
            remedy="cast it, so that it is clear what a record counts",
        )


def _by_key(units: Signed, labels: Iterable[object], plan: Plan) -> Signed:
    """The units as (steps, keys): as many steps as the key with most rows has; 0 elsewhere."""
    assert plan.keys is not None
    lane_of: dict[Any, int] = plan.grid.lane_of
    places: Signed = np.array([lane_of.get(label, -1) for label in labels], dtype=np.int64)
    _none(places < 0, "rows must belong to the declared keys")
    counts = np.bincount(places, minlength=len(plan.keys))
    step = np.empty(len(places), dtype=np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    step[np.argsort(places, kind="stable")] = np.arange(len(places)) - first
    by_key = np.zeros((int(counts.max()), len(plan.keys)), dtype=np.int64)
    by_key[step, places] = units
    return by_key


def _none(bad: NDArray[np.bool_], rule: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise InvalidValue(
            f"{rule}", got=f"{len(rows)} that break this, the first in row {rows[0]}"
        )
