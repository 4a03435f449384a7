"""pandas: `series.hushfade.release(...)` and `frame.hushfade.release(value=..., ...)`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Unpack

import numpy as np

from hushfade.errors import InvalidType
from hushfade.frames.events import EventsArguments, released_events
from hushfade.frames.request import Column, ColumnReleases, KeyedReleases, Request, check_kind
from hushfade.records.arrow import Values, pa

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
        found = request.run_by_key(column(self._frame[value]), self._frame[key].tolist())
        return pd.DataFrame(found.columns(key)).astype({key: "str"})

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> Any:
        """A DataFrame of step, time, key, value, stddev, lower, upper, for rows that are events;
        see hushfade.frames.events."""
        return pd.DataFrame(released_events(self._frame.items(), _to_arrow, time, arguments))


def _to_arrow(series: Any) -> Values:
    return pa.array(series, from_pandas=True)


def _of_series(series: Any, request: Request) -> Any:
    return pd.DataFrame(request.run(column(series)).columns(), index=series.index)


pd.api.extensions.register_series_accessor("hushfade")(SeriesReleases)
pd.api.extensions.register_dataframe_accessor("hushfade")(FrameReleases)
