"""pandas: `series.hushfade.release(...)` and `frame.hushfade.release(value=..., ...)`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from hushfade.errors import InvalidType
from hushfade.frames.events import EventsArguments, released_events
from hushfade.frames.request import Column, Request, check_kind, declared, of_records, of_totals
from hushfade.frames.settings import Arguments, TotalsArguments
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


class SeriesReleases:
    """`series.hushfade`: a private decayed sum of the Series, at every row."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def release(self, **arguments: Unpack[Arguments]) -> Any:
        """A DataFrame of value and stddev with the Series' index; see hushfade.frames.release."""
        return _of_series(self._series, of_records(arguments))

    def release_totals(self, **arguments: Unpack[TotalsArguments]) -> Any:
        """The same where each row is a step's total; see hushfade.frames.release_totals."""
        return _of_series(self._series, of_totals(arguments))


class FrameReleases:
    """`frame.hushfade`: private decayed sums of a column, for every declared key.

    See hushfade.frames for what keys mean.  Without `key` it is the column's own release.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def release(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[Arguments],
    ) -> Any:
        """A DataFrame of step, the key, value and stddev, for rows that hold one record each."""
        request = of_records(arguments, declared(key, keys))
        return _of_frame(self._frame, request, value, key)

    def release_totals(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[TotalsArguments],
    ) -> Any:
        """The same for rows that hold the total of a step and key each."""
        request = of_totals(arguments, declared(key, keys))
        return _of_frame(self._frame, request, value, key)

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> Any:
        """A DataFrame of step, time, key, value, stddev, lower, upper, for rows that are events;
        see hushfade.frames.events."""
        return pd.DataFrame(released_events(self._frame.items(), _to_arrow, time, arguments))


def _to_arrow(series: Any) -> Values:
    return pa.array(series, from_pandas=True)


def _of_series(series: Any, request: Request) -> Any:
    return pd.DataFrame(request.run(column(series)).columns(), index=series.index)


def _of_frame(frame: Any, request: Request, value: str, key: str | None) -> Any:
    if key is None:
        return _of_series(frame[value], request)
    found = request.run_by_key(column(frame[value]), frame[key].tolist())
    return pd.DataFrame(found.columns(key)).astype({key: "str"})


pd.api.extensions.register_series_accessor("hushfade")(SeriesReleases)
pd.api.extensions.register_dataframe_accessor("hushfade")(FrameReleases)
