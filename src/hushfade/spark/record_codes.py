"""The integer that each record becomes, by Spark's own expressions.

A record of a sum becomes units on the plan's grid.  A record of a statistic becomes its code, from
which `Grid.spread` computes what it adds to each total.  `Grid.rule` and `Ratio.rule` build the
expressions, and `Grid.units` uses the same rules, so the integers are the same.  No record passes
through Python.
"""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql import types as kinds

from hushfade.private.grid import Grid
from hushfade.public.statistics import Histogram, Quantiles, Ratio, Share
from hushfade.records.batch import Columns

_EMPTY = "the column of {} must have {}: clean it, or use skip_empty"
_FINITE, _TRUTHS, _TEXTS = "finite numbers", "true or false, or 1 or 0", "no nulls"


Types: TypeAlias = tuple[tuple[type[kinds.DataType], ...], str]
"""The types that a column may have, and their names in an error."""


def value_types(grid: Grid) -> Types:
    """The types of the column of values."""
    kind = None if grid.statistic is None else grid.statistic.kind
    if kind == "truths":
        return (kinds.BooleanType, kinds.NumericType), "BOOLEAN, or numbers that are 0 or 1"
    if kind == "texts":
        return (kinds.StringType, kinds.IntegralType), "text or whole numbers"
    return (kinds.NumericType,), "numbers"


def code_of(grid: Grid, columns: Columns, *, skip_empty: bool) -> Column:
    """The integer of each record.  A record without a valid value is null, or stops the job."""
    name, statistic = columns.value, grid.statistic
    if name is None:
        return sql.lit(int(grid.units(1.0))).cast("bigint")
    value = sql.col(quoted(name))
    if isinstance(statistic, Share):
        return _share(statistic, value, skip_empty=skip_empty)
    number = value.cast("double")
    valid = _finite(number)
    if isinstance(statistic, Histogram | Quantiles):
        code = _bin(statistic.edges, number)
    elif isinstance(statistic, Ratio):
        assert columns.denominator is not None
        below = sql.col(quoted(columns.denominator)).cast("double")
        valid &= _finite(below)
        code = statistic.rule(number, below, _clipped, sql.floor)
    else:
        code = grid.rule(number, _clipped, sql.floor)
    return _or_absent(valid, code, "values", _FINITE, skip_empty=skip_empty)


def _share(statistic: Share, value: Column, *, skip_empty: bool) -> Column:
    """1 for a true record, 0 for another."""
    if statistic.of is not None:
        same = value.cast("string") == sql.lit(statistic.of)
        return _or_absent(value.isNotNull(), same, "values", _TEXTS, skip_empty=skip_empty)
    truth = value.cast("double")  # of a boolean: 1 or 0
    valid = truth.isNotNull() & truth.isin(0.0, 1.0)
    return _or_absent(valid, truth, "values", _TRUTHS, skip_empty=skip_empty)


def _bin(edges: tuple[float, ...], number: Column) -> Column:
    """The bin of each number, as `one_hot.bins_of` defines it: a binary search among the edges.

    It looks for the last of the inner edges that the number reaches; bin 0 has none before it.
    """
    # as a text, because thousands of literals would be slow; Spark reads it once, to the last bit
    inner = sql.split(sql.lit(",".join(map(repr, edges[1:-1]))), ",").cast("array<double>")
    count = len(edges) - 2
    strides = [1 << power for power in reversed(range(count.bit_length()))]
    steps = sql.array(*(sql.lit(stride) for stride in strides))

    def further(place: Column, stride: Column) -> Column:
        ahead = place + stride
        edge = sql.try_element_at(inner, ahead)  # null beyond the last edge
        return sql.when(number >= edge, ahead).otherwise(place)

    return sql.aggregate(steps, sql.lit(0), further)


def _finite(number: Column) -> Column:
    return number.isNotNull() & ~sql.isnan(number) & (sql.abs(number) < sql.lit(float("inf")))


def _or_absent(valid: Column, code: Column, what: str, rule: str, *, skip_empty: bool) -> Column:
    null = sql.lit(None).cast("bigint")
    absent = null if skip_empty else refused(_EMPTY.format(what, rule), "bigint")
    return sql.when(valid, code.cast("bigint")).otherwise(absent)


def _clipped(value: Column, low: float, high: float) -> Column:
    return sql.least(sql.greatest(value, sql.lit(low)), sql.lit(high))


def refused(message: str, kind: str) -> Column:
    """An error without the record that caused it."""
    return sql.raise_error(sql.lit(message)).cast(kind)


def quoted(name: str) -> str:
    """A column by its literal name, which may contain dots."""
    return "`" + name.replace("`", "``") + "`"
