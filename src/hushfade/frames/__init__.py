"""Private decayed sums from pandas, Polars and Arrow columns in one line.

    import hushfade.frames

    series.hushfade.release(half_life=24, epsilon=1, delta=1e-6, low=0, high=1)        pandas
    frame.select(pl.col("x").hushfade.release(...))                                    Polars
    frame.with_columns(r=pl.col("x").hushfade.release(...).over("district"))
    frame.hushfade.release(value="x", key="district", keys=["a", "b"], ...)            both
    hushfade.frames.release(column, ...)                                 Arrow, numpy, a list
    frame.hushfade.release_events(time="at", every="1h", start=..., end=..., ...)      both

`release`: each row is one step with one record, clipped to [low, high] and put on the plan's grid.
`release_totals`: each row is the total of a step whose records the caller bounded and put there.
`release_events`: each row is a record with a time; a step has as many as there are.
`hushfade.frames.settings` lists the arguments.  Each call, and each run of a lazy query, is one
more release of the same records: their μ add up as hushfade.composed_mu says.

Guarantee: `release` and `release_totals`: for frames whose rows stay, with their groups and keys.
Rows in their order are the steps, so a row more or less, or one in another group, would move all
later ones, and no such guarantee covers that.  Under add_remove one record of a row is there or
not: to `release` it is then a null, with `empty_steps=True`.  Under replace it has another value.
Numbers of rows are published, and with `over` or `group_by` the groups.  All groups together have
the guarantee of one, if a person keeps `participations` and `separation` over all of them.  Where a
row may be missing, or a record have another key, use `release_events`: its time gives the step.

With `key` and `keys` all declared keys are released at each step, whether they occur or not.  A
key's rows, in their order, are its steps; those that it lacks are empty.  The largest number of
rows of a key is published.  Rows of keys that were not declared are refused: dropping them would
be in silence.
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
    """The decayed sum at every row and its standard deviation: value and stddev.

    y_t = Σ_k f_k x_{t-k} + error, where x_t is row t's record, clipped and on the grid.
    A pandas Series gives a pandas DataFrame; a Polars Series, or anything with Arrow's C
    interface, a Polars DataFrame; a numpy array or a list a dict of numpy arrays.  Nulls are
    refused unless `empty_steps=True` says that they are steps without a record; NaN and infinities
    always are, except that pandas' NaN is its null.  Booleans, text, decimals are refused: cast.

    >>> import hushfade as hf
    >>> found = release([1, 0, 1], half_life=1, epsilon=1, delta=1e-6, low=0, high=1)
    >>> plan = hf.plan(hf.Exponential(half_life=1), hf.Guarantee(epsilon=1, delta=1e-6))
    >>> bool((found["stddev"] == plan.stddevs(3)).all())
    True
    """
    family = _owner(data)
    if family is not None:
        return family.hushfade.release(**arguments)
    return of_records(arguments).run(record_column(data)).columns()


def release_totals(data: Any, **arguments: Unpack[TotalsArguments]) -> Any:
    """The same where each row is the total of a step's records, which the caller bounded.

    The totals must lie on the grid: sum what `plan.quantise` gives.  `low` and `high` bound each
    record, not the total.
    """
    family = _owner(data)
    if family is not None:
        return family.hushfade.release_totals(**arguments)
    return of_totals(arguments).run(total_column(data)).columns()


def _owner(data: Any) -> Any:
    """The Series with the accessor, if it is one or can be made one by Arrow; else None."""
    if any(family.owns(data) for family in _FAMILIES.values()):
        return data
    if hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__"):
        if "polars" not in _FAMILIES:
            raise InvalidType("Arrow data need Polars, which is not installed")
        return _FAMILIES["polars"].of_arrow(data)
    return None


def _installed() -> dict[str, ModuleType]:
    """The modules of the libraries that are there; importing them registers the accessors."""
    found = {}
    for name in ("pandas", "polars"):
        try:
            found[name] = import_module(f"hushfade.frames.{name}")
        except ModuleNotFoundError as error:
            if error.name != name:  # it is there, and broken
                raise
    if not found:
        raise ModuleNotFoundError(
            "hushfade.frames needs pandas or Polars: pip install 'hushfade[frames]'"
        )
    return found


_FAMILIES = _installed()
