"""pandas: `series.hushfade.release(...)` and `frame.hushfade.release(value=..., ...)`."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.events import EventsArguments, released_events
from hushfade.frames.object_columns import text_column
from hushfade.frames.request import Column, ColumnReleases, KeyedReleases, Request, check_kind
from hushfade.records.arrow import Values, pa
from hushfade.records.faults import Codes

pd: Any = import_module("pandas")


def owns(data: object) -> bool:
    """Is it a pandas Series?"""
    return isinstance(data, pd.Series)


def column(series: Any) -> Column:
    """The Series, read.  NaN in a numpy column is pandas' null; a nullable column has its own."""
    if not owns(series):  # a frame may have two columns of one name
        raise InvalidType("the column must be a Series", got=type(series).__name__)
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        check_kind(dtype.kind, dtype)
        values = series.to_numpy()
        return Column(values, np.isnan(values))
    plain = getattr(dtype, "numpy_dtype", None)  # of Int64 and its like, and of Arrow's types
    check_kind(plain.kind if isinstance(plain, np.dtype) else "O", dtype)
    nulls = series.isna().to_numpy(dtype=np.bool_)
    return Column(series.to_numpy(dtype=plain, na_value=0), nulls)


class SeriesReleases(ColumnReleases[Any]):
    """`series.hushfade`: a private decayed sum of the Series, as a DataFrame with its index."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def _released(self, request: Request) -> Any:
        return _of_series(self._series, request)


class FrameReleases(KeyedReleases[Any]):
    """`frame.hushfade`: private decayed sums of a column, for every declared key."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> Any:
        if key is None:
            return _of_series(self._frame[value], request)
        labels = self._frame[key]
        if request.every is not None:
            steps = labels.groupby(labels, dropna=False).cumcount()
            check_index(labels.index, request.every, steps)
        found = request.run_by_key(column(self._frame[value]), labels.tolist())
        return pd.DataFrame(found.columns(key)).astype({key: "str"})

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> Any:
        """A DataFrame of step, time, key, value, stddev, lower, upper, for rows that are events;
        see hushfade.frames.events."""
        return pd.DataFrame(released_events(self._frame.items(), _to_arrow, time, arguments))


def check_index(index: Any, every: int | None, steps: Any = None) -> None:
    """Raise unless the times of the index are those of the steps, from 0, of `every` nanoseconds.

    Row t is step t unless `steps` has the step of each row.  Other kinds of index are not checked,
    and neither is any if `every` is not given: then rows are steps of no stated length.

    >>> check_index(pd.to_datetime(["2026-01-01 00:00", "2026-01-01 01:00"]), 3600 * 10**9)
    """
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    if every is None or not isinstance(index, pd.DatetimeIndex) or not len(index):
        return
    numbers = np.arange(len(index)) if steps is None else np.asarray(steps)
    if not index.hasnans and int(numbers.max()) * every < 2**63:
        local = index.tz_localize(None)  # a day of summer time's change is a day all the same
        for times in (index if index.tz is None else index.tz_convert("UTC"), local):
            passed = np.asarray(times - times.min()).astype("timedelta64[ns]")
            if np.array_equal(passed, (numbers * every).astype("timedelta64[ns]")):
                return
    raise InvalidValue(
        "must rise by every from row to row, because each row is a step",
        argument="the index",
        got="missing, repeated, unsorted or irregular times",
        remedy="use release_events, which puts each record into the step of its time",
    )


def _to_arrow(series: Any, role: str, unit: str | None) -> tuple[Values, Codes | None]:
    """The Series as its type says; objects one by one."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        values, codes = _to_arrow(pd.Series(series.cat.categories), role, unit)
        places = series.cat.codes.to_numpy()
        column = values.take(pa.array(places, mask=places < 0))
        return column, None if codes is None else np.append(codes, np.uint8(0))[places]
    if series.dtype != object:
        return pa.array(series, from_pandas=True), None
    if pd.api.types.infer_dtype(series, skipna=True) in ("string", "empty"):
        with suppress(UnicodeEncodeError):  # of one text: it becomes a fault of its row
            return pa.array(series, pa.string(), from_pandas=True), None
    return text_column(series.tolist(), role, unit)


def _of_series(series: Any, request: Request) -> Any:
    found = column(series)
    check_index(series.index, request.every)
    return pd.DataFrame(request.run(found).columns(), index=series.index)


pd.api.extensions.register_series_accessor("hushfade")(SeriesReleases)
pd.api.extensions.register_dataframe_accessor("hushfade")(FrameReleases)
