"""Bins between declared edges: a record is in one of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hushfade import check
from hushfade.check import Column, Signed
from hushfade.errors import InvalidType, InvalidValue

MOST_BINS = 1 << 16


def checked_edges(edges: Any) -> tuple[float, ...]:
    """The edges as floats, if they rise."""
    if isinstance(edges, str) or not hasattr(edges, "__iter__"):
        raise InvalidType("must be a list of numbers", argument="edges", got=type(edges).__name__)
    found = tuple(check.real(edges=edge) for edge in edges)
    if not 3 <= len(found) <= MOST_BINS + 1:
        raise InvalidValue(
            f"must be 3 to {MOST_BINS + 1} numbers, for at least two bins",
            argument="edges",
            got=len(found),
        )
    if not all(low < high for low, high in itertools.pairwise(found)):
        raise InvalidValue(
            "must be in increasing order", argument="edges", got=str(list(found))[:60]
        )
    return found


def bins_of(edges: Column, records: Column) -> Signed:
    """The bin of each record: edges[i] ≤ x < edges[i + 1]; values outside count as the nearest.

    >>> bins_of(np.array([0.0, 18.0, 65.0]), np.array([-1.0, 18.0, 65.0, 99.0])).tolist()
    [0, 1, 1, 1]
    """
    places = np.searchsorted(edges, records, side="right") - 1
    return np.clip(places, 0, len(edges) - 2).astype(np.int64)


def labels(edges: tuple[float, ...]) -> tuple[str, ...]:
    """The bins as intervals; the last one is closed.

    >>> labels((0.0, 18.0, 65.5))
    ('[0, 18)', '[18, 65.5]')
    """
    names = [repr(edge).removesuffix(".0") for edge in edges]
    pairs = list(itertools.pairwise(names))
    found = [f"[{low}, {high})" for low, high in pairs[:-1]]
    low, high = pairs[-1]
    return (*found, f"[{low}, {high}]")
