"""Long series with few points: a figure with a given number of columns looks the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column

Places = NDArray[np.intp]


def kept(x: Column, *rows: Column, columns: int) -> Places:
    """The ascending indices to draw: in each column the first, the last, and each row's extremes.

    x must not decrease, and is divided into equal columns.  Up to 4 points per column all indices
    are kept.  Cost: linear in the length of x.

    >>> kept(np.arange(10.0), np.array([0, 0, 9, 0, 0, 0, 0, -9, 0, 0.0]), columns=2)
    array([0, 2, 4, 5, 7, 9])
    """
    n = len(x)
    if n <= 4 * columns:
        return np.arange(n)
    starts, ends = _cut(x, columns)
    marked = np.zeros(n, dtype=np.bool_)
    marked[starts] = marked[ends] = True
    column = np.repeat(np.arange(len(starts)), ends - starts + 1)
    for row in rows:
        for extreme in (np.minimum, np.maximum):
            hits = np.flatnonzero(row == extreme.reduceat(row, starts)[column])
            _, first = np.unique(column[hits], return_index=True)  # of a column's equals, one
            marked[hits[first]] = True
    return np.flatnonzero(marked)


def envelope(
    x: Column, low: Column, high: Column, *, columns: int
) -> tuple[Column, Column, Column]:
    """x, low and high of a band that contains [low, high], with two points per column.

    In each column the band has the largest width of that column.  Up to 4 points per column the
    band is unchanged.

    >>> ups = np.arange(10.0)
    >>> envelope(ups, -ups, ups, columns=2)
    (array([0., 4., 5., 9.]), array([-4., -4., -9., -9.]), array([4., 4., 9., 9.]))
    """
    if len(x) <= 4 * columns:
        return x, low, high
    starts, ends = _cut(x, columns)
    least, most = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    both = np.column_stack((x[starts], x[ends])).ravel()
    return both, np.repeat(least, 2), np.repeat(most, 2)


def _cut(x: Column, columns: int) -> tuple[Places, Places]:
    """The first and the last index of each column with points."""
    span = float(x[-1] - x[0])
    share = (x - x[0]) / span if span > 0 else np.zeros(len(x))
    column = np.minimum((share * columns).astype(np.intp), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    return starts, np.append(starts[1:], len(x)) - 1
