"""A request: what is to be released from a column, fixed before the column is seen.

    rows        x_1, ..., x_n: one step each                     private
    totals      clipped and on the grid; 0 for an empty step     private
    Published   value and standard deviation of every step       public

Every kind of frame reads its column into a `Column` and hands it to a `Request`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.settings import Arguments, TotalsArguments, planned
from hushfade.planning.plan import Plan

Totals = NDArray[Any]

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
    """A plan, the noise, and how rows become totals."""

    plan: Plan
    noise: NoiseSource | None
    totals: Callable[[Column], Totals]

    def run(self, column: Column) -> Published:
        """The release of a column: row t is step t.  Each call is a release of its own."""
        return self._published(self.totals(column))

    def run_by_key(self, column: Column, labels: Iterable[object]) -> Published:
        """The release of a column whose rows belong to keys: a key's t-th row is its step t."""
        return self._published(_by_key(self.totals(column), labels, self.plan))

    def _published(self, totals: Totals) -> Published:
        if len(totals) == 0:  # no step is taken, no noise drawn
            return Published(np.empty(totals.shape), np.empty(0), self.plan.keys)
        value = self.plan.start(self.noise).run(totals)
        return Published(value, self.plan.stddevs(len(totals)), self.plan.keys)


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

    def totals(column: Column) -> Totals:
        nulls = column.nulls
        if not empty_steps:
            _none(nulls, "records must not be null (with empty_steps=True a null is no record)")
        _none(~np.isfinite(column.values) & ~nulls, "records must be finite")
        out = np.zeros(len(nulls))
        out[~nulls] = plan.quantise(column.values[~nulls])
        return out

    return Request(plan, noise, totals)


def of_totals(arguments: TotalsArguments, keys: tuple[str, ...] | None = None) -> Request:
    """The request for rows that hold a step's total each."""

    def totals(column: Column) -> Totals:
        _none(column.nulls, "totals must not be null (that of a step without records is 0)")
        _none(~np.isfinite(column.values), "totals must be finite")
        return column.values

    if "empty_steps" in arguments:
        raise InvalidType("empty_steps is for records: the total of an empty step is 0")
    return Request(planned(arguments, keys), arguments.get("noise"), totals)


def declared(key: str | None, keys: Iterable[str] | None) -> tuple[str, ...] | None:
    """The keys of a frame's release, or None where it has no key."""
    if key is None:
        if keys is not None:
            raise InvalidType("keys need a key: the name of the column that holds them")
        return None
    if keys is None or isinstance(keys, str):
        raise InvalidType(
            "keys must be declared, as a list: which keys occur in the data may itself be secret"
        )
    if key in _BESIDE:
        raise InvalidValue(f"key must not be named {', '.join(_BESIDE)}", got=repr(key))
    return tuple(keys)


def numbers(data: object) -> Column:
    """A numpy array or a list as a column.  It has no nulls, and NaN is a number gone wrong."""
    if isinstance(data, np.ma.MaskedArray):
        raise InvalidType("data must not be masked: whether a masked row counts must be said")
    if not isinstance(data, np.ndarray | list | tuple):
        raise InvalidType("data must be a column of numbers", got=type(data).__name__)
    values = None
    with suppress(Exception):  # what a foreign object's own conversion raises might carry its value
        values = np.asarray(data)
    if values is None:
        raise InvalidType("data must be a column of numbers")
    if values.ndim != 1:
        raise InvalidValue("data must be one column", got=f"{values.ndim} dimensions")
    check_kind(values.dtype.kind, values.dtype)
    return Column(values, np.zeros(len(values), dtype=np.bool_))


def check_kind(kind: str, shown: object) -> None:
    """Raise unless the column's numpy kind is one of integers or floats."""
    if kind not in ("i", "u", "f"):
        raise InvalidType(
            "a column must have integers or floats of at most 64 bits",
            got=shown,
            remedy="cast it, so that it is clear what a record counts",
        )


def _by_key(totals: Totals, labels: Iterable[object], plan: Plan) -> Totals:
    """The totals as (steps, keys): as many steps as the key with most rows has; 0 elsewhere."""
    assert plan.keys is not None
    place_of: dict[object, int] = {key: place for place, key in enumerate(plan.keys)}
    places: Signed = np.array([place_of.get(label, -1) for label in labels], dtype=np.int64)
    _none(places < 0, "rows must belong to the declared keys")
    counts = np.bincount(places, minlength=len(plan.keys))
    step = np.empty(len(places), dtype=np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    step[np.argsort(places, kind="stable")] = np.arange(len(places)) - first
    out = np.zeros((int(counts.max()), len(plan.keys)), dtype=totals.dtype)
    out[step, places] = totals
    return out


def _none(bad: NDArray[np.bool_], rule: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise InvalidValue(
            f"{rule}", got=f"{len(rows)} that break this, the first in row {rows[0]}"
        )
