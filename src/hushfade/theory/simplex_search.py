"""Maximisation of a function by the downhill simplex method (Nelder and Mead 1965).

The code follows `scipy.optimize.fmin`.  Importing scipy.optimize would take a third of a second,
which is longer than the search.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushfade.check import Column, Matrix

_FLAT, _SMALL = 1e-7, 1e-3  # the search ends when values and points differ by at most this


class _Spent(Exception):
    """The search has used all its evaluations."""


def highest(value: Callable[[Column], float], simplex: Matrix, *, evaluations: int) -> Column:
    """The best point after at most `evaluations` calls; the rows of `simplex` are n + 1 points.

    >>> start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> found = highest(lambda p: -((p[0] - 0.5) ** 2) - p[1] ** 2, start, evaluations=200)
    >>> bool(np.max(np.abs(found - [0.5, 0.0])) < 1e-3)
    True
    """
    left = evaluations

    def loss(point: Column) -> float:
        nonlocal left
        if left == 0:
            raise _Spent
        left -= 1
        return -value(point)

    points = simplex.copy()
    losses = np.full(len(points), np.inf)
    try:
        for corner, point in enumerate(points):
            losses[corner] = loss(point)
        while left:
            order = np.argsort(losses)
            points, losses = points[order], losses[order]
            if np.ptp(losses) <= _FLAT and np.max(np.abs(points[1:] - points[0])) <= _SMALL:
                break
            _replace_worst(loss, points, losses)
    except _Spent:
        pass
    found: Column = points[np.argmin(losses)]
    return found


def _replace_worst(loss: Callable[[Column], float], points: Matrix, losses: Column) -> None:
    """Take one step: reflect, expand or contract the worst corner, or shrink the simplex."""
    middle = np.sum(points[:-1], axis=0) / (len(points) - 1)

    def at(distance: float) -> tuple[Column, float]:
        point = (1.0 - distance) * middle + distance * points[-1]
        return point, loss(point)

    reflected = at(-1.0)
    if reflected[1] < losses[0]:
        stretched = at(-2.0)
        points[-1], losses[-1] = stretched if stretched[1] < reflected[1] else reflected
        return
    if reflected[1] < losses[-2]:
        points[-1], losses[-1] = reflected
        return
    outside = reflected[1] < losses[-1]
    pulled = at(-0.5 if outside else 0.5)
    if pulled[1] <= reflected[1] if outside else pulled[1] < losses[-1]:
        points[-1], losses[-1] = pulled
        return
    for corner in range(1, len(points)):
        points[corner] = points[0] + 0.5 * (points[corner] - points[0])
        losses[corner] = loss(points[corner])
