"""Polars: the namespace `hushfade` of expressions, Series, DataFrames and LazyFrames.

An expression runs when its query does.  `map_batches` hands over whole columns, or whole groups,
on every engine, and with a declared type it runs nothing to learn a schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, Unpack

import polars as pl

from hushfade.crossing.noise_sources import FreshNoise
from hushfade.errors import InvalidType, Refused
from hushfade.frames.events import EventsArguments, released_events
from hushfade.frames.request import (
    Column,
    Published,
    Request,
    check_kind,
    declared,
    of_records,
    of_totals,
)
from hushfade.frames.settings import Arguments, TotalsArguments

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


class ExprReleases:
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

    def release(self, **arguments: Unpack[Arguments]) -> pl.Expr:
        """Each row is a step with one record; see hushfade.frames.release."""
        return self._mapped(of_records(arguments))

    def release_totals(self, **arguments: Unpack[TotalsArguments]) -> pl.Expr:
        """Each row is a step's total; see hushfade.frames.release_totals."""
        return self._mapped(of_totals(arguments))

    def _mapped(self, request: Request) -> pl.Expr:
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


class SeriesReleases:
    """`series.hushfade`: a private decayed sum of the Series, at every row."""

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def release(self, **arguments: Unpack[Arguments]) -> pl.DataFrame:
        """A DataFrame of value and stddev; see hushfade.frames.release."""
        return _framed(of_records(arguments).run(column(self._series)))

    def release_totals(self, **arguments: Unpack[TotalsArguments]) -> pl.DataFrame:
        """The same where each row is a step's total; see hushfade.frames.release_totals."""
        return _framed(of_totals(arguments).run(column(self._series)))


class FrameReleases:
    """`frame.hushfade`: private decayed sums of a column, for every declared key.

    See hushfade.frames for what keys mean.  Without `key` it is the column's own release.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def release(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[Arguments],
    ) -> pl.DataFrame:
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
    ) -> pl.DataFrame:
        """The same for rows that hold the total of a step and key each."""
        request = of_totals(arguments, declared(key, keys))
        return _of_frame(self._frame, request, value, key)

    def release_events(self, *, time: str, **arguments: Unpack[EventsArguments]) -> pl.DataFrame:
        """Columns step, time, key, value, stddev, lower, upper, for rows that are events; see
        hushfade.frames.events."""
        named = ((series.name, series) for series in self._frame.iter_columns())
        return pl.DataFrame(released_events(named, pl.Series.to_arrow, time, arguments))


class LazyReleases:
    """`lazy.hushfade`: what a DataFrame's namespace gives, whenever the query runs.

    The frame comes whole, so noise that can be drawn again is right here: with KeyedNoise each run
    of the query on the same data gives the same bytes.  With other data the key's stream or epoch
    must change.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def release(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[Arguments],
    ) -> pl.LazyFrame:
        """A LazyFrame of step, the key, value and stddev, for rows that hold one record each."""
        return self._mapped(of_records(arguments, declared(key, keys)), value, key)

    def release_totals(
        self,
        *,
        value: str,
        key: str | None = None,
        keys: Iterable[str] | None = None,
        **arguments: Unpack[TotalsArguments],
    ) -> pl.LazyFrame:
        """The same for rows that hold the total of a step and key each."""
        return self._mapped(of_totals(arguments, declared(key, keys)), value, key)

    def _mapped(self, request: Request, value: str, key: str | None) -> pl.LazyFrame:
        return self._frame.map_batches(
            lambda frame: _of_frame(frame, request, value, key),
            predicate_pushdown=False,  # what comes after the release must not choose its rows
            projection_pushdown=False,
            slice_pushdown=False,
            schema=_schema(key),
        )


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
