"""Columns as constant pieces: by a tolerance, or as few as a distance allows.

The private half costs two multiply-adds per jump and step, so few pieces are sought.  What they
cost in accuracy is their distance: with r = √g and r̃ = r + δ the error factor is

    ‖r̃‖ · ‖g/r̃‖ = ‖r‖² (1 + 2 var(Re δ/r) + ...) ≈ ‖r‖² + ‖δ‖²,

where the variance is over the circle under |g| dθ.  ∫ |g| |δ/r|² dθ is ‖δ‖², and the real part has
half of it, as δ²/r² is analytic and turns many times.  So the fewest pieces within a loss are the
fewest within that share of ‖r‖²: a shortest path (`docs/decisions/0012-fewest-pieces.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed

_FINER = 4  # places where a piece may start, for each piece
_MOST = 1024  # such places
_TRIALS = 16  # tolls
_NOTHING = 0.05  # of the squared distance: a tail that is left out from the start


def within(r: Column, tolerance: float) -> Signed:
    """Where pieces start: each runs while |r_n - r_s| ≤ tolerance |r_s|, s its first tap."""
    starts = [0]
    while True:
        start = starts[-1]
        width = 64
        while True:
            part = r[start : start + width]
            outside = np.abs(part - r[start]) > tolerance * abs(r[start])
            if outside.any():
                starts.append(start + int(np.argmax(outside)))
                break
            if start + width >= len(r):
                return np.array(starts)
            width *= 2


def merged(r: Column, starts: Signed, bits: int) -> Column:
    """The means of the pieces, rounded to multiples of 2^-bits, in these units.

    >>> merged(np.array([1.0, 0.5, 0.25, 0.25]), np.array([0, 1]), bits=2)
    array([4., 1., 1., 1.])
    """
    lengths = np.diff(starts, append=len(r))
    means = np.add.reduceat(r, starts) / lengths
    return np.repeat(np.rint(np.ldexp(means, bits)), lengths)


@dataclass(frozen=True, eq=False)
class Landscape:
    """A column that is to be met by few pieces, summed up to the places where one may end."""

    column: Column
    ends: Signed
    sums: Column
    squares: Column
    left_out: Column  # the sum of squares after each place, all of it
    toll: float  # to begin with

    @classmethod
    def of(cls, r: Column, beyond: float, distance: float) -> Landscape:
        """For pieces within about the squared `distance`; `beyond` is Σ r_n² after the last tap.

        A piece of length l errs by r'² l³ / 12, so the best have equal shares of Σ |r'|^(2/3), and
        J of them err by (Σ |r'|^(2/3))³ / 12 J².
        """
        left_out = beyond + np.cumsum((r**2)[::-1])[::-1]
        kept = max(1, int(np.count_nonzero(left_out > _NOTHING * distance)))
        r = r[:kept] if 2 * kept < len(r) else r
        share = np.append(0.0, np.cumsum(np.cbrt(np.diff(r) ** 2)))
        whole = max(float(share[-1]), 1e-300)
        count = math.sqrt(whole**3 / (12.0 * distance))
        size = min(int(_FINER * count) + 64, _MOST)
        inner = np.searchsorted(share, np.linspace(0.0, whole, size))
        ends = np.unique(np.concatenate([[0], inner, [len(r)]]))
        sums, squares = (np.append(0.0, np.cumsum(column))[ends] for column in (r, r**2))
        return cls(r, ends, sums, squares, left_out[0] - squares, 2.0 * distance / (count + 1.0))

    def places(self, rounding: float) -> int:
        """Bits with which rounding adds about `rounding` to the squared distance; at most 40.

        Rounding errs by 4^-bits / 12 a tap, over the taps before the rest is less than that.

        >>> Landscape.of(np.ones(300), 0.0, 1e-3).places(1e-4)  # 300 / 12 · 4^-bits ≤ 1e-4
        9
        """
        count = int(np.count_nonzero(self.left_out > rounding))
        kept = max(1, int(self.ends[min(count, len(self.ends) - 1)]))
        return min(max(math.ceil(math.log2(kept / (12.0 * rounding)) / 2.0), 0), 40)

    def fewest(self, distance: float, bits: int) -> Column:
        """Few constant pieces with Σ (r̃_n - r_n)² ≤ distance, in units of 2^-bits, then zeros.

        A shortest path over the places, each piece at the price of its own squared distance and a
        toll.  The largest toll is sought that keeps the distance; without any if none does.  Of
        paths with no more pieces than that the one that ends first is taken: the shortest memory.
        Cost: milliseconds.

        >>> r = np.array([1.0, 0.5, 0.25, 0.25, 0.125])
        >>> Landscape.of(r, 0.01, 0.03).fewest(0.03, bits=4)
        array([16.,  8.,  3.,  3.,  3.])
        """
        prices = self._prices(bits)
        low, high, toll = 0.0, math.inf, self.toll
        best: _Paths | None = None
        for _ in range(_TRIALS):
            paths = _paths(prices, self.left_out, toll)
            found = float(paths.distance[paths.cheapest])
            if found > distance:
                high = toll
            else:
                low, best = toll, paths
                if found > 0.98 * distance:
                    break
            # J pieces err like J^-2, so the toll is like the distance^(3/2); but within the bounds
            toll *= min(max(0.99 * distance / max(found, 1e-300), 0.2), 5.0) ** 1.5
            if not low < toll < high:
                toll = math.sqrt(low * high) if 0.0 < low < high < math.inf else toll
            if high < 1.02 * low:
                break
        best = best or _paths(prices, self.left_out, 0.0)
        path = [best.cheapest]
        if path[0] < len(self.ends) - 1:  # else there may be nothing after the last tap
            fits = (best.pieces <= best.pieces[path[0]]) & (best.distance <= distance)
            path = [int(np.argmax(fits)) or path[0]]
        while path[-1] > 0:
            path.append(int(best.before[path[-1]]))
        ends = self.ends[path[::-1]]
        return merged(self.column[: ends[-1]], ends[:-1], bits)

    def _prices(self, bits: int) -> Matrix:
        """The squared distance of the rounded piece from place j to place i; infinite for j ≥ i."""
        length = np.asarray(self.ends[:, None] - self.ends, dtype=np.float64)
        length[length <= 0.0] = np.nan
        total = self.sums[:, None] - self.sums
        mean = total / length
        off = mean - np.ldexp(np.rint(np.ldexp(mean, bits)), -bits)
        price = np.maximum(self.squares[:, None] - self.squares - total * mean, 0.0)
        return np.where(length > 0.0, price + length * off**2, np.inf)


class _Paths(NamedTuple):
    """The cheapest paths to every place, after which all is left out."""

    before: Signed  # the place before
    pieces: Signed
    distance: Column  # infinite for the first place: there must be a piece
    cheapest: int  # the place of the cheapest path, tolls included


def _paths(prices: Matrix, left_out: Column, toll: float) -> _Paths:
    count = len(left_out)
    best = np.zeros(count)
    before, pieces = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for i in range(1, count):
        ways = best[:i] + prices[i, :i]
        before[i] = j = ways.argmin()
        best[i] = ways[j] + toll
        pieces[i] = pieces[j] + 1
    total = best + left_out
    total[0] = np.inf
    return _Paths(before, pieces, total - toll * pieces, int(np.argmin(total)))
