"""The columns of a table of releases: times, values and interval ends, with one column per key."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Matrix
from hushfade.errors import InvalidType, InvalidValue

_NEEDED = ("value", "lower", "upper")


class ReleaseColumns(NamedTuple):
    """Releases of n steps: n times, and values and interval ends of the shape (n, keys)."""

    times: Any
    values: Matrix
    lower: Matrix
    upper: Matrix
    keys: list[str] | None


def release_columns(frame: Any) -> ReleaseColumns:
    """The columns of a frame from pandas or Polars, with one row per step and key.

    It has the columns of a file of releases: `time` or `step`, `value`, `lower`, `upper`, and
    `key` if there are keys.  Rows are ordered by step, with the keys in the same order.
    """
    if not hasattr(frame, "columns") or isinstance(frame, np.ndarray):
        raise InvalidType(
            "series needs times and values, or a frame of releases", got=type(frame).__name__
        )
    names = [str(name) for name in frame.columns]
    clock = next((name for name in ("time", "step") if name in names), None)
    missing = [name for name in _NEEDED if name not in names]
    if clock is None or missing:
        raise InvalidValue(
            "a frame of releases must have the columns time or step, value, lower and upper",
            got=", ".join(names)[:100],
        )
    for name in ("bin", "quantile"):
        if name in names:
            raise InvalidValue(
                f"a frame with the column {name!r} has several values per step",
                remedy="use hf.plots.statistic_series",
            )
    keys = [str(key) for key in frame["key"]] if "key" in names else None
    several = list(dict.fromkeys(keys)) if keys is not None else [""]
    times = _times(np.asarray(frame[clock]))
    count, width = len(times), len(several)
    if keys is not None and (count % width or keys != several * (count // width)):
        raise InvalidValue("a frame of releases must have every key at every step, in one order")
    if np.any(times.reshape(-1, width) != times[::width, None]):
        raise InvalidValue("a frame of releases must have the same time for all keys of a step")
    value, lower, upper = (
        np.asarray(frame[name], dtype=np.float64).reshape(-1, width) for name in _NEEDED
    )
    return ReleaseColumns(times[::width], value, lower, upper, None if keys is None else several)


def _times(column: NDArray[Any]) -> NDArray[Any]:
    """The times; texts, as a CSV file has them, as datetime64 in UTC or in local time."""
    if len(column) and isinstance(column[0], str):
        try:
            return np.array([text.removesuffix("Z") for text in column], dtype="datetime64[ns]")
        except (AttributeError, ValueError):
            raise InvalidValue("the column time must have times in ISO 8601") from None
    return column
