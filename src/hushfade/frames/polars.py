"""Polars: the namespace `hushfade` of expressions, Series, DataFrames and LazyFrames.

An expression runs when its query does.  `map_batches` hands over whole columns, or whole groups,
on every engine, and with a declared type it runs nothing to learn a schema.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Unpack

import polars as pl

from hushfade.crossing.noise_sources import FreshNoise
from hushfade.errors import InvalidType, Refused
from hushfade.frames.events import EventsArguments, released_events
from hushfade.frames.object_columns import text_column
from hushfade.frames.request import (
    Column,
    ColumnReleases,
    KeyedReleases,
    Published,
    Request,
    check_kind,
)
from hushfade.records.arrow import Values
from hushfade.records.faults import Codes

_NUMBERS = frozenset(
    f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)
)
_SCHEMA: dict[str, Any] = {"value": pl.Float64, "stddev": pl.Float64}


def owns(data: object) -> bool:
    """Is it a Polars Series?"""
    return isinstance(data, pl.Series)


def column(series: pl.Series) -> Column:
    """The Series, read.  A null is a null; NaN is a number gone wrong."""
    check_kind("f" if str(series.dtype) in _NUMBERS else "O", series.dtype.base_type())
    return Column(series.fill_null(0).to_numpy(), series.is_null().to_numpy())


def of_arrow(data: Any) -> pl.Series:
    """The Series of an object with Arrow's C interface.  Tables become structs, refused later."""
    if isinstance(data, pl.DataFrame):
        raise InvalidType("data must be one column", got="a DataFrame")
    return pl.Series(data)


class ExprReleases(ColumnReleases[pl.Expr]):
    """`expr.hushfade`: a struct of value and stddev at every row, under the expression's name.

    In `over` and in `group_by(...).agg` each group is a stream of its own, from step 1 on.  Every
    row must be in one group only: the windows of `rolling` and `group_by_dynamic` may share rows,
    and a record in two windows is released twice.  So is each use of the expression in a query: use
    it once, then take the struct apart.

    Noise that can be drawn again must not serve two groups, and an expression cannot see which
    group it is in: with any noise but FreshNoise it runs once and then refuses.  Use
    `frame.hushfade.release(value=..., key=..., keys=..., noise=...)`, lazy or not, instead.
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def _released(self, request: Request) -> pl.Expr:
        fresh = request.noise is None or isinstance(request.noise, FreshNoise)
        once = None if fresh else Lock()  # Polars runs groups in several threads

        def struct(series: pl.Series) -> pl.Series:
            if once is not None and len(series) and not once.acquire(blocking=False):
                raise Refused(
                    "an expression whose noise can be drawn again runs once: a second group, or "
                    "other data, would get the same noise; use FreshNoise or frame.hushfade"
                )
            return _framed(request.run(column(series))).to_struct(series.name)

        return self._expr.map_batches(struct, return_dtype=pl.Struct(_SCHEMA))


class SeriesReleases(ColumnReleases[pl.DataFrame]):
    """`series.hushfade`: a private decayed sum of the Series, at every row."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def _released(self, request: Request) -> pl.DataFrame:
        return _framed(request.run(column(self._series)))


class FrameReleases(KeyedReleases[pl.DataFrame]):
    """`frame.hushfade`: private decayed sums of a column, for every declared key."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> pl.DataFrame:
        return _of_frame(self._frame, request, value, key)

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> pl.DataFrame:
        """Columns step, time, key, value, stddev, lower, upper, for rows that are events; see
        hushfade.frames.events."""
        named = ((series.name, series) for series in self._frame.iter_columns())
        return pl.DataFrame(released_events(named, _to_arrow, time, arguments))


class LazyReleases(KeyedReleases[pl.LazyFrame]):
    """`lazy.hushfade`: what a DataFrame's namespace gives, whenever the query runs.

    The frame comes whole, so noise that can be drawn again is right here: with KeyedNoise each run
    of the query on the same data gives the same bytes.  With other data the key's stream or epoch
    must change.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def _released(self, request: Request, value: str, key: str | None) -> pl.LazyFrame:
        return self._frame.map_batches(
            lambda frame: _of_frame(frame, request, value, key),
            predicate_pushdown=False,  # what comes after the release must not choose its rows
            projection_pushdown=False,
            slice_pushdown=False,
            schema=_schema(key),
        )


def _to_arrow(series: pl.Series, role: str, unit: str | None) -> tuple[Values, Codes | None]:
    """The Series as its type says; objects one by one, and integers of 128 bits as text."""
    if series.dtype == pl.Object:
        return text_column(series.to_list(), role, unit)
    wide = series.dtype.is_integer() and str(series.dtype) not in _NUMBERS
    return (series.cast(pl.String) if wide else series).to_arrow(), None


def _of_frame(frame: pl.DataFrame, request: Request, value: str, key: str | None) -> pl.DataFrame:
    if key is None:
        return _framed(request.run(column(frame[value])))
    return _framed(request.run_by_key(column(frame[value]), frame[key].to_list()), key)


def _framed(found: Published, key: str | None = None) -> pl.DataFrame:
    return pl.DataFrame(found.columns(key), schema=_schema(key))


def _schema(key: str | None) -> dict[str, Any]:
    return _SCHEMA if key is None else {"step": pl.Int64, key: pl.String, **_SCHEMA}


pl.api.register_expr_namespace("hushfade")(ExprReleases)
pl.api.register_series_namespace("hushfade")(SeriesReleases)
pl.api.register_dataframe_namespace("hushfade")(FrameReleases)
pl.api.register_lazyframe_namespace("hushfade")(LazyReleases)
