"""pandas: `series.hushfade.release(...)` and `frame.hushfade.release(value=..., ...)`."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from hushfade.duration import fixed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.frames.attributes import attributes, with_attributes
from hushfade.frames.events import released_events
from hushfade.frames.familiar import FamiliarFrames, irregular_index
from hushfade.frames.object_columns import text_column
from hushfade.frames.request import Column, ColumnReleases, KeyedReleases, Request, check_kind
from hushfade.frames.settings import EventsArguments
from hushfade.records.arrow import Values, pa
from hushfade.records.faults import Codes

pd: Any = import_module("pandas")


def owns(data: object) -> bool:
    """Whether the data is a pandas Series."""
    return isinstance(data, pd.Series)


def column(series: Any) -> Column:
    """The column of a Series.  NaN in a numpy column is null; nullable columns have their own."""
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
    """`series.hushfade`: the private decayed sum of a Series, as a DataFrame with its index."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def _released(self, request: Request) -> Any:
        return _of_series(self._series, request)

    def _check_index(self, arguments: dict[str, Any], other: str) -> None:
        index, plan = self._series.index, arguments.get("plan")
        if not isinstance(index, pd.DatetimeIndex | pd.PeriodIndex):
            return
        declared = arguments.get("every") or getattr(plan, "every", None)
        if declared is None and not _equal_steps(index):
            raise irregular_index(other)


class FrameReleases(KeyedReleases[Any], FamiliarFrames[Any]):
    """`frame.hushfade`: private decayed sums of a column, for every declared key."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> Any:
        if key is None:
            return _of_series(self._frame[value], request)
        labels = self._frame[key]
        steps = None
        if request.every is not None:
            steps = labels.groupby(labels, dropna=False, observed=True).cumcount()
        _check_steps(labels.index, request, steps)
        found = request.run_by_key(column(self._frame[value]), labels.tolist())
        frame = pd.DataFrame(found.columns(key)).astype({key: "str"})
        return with_attributes(frame, attributes(request.plan))

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> Any:
        """A DataFrame of step, time, key, value, stddev, lower, upper, for rows that are events.

        See hushfade.frames.events.
        """
        found, attrs = released_events(self._frame.items(), _to_arrow, time, arguments)
        return with_attributes(pd.DataFrame(found), attrs)


def _equal_steps(index: Any) -> bool:
    """Whether the times of an index are equally far apart, or follow a calendar's frequency."""
    if getattr(index, "freq", None) is not None and isinstance(index, pd.DatetimeIndex):
        return True
    if isinstance(index, pd.PeriodIndex):
        return bool(np.all(np.diff(index.asi8) == 1))
    if index.hasnans or len(np.unique(np.diff(index.asi8))) > 1:
        return not index.hasnans and pd.infer_freq(index) is not None
    return len(index) < 2 or bool(index.asi8[1] > index.asi8[0])


def _check_steps(index: Any, request: Request, steps: Any = None) -> None:
    """Raise unless the rows are steps of the plan, by their times or by declaration."""
    if isinstance(index, pd.DatetimeIndex | pd.PeriodIndex):
        check_index(index, fixed(request.every), steps)
    else:
        request.check_rows()


def check_index(index: Any, every: int | None, steps: Any = None) -> None:
    """Raise unless the times of the index rise by `every` nanoseconds per step.

    Row t is step t, unless `steps` has the step of each row.  Only an index of times is checked,
    and only if `every` is given.

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
        "must increase by every from row to row, because each row is a step",
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
    _check_steps(series.index, request)
    frame = pd.DataFrame(request.run(found).columns(), index=series.index)
    return with_attributes(frame, attributes(request.plan))


pd.api.extensions.register_series_accessor("hushfade")(SeriesReleases)
pd.api.extensions.register_dataframe_accessor("hushfade")(FrameReleases)
