"""Columns as few constant pieces as a distance allows.

The private half costs two multiply-adds per jump and step, so few pieces are wanted.  They cost
accuracy by their distance: with r = √g and r̃ = r + δ the error factor is

    ‖r̃‖ · ‖g/r̃‖ = ‖r‖² (1 + 2 var(Re δ/r) + ...) ≈ ‖r‖² + ‖δ‖²,

where the variance is over the circle under |g| dθ.  ∫ |g| |δ/r|² dθ is ‖δ‖², and the real part has
half of it, as δ²/r² is analytic and turns many times.  So the fewest pieces within a loss are the
fewest within that share of ‖r‖²: a shortest path (`docs/decisions/0012-fewest-pieces.md`).

The result must be the same on every machine, although the last bits of r may differ.  So no choice
depends on which of two equal numbers was rounded up: prices are whole multiples of a unit, sums of
them are exact, and the first of equal choices is taken.  A difference of 2^-53 in r survives only
where a price lies that near to the middle between two multiples and decides between two paths:
for about one plan in ten million (`docs/decisions/0018-plan-identity.md`).
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
_UNIT = 36  # bits of the whole column's square that a price has
_INVERSE_CUBE_ROOT = 0x553EF0FF289DD796  # the bits of 2^341.2: minus a third of x's, x^(-1/3)
_CACHED = 1 << 14  # numbers that a processor keeps close by
_TIE = 2.0**-40  # relatively: numbers that near are the same


def merged(r: Column, starts: Signed, bits: int) -> Column:
    """The means of the pieces, rounded to multiples of 2^-bits, in these units.

    >>> merged(np.array([1.0, 0.5, 0.25, 0.25]), np.array([0, 1]), bits=2)
    array([4., 1., 1., 1.])
    """
    lengths = np.diff(starts, append=len(r))
    means = np.add.reduceat(r, starts) / lengths
    return np.repeat(_nearest(np.ldexp(means, bits)), lengths)


@dataclass(frozen=True, eq=False)
class Landscape:
    """A column that is to be met by few pieces, summed up to the places where one may end."""

    column: Column
    ends: Signed
    sums: Column
    squares: Column
    unit: float  # of prices, a power of two
    left_out: Column  # the sum of squares after each place, all of it, rounded to units
    toll: float  # to begin with, in units

    @classmethod
    def of(cls, r: Column, beyond: float, distance: float) -> Landscape:
        """For pieces within about the squared `distance`; `beyond` is Σ r_n² after the last tap.

        A piece of length l errs by r'² l³ / 12, so the best have equal shares of Σ |r'|^(2/3), and
        J of them err by (Σ |r'|^(2/3))³ / 12 J².
        """
        left_out = beyond + np.cumsum((r * r)[::-1])[::-1]
        kept = max(1, int(np.count_nonzero(left_out > _NOTHING * distance)))
        r = r[:kept] if 2 * kept < len(r) else r
        share = np.zeros(len(r))
        np.cumsum(_two_thirds(np.abs(np.diff(r))), out=share[1:])
        whole = max(float(share[-1]), 1e-300)
        count = math.sqrt(whole * whole * whole / (12.0 * distance))
        size = min(int(_FINER * count) + 64, _MOST)
        inner = np.searchsorted(share, np.linspace(0.0, whole, size) * (1.0 - _TIE))
        ends = np.unique(np.concatenate([[0], inner, [len(r)]]))
        sums, squares = (_sums(column, ends) for column in (r, r * r))
        unit = math.ldexp(1.0, math.frexp(float(left_out[0]))[1] - _UNIT)
        rest = _nearest((left_out[0] - squares) / unit)
        toll = 2.0 * distance / (count + 1.0) / unit
        return cls(r, ends, sums, squares, unit, rest, toll)

    def places(self, rounding: float) -> int:
        """Bits with which rounding adds about `rounding` to the squared distance; at most 40.

        Rounding errs by 4^-bits / 12 a tap, over the taps before the rest is less than that.

        >>> Landscape.of(np.ones(300), 0.0, 1e-3).places(1e-4)  # 300 / 12 · 4^-bits ≤ 1e-4
        9
        """
        count = int(np.count_nonzero(self.left_out > rounding / self.unit))
        kept = max(1, int(self.ends[min(count, len(self.ends) - 1)]))
        return next((bits for bits in range(40) if 12.0 * rounding * 4.0**bits >= kept), 40)

    def fewest(self, distance: float, bits: int) -> Column:
        """Few constant pieces with Σ (r̃_n - r_n)² ≤ distance, in units of 2^-bits, then zeros.

        A shortest path over the places: each piece has the price of its own squared distance and a
        toll, the largest toll that keeps the distance, or none if none does.  Of the paths with no
        more pieces than that one, the path that ends first is taken: the shortest memory.
        Cost: milliseconds.

        >>> r = np.array([1.0, 0.5, 0.25, 0.25, 0.125])
        >>> Landscape.of(r, 0.01, 0.03).fewest(0.03, bits=4)
        array([16.,  8.,  3.,  3.,  3.])
        """
        prices, distance = self._prices(bits), distance / self.unit
        low, high, toll = 0.0, math.inf, self.toll
        best: _Paths | None = None
        for _ in range(_TRIALS):
            toll = min(max(1.0, float(math.floor(toll))), 2.0**50)
            paths = _paths(prices, self.left_out, toll)
            found = float(paths.distance[paths.cheapest])
            if found > distance:
                high = toll
            else:
                low, best = toll, paths
                if found > 0.98 * distance:
                    break
            # J pieces err like J^-2, so the toll is like the distance^(3/2); but within the bounds
            ratio = min(max(0.99 * distance / max(found, 1e-300), 0.2), 5.0)
            toll *= ratio * math.sqrt(ratio)
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
        """The squared distance of the rounded piece from place j to place i > j, rounded to units.

        What is above the diagonal means nothing.
        """
        ends, grid = self.ends.astype(np.float64), 2.0**bits
        length, total = ends[:, None] - ends, self.sums[:, None] - self.sums
        with np.errstate(invalid="ignore"):  # 0 / 0 on the diagonal
            mean = total / length
            off = _nearest(mean * grid)
        off /= grid
        off -= mean
        off *= off
        off *= length
        total *= mean
        price = self.squares[:, None] - self.squares
        price -= total
        np.maximum(price, 0.0, out=price)
        price += off
        price /= self.unit
        return _nearest(price)


class _Paths(NamedTuple):
    """The cheapest paths to every place, after which all is left out."""

    before: Signed  # the place before
    pieces: Signed
    distance: Column  # infinite for the first place: there must be a piece
    cheapest: int  # the place of the cheapest path, tolls included


def _paths(prices: Matrix, left_out: Column, toll: float) -> _Paths:
    count = len(left_out)
    best, before, numbers = np.zeros(count), [0] * count, [0] * count
    for i in range(1, count):
        ways = best[:i] + prices[i, :i]
        before[i] = j = int(ways.argmin())
        best[i] = ways[j] + toll
        numbers[i] = numbers[j] + 1
    total, pieces = best + left_out, np.array(numbers)
    total[0] = np.inf
    return _Paths(np.array(before), pieces, total - toll * pieces, int(np.argmin(total)))


def _nearest(x: Matrix) -> Matrix:
    """The nearest integers.  What is within 2^-21 of a half, and so maybe is one, is rounded up."""
    shifted = x + (0.5 + 2.0**-21)
    return np.floor(shifted, out=shifted)


def _sums(column: Column, ends: Signed) -> Column:
    """Σ column_n over n < end, for each end; the first is 0."""
    return np.append(0.0, np.cumsum(column)[ends[1:] - 1])


def _two_thirds(x: Column) -> Column:
    """x^(2/3) for x ≥ 0, to 2e-5, and at least 1e-133, with the same bits on every machine.

    y = x^(-1/3) from the number's own bits, within 4 %, then by Newton's method y ← y (4 - x y³)/3.
    """
    out = np.empty(len(x))
    for start in range(0, len(x), _CACHED):
        here = slice(start, start + _CACHED)
        part = np.maximum(x[here], 1e-200)
        y = (_INVERSE_CUBE_ROOT - part.view(np.int64) // 3).view(np.float64)
        for _ in range(2):
            cube = y * y
            cube *= y
            cube *= part
            np.subtract(4.0, cube, out=cube)
            cube *= 1.0 / 3.0
            y *= cube
        np.multiply(y, part, out=out[here])
    return out
