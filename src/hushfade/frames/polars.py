"""Polars: the namespace `hushfade` of expressions, Series, DataFrames and LazyFrames.

An expression runs when its query runs.  `map_batches` passes complete columns, or complete groups,
on every engine.  With a declared type it runs nothing to determine a schema.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Unpack

import polars as pl

from hushfade.crossing.noise_sources import FreshNoise
from hushfade.errors import InvalidType, Refused
from hushfade.frames.attributes import attributes, with_attributes
from hushfade.frames.events import released_events
from hushfade.frames.familiar import FamiliarFrames
from hushfade.frames.object_columns import text_column
from hushfade.frames.request import (
    Column,
    ColumnReleases,
    KeyedReleases,
    Published,
    Request,
    check_kind,
)
from hushfade.frames.settings import EventsArguments
from hushfade.records.arrow import Values
from hushfade.records.faults import Codes

_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)
)


def owns(data: object) -> bool:
    """Whether the data is a Polars Series."""
    return isinstance(data, pl.Series)


def column(series: pl.Series) -> Column:
    """The column of a Series.  NaN is not a null, but an error."""
    truths = series.dtype == pl.Boolean
    known = truths or str(series.dtype) in _NUMBERS
    check_kind("f" if known else "O", series.dtype.base_type())
    empty = False if truths else 0
    return Column(series.fill_null(empty).to_numpy(), series.is_null().to_numpy())


def of_arrow(data: Any) -> pl.Series:
    """The Series of an object with Arrow's C interface.  Tables become structs, an error later."""
    if isinstance(data, pl.DataFrame):
        raise InvalidType("data must be one column", got="a DataFrame")
    return pl.Series(data)


class ExprReleases(ColumnReleases[pl.Expr]):
    """`expr.hushfade`: a struct of value and stddev at every row, under the expression's name.

    In `over` and in `group_by(...).agg` each group is a separate stream that starts at step 1.
    Every row must be in one group only: the windows of `rolling` and `group_by_dynamic` may share
    rows, and a record in two windows is released twice.  Each use of the expression in a query is a
    release too: use it once, then unnest the struct.

    Reproducible noise must not serve two groups, and an expression cannot see its group.  With any
    noise but FreshNoise it runs once and then raises an error.  Use
    `frame.hushfade.release(value=..., key=..., keys=..., noise=...)`, lazy or not, instead.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def _released(self, request: Request) -> pl.Expr:
        request.check_rows()
        fresh = request.noise is None or isinstance(request.noise, FreshNoise)
        once = None if fresh else Lock()  # Polars runs groups in several threads

        def struct(series: pl.Series) -> pl.Series:
            if once is not None and len(series) and not once.acquire(blocking=False):
                raise Refused(
                    "an expression with reproducible noise runs only once: a second group, or "
                    "other data, would get the same noise. Use FreshNoise or frame.hushfade"
                )
            return _framed(request, request.run(column(series))).to_struct(series.name)

        return self._expr.map_batches(struct, return_dtype=pl.Struct(_schema(request, None)))


class SeriesReleases(ColumnReleases[pl.DataFrame]):
    """`series.hushfade`: the private decayed sum of a Series, at every row."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def _released(self, request: Request) -> pl.DataFrame:
        request.check_rows()
        found = _framed(request, request.run(column(self._series)))
        return with_attributes(found, attributes(request.plan))


class FrameReleases(KeyedReleases[pl.DataFrame], FamiliarFrames[pl.DataFrame]):
    """`frame.hushfade`: private decayed sums of a column, for every declared key."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> pl.DataFrame:
        request.check_rows()
        found = _of_frame(self._frame, request, value, key)
        return with_attributes(found, attributes(request.plan))

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> pl.DataFrame:
        """Columns step, time, key, value, stddev, lower, upper, for rows that are events.

        See hushfade.frames.events.
        """
        named = ((series.name, series) for series in self._frame.iter_columns())
        found, attrs = released_events(named, _to_arrow, time, arguments)
        return with_attributes(pl.DataFrame(found), attrs)


class LazyReleases(KeyedReleases[pl.LazyFrame]):
    """`lazy.hushfade`: the methods of a DataFrame's namespace, computed when the query runs.

    The query passes the complete frame, so reproducible noise works here: with KeyedNoise each run
    of the query on the same data gives the same bytes.  For other data, change the stream or the
    epoch of the key.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> pl.LazyFrame:
        request.check_rows()
        return self._frame.map_batches(
            lambda frame: _of_frame(frame, request, value, key),
            predicate_pushdown=False,  # a later filter must not choose the rows of the release
            projection_pushdown=False,
            slice_pushdown=False,
            schema=_schema(request, key),
        )


def _to_arrow(series: pl.Series, role: str, unit: str | None) -> tuple[Values, Codes | None]:
    """The Series as its type says; objects one by one, and integers of 128 bits as text."""
    if series.dtype == pl.Object:
        return text_column(series.to_list(), role, unit)
    wide = series.dtype.is_integer() and str(series.dtype) not in _NUMBERS
    return (series.cast(pl.String) if wide else series).to_arrow(), None


def _of_frame(frame: pl.DataFrame, request: Request, value: str, key: str | None) -> pl.DataFrame:
    if key is None:
        return _framed(request, request.run(column(frame[value])))
    return _framed(request, request.run_by_key(column(frame[value]), frame[key].to_list()), key)


def _framed(request: Request, found: Published, key: str | None = None) -> pl.DataFrame:
    return pl.DataFrame(found.columns(key), schema=_schema(request, key))


def _schema(request: Request, key: str | None) -> dict[str, Any]:
    numbers: dict[str, Any] = dict.fromkeys(request.numbers, pl.Float64)
    return numbers if key is None else {"step": pl.Int64, key: pl.String, **numbers}


pl.api.register_expr_namespace("hushfade")(ExprReleases)
pl.api.register_series_namespace("hushfade")(SeriesReleases)
pl.api.register_dataframe_namespace("hushfade")(FrameReleases)
pl.api.register_lazyframe_namespace("hushfade")(LazyReleases)
