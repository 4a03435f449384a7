"""Differentially private decayed sums of pandas, Polars and Arrow columns in one line.

    import hushfade.frames

    series.hushfade.release(half_life=24, epsilon=1, delta=1e-6, low=0, high=1)        pandas
    frame.select(pl.col("x").hushfade.release(...))                                    Polars
    frame.with_columns(r=pl.col("x").hushfade.release(...).over("district"))
    frame.hushfade.release(value="x", key="district", keys=["a", "b"], ...)            both
    hushfade.frames.release(column, ...)                                 Arrow, numpy, a list
    frame.hushfade.release_events(time="at", every="1h", start=..., end=..., ...)      both
    series.hushfade.ewm_mean(half_life=24, ...), ewm_sum, rolling_mean, rolling_sum     both

`release`: each row is one step with one record, which hushfade clips to [low, high] and rounds.
`release_totals`: each row is the total of a step, whose records the caller has clipped and rounded.
`release_events`: each row is a record with a time, and a step has any number of records.
`hushfade.frames.settings` lists the arguments.  Each call, and each run of a lazy query, is a
further release of the same records: their μ compose as in hushfade.composed_mu.

Guarantee: for `release` and `release_totals`, neighbouring frames have the same rows, groups and
keys.  The rows in order are the steps, so adding or removing a row, or moving it to another group,
would move all later rows: the guarantee does not cover this.  Under add_remove, neighbouring frames
differ in whether one row has a record: for `release`, a missing record is a null, with
`empty_steps=True`.  Under replace, they differ in the value of one record.  The number of rows is
public, and with `over` or `group_by` the groups are too.  All groups together have the guarantee of
one group, if each person keeps the limits of `protects` over all groups.  If rows can be
missing, or records can have another key, use `release_events`: the time determines the step.

With `key` and `keys` hushfade releases all declared keys at each step, whether they occur or not.
The rows of a key, in order, are its steps, and missing steps are empty.  The largest number of rows
per key is public.  Rows with undeclared keys are an error, because hushfade never drops rows
silently.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Unpack

from hushfade.errors import InvalidType
from hushfade.frames.request import of_records, of_totals, record_column, total_column
from hushfade.frames.settings import Arguments, TotalsArguments

__all__ = ["release", "release_totals"]


def release(data: Any, **arguments: Unpack[Arguments]) -> Any:
    """The decayed sum at every row and its standard deviation, in columns value and stddev.

    y_t = Σ_k f_k x_{t-k} + error, where x_t is row t's record, clipped and on the grid.
    For a pandas Series the result is a pandas DataFrame.  For a Polars Series, or anything with
    Arrow's C interface, it is a Polars DataFrame.  For a numpy array or a list it is a dict of
    numpy arrays.  Nulls are an error, unless `empty_steps=True` declares them as steps without a
    record.  NaN and infinities are always an error, except that NaN is null in pandas.  Text
    and decimals are an error: cast them.  So are booleans, except for `statistic=hf.Share()`.

    >>> import hushfade as hf
    >>> found = release([1, 0, 1], half_life=1, epsilon=1, delta=1e-6, low=0, high=1)
    >>> plan = hf.plan(hf.Exponential(half_life=1), hf.Guarantee(epsilon=1, delta=1e-6))
    >>> bool((found["stddev"] == plan.stddevs(3)).all())
    True
    """
    family = _owner(data)
    if family is not None:
        return family.hushfade.release(**arguments)
    request = of_records(arguments)
    request.check_rows()
    return request.run(record_column(data)).columns()


def release_totals(data: Any, **arguments: Unpack[TotalsArguments]) -> Any:
    """The same for rows that are totals of steps, whose records the caller has bounded.

    The totals must lie on the grid: sum the results of `plan.quantise`.  `low` and `high` bound
    each record, not the total.
    """
    family = _owner(data)
    if family is not None:
        return family.hushfade.release_totals(**arguments)
    request = of_totals(arguments)
    request.check_rows()
    return request.run(total_column(data)).columns()


def _owner(data: Any) -> Any:
    """The data as a Series with the accessor, converted by Arrow if needed; else None."""
    if any(family.owns(data) for family in _FAMILIES.values()):
        return data
    if hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__"):
        if "polars" not in _FAMILIES:
            raise InvalidType("Arrow data need Polars: pip install polars")
        return _FAMILIES["polars"].of_arrow(data)
    return None


def _installed() -> dict[str, ModuleType]:
    """The modules of the installed libraries.  Importing them registers the accessors."""
    found = {}
    for name in ("pandas", "polars"):
        try:
            found[name] = import_module(f"hushfade.frames.{name}")
        except ModuleNotFoundError as error:
            if error.name != name:  # it is installed, but broken
                raise
    if not found:
        raise ModuleNotFoundError(
            "hushfade.frames needs pandas or Polars: pip install 'hushfade[frames]'"
        )
    return found


_FAMILIES = _installed()
