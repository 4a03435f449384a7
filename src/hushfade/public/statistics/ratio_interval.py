"""Confidence intervals for ratios of sums of lanes, also where the denominator is near zero.

    ratio = (a · s) / (d · s)         s: the true lanes, x = s + e: the released lanes

For the true ratio v the combination (a - v d) · x is an error alone: (a - v d) · e.  So the set of
all v in [low, high] with |(a - v d) · x| ≤ margin(a - v d) contains the true ratio with the stated
probability (Fieller 1954).  If the denominator is not clearly above zero, the set may be all of
[low, high].  It may also consist of two pieces: the interval is then the smallest that contains
both, and so a little wider than necessary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushfade.check import Column, Matrix
from hushfade.public.statistics.lane_margins import LaneMargins

_TRIALS = 65
_HALVINGS = 40
_TOGETHER = 1 << 12  # rows at a time


def ratio_interval(
    lanes: Matrix,
    numerator: Matrix,
    denominator: Column,
    margins: LaneMargins,
    low: float,
    high: float,
) -> tuple[Column, Column]:
    """The lower and the upper ends for rows of lanes (n, lanes); numerator (lanes,) or (n, lanes).

    A row that no ratio explains has an interval of one point, the nearest explanation.

    >>> margins = LaneMargins(np.ones(2), np.full((2, 5), 1.96), np.zeros(2), np.ones(2), 0.95)
    >>> lanes = np.array([[300.0, 100.0], [1.0, -1.0]])
    >>> lower, upper = ratio_interval(lanes, np.array([1.0, 0.0]), np.ones(2), margins, 0.0, 1.0)
    >>> lower.round(3).tolist(), upper.round(3).tolist()
    ([0.746, 0.0], [0.754, 1.0])
    """
    lower, upper = np.empty(len(lanes)), np.empty(len(lanes))
    for start in range(0, len(lanes), _TOGETHER):
        rows = slice(start, start + _TOGETHER)
        some = np.broadcast_to(numerator, lanes.shape)[rows]
        ends = _ends(lanes[rows], some, denominator, margins.rows(_places(rows, lanes)), low, high)
        lower[rows], upper[rows] = ends
    return lower, upper


def _places(rows: slice, lanes: Matrix) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(*rows.indices(len(lanes)))


def _ends(
    lanes: Matrix,
    numerator: Matrix,
    denominator: Column,
    margins: LaneMargins,
    low: float,
    high: float,
) -> tuple[Column, Column]:
    top, bottom = np.sum(numerator * lanes, axis=-1), lanes @ denominator

    def excess(v: Matrix) -> Matrix:
        """|(a - v d) · x| - margin, for v of (n,) or (n, trials); at most 0 inside the set."""
        several = v.reshape(len(v), -1)
        weights = numerator[:, None, :] - several[:, :, None] * denominator
        distance = np.abs(top[:, None] - several * bottom[:, None])
        found: Matrix = (distance - margins.of(weights)).reshape(v.shape)
        return found

    safe = np.where(bottom == 0.0, 1.0, bottom)
    anchor = np.clip(np.where(bottom == 0.0, low, top / safe), low, high)
    trials = np.broadcast_to(np.linspace(low, high, _TRIALS), (len(lanes), _TRIALS))
    tried = np.concatenate([trials, anchor[:, None]], axis=1)
    worst = excess(tried)
    inside = worst <= 0.0
    none = ~inside.any(axis=1)
    best = np.take_along_axis(tried, np.argmin(worst, axis=1)[:, None], axis=1)[:, 0]
    inner_low = np.where(none, best, np.where(inside, tried, np.inf).min(axis=1))
    inner_high = np.where(none, best, np.where(inside, tried, -np.inf).max(axis=1))
    step = (high - low) / (_TRIALS - 1)
    outer_low = np.maximum(low, np.ceil((inner_low - low) / step - 1e-9) * step - step + low)
    outer_high = np.minimum(high, np.floor((inner_high - low) / step + 1e-9) * step + step + low)
    lower = np.where(none, best, _border(excess, inner_low, outer_low))
    upper = np.where(none, best, _border(excess, inner_high, outer_high))
    return lower, upper


def _border(excess: Callable[[Matrix], Matrix], inner: Column, outer: Column) -> Column:
    """The border of the set between a point inside and one that may be outside."""
    reached = excess(outer) <= 0.0
    inner = np.where(reached, outer, inner)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2.0
        within = excess(middle) <= 0.0
        inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
    return np.where(reached, inner, outer)  # outside: rounding errs on the safe side
