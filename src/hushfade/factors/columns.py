"""Columns of a given length, and sums over long columns, part by part.

A part and its temporary columns fit into the processor's cache.  A temporary column of millions of
numbers would cost more than the arithmetic, because the system must first clear its memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.check import Column

PART = 1 << 13  # numbers of a column that are processed together


def parts(n: int) -> Iterator[slice]:
    """The parts of a column of n numbers.

    >>> list(parts(PART + 1))
    [slice(0, 8192, None), slice(8192, 8193, None)]
    """
    for start in range(0, n, PART):
        yield slice(start, min(start + PART, n))


def sum_of_squares(column: Column) -> float:
    """Σ column_n².

    >>> sum_of_squares(np.array([3.0, 4.0]))
    25.0
    """
    return math.fsum(float(np.sum(column[here] * column[here])) for here in parts(len(column)))


def fitted(column: Column, n: int) -> Column:
    """The first n numbers of a column, with zeros after its end.

    >>> fitted(np.array([3.0, 4.0]), 3)
    array([3., 4., 0.])
    """
    out = np.zeros(n)
    kept = min(n, len(column))
    out[:kept] = column[:kept]
    return out
