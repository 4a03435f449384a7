"""Approximation of a column by the fewest constant pieces within a distance.

The private half costs two multiply-adds per jump and step, so few pieces are better.  Their
distance from the column costs accuracy: with r = √g and r̃ = r + δ the error factor is

    ‖r̃‖ · ‖g/r̃‖ = ‖r‖² (1 + 2 var(Re δ/r) + ...) ≈ ‖r‖² + ‖δ‖²,

where the variance is over the circle under |g| dθ.  ∫ |g| |δ/r|² dθ is ‖δ‖², and the real part has
half of it, because δ²/r² is analytic and oscillates.  So the fewest pieces within a given loss are
the fewest pieces within this share of ‖r‖².  A shortest path finds them
(`docs/decisions/0012-fewest-pieces.md`).

The result must be the same on every machine, although the last bits of r may differ.  So no choice
depends on which of two equal numbers was rounded up: prices are whole multiples of a unit, their
sums are exact, and the first of equal choices wins.  A difference of 2^-53 in r matters only if a
price lies that close to the midpoint of two multiples and decides between two paths.  This happens
for about one plan in ten million (`docs/decisions/0018-plan-identity.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.factors.columns import parts, sum_of_squares

_FINER = 4  # possible starts of a piece, per piece
_MOST = 1024  # possible starts, at most
_TRIALS = 16  # tolls that the search tries
_NOTHING = 0.05  # share of the squared distance that an omitted tail may cost
_UNIT = 36  # a unit of prices is 2^-36 of the column's sum of squares
_INVERSE_CUBE_ROOT = 0x553EF0FF289DD796  # bits of 2^341.2; minus a third of the bits of x: x^(-1/3)
_TIE = 2.0**-40  # numbers within this relative distance count as equal


def merged(r: Column, starts: Signed, bits: int) -> Column:
    """The means of the pieces in units of 2^-bits, rounded to integers.

    >>> merged(np.array([1.0, 0.5, 0.25, 0.25]), np.array([0, 1]), bits=2)
    array([4., 1., 1., 1.])
    """
    lengths = np.diff(starts, append=len(r))
    return np.repeat(_rounded_means(r, starts, lengths, bits), lengths)


def _rounded_means(r: Column, starts: Signed, lengths: Signed, bits: int) -> Column:
    return _nearest(np.ldexp(np.add.reduceat(r, starts) / lengths, bits))


@dataclass(frozen=True, eq=False)
class Landscape:
    """A column to approximate by few pieces, with its sums up to each possible end of a piece."""

    column: Column
    ends: Signed
    sums: Column
    squares: Column
    unit: float  # the unit of prices, a power of two
    left_out: Column  # the sum of squares after each place, rounded to units
    toll: float  # the first toll to try, in units

    @classmethod
    def of(cls, r: Column, beyond: float, distance: float) -> Landscape:
        """The landscape for pieces within about this squared `distance`.

        `beyond` is Σ r_n² after the last tap.  A piece of length l has the squared distance
        r'² l³ / 12.  So the best pieces have equal shares of Σ |r'|^(2/3), and J of them have the
        squared distance (Σ |r'|^(2/3))³ / 12 J².
        """
        energy = beyond + sum_of_squares(r)
        kept = max(1, _places_above(r, beyond, _NOTHING * distance))
        r = r[:kept] if 2 * kept < len(r) else r
        share = np.zeros(len(r))
        later = share[1:]
        for here in parts(len(later)):
            later[here] = _two_thirds(np.abs(r[1:][here] - r[:-1][here]))
        np.cumsum(later, out=later)
        whole = max(float(share[-1]), 1e-300)
        count = math.sqrt(whole * whole * whole / (12.0 * distance))
        size = min(int(_FINER * count) + 64, _MOST)
        inner = np.searchsorted(share, np.linspace(0.0, whole, size) * (1.0 - _TIE))
        ends = np.unique(np.concatenate([[0], inner, [len(r)]]))
        square = np.multiply(r, r, out=share)
        sums, squares = (
            np.append(0.0, np.cumsum(np.add.reduceat(column, ends[:-1]))) for column in (r, square)
        )
        unit = math.ldexp(1.0, math.frexp(energy)[1] - _UNIT)
        rest = _nearest((energy - squares) / unit)
        toll = 2.0 * distance / (count + 1.0) / unit
        return cls(r, ends, sums, squares, unit, rest, toll)

    def places(self, rounding: float) -> int:
        """The bits with which rounding adds about `rounding` to the squared distance, at most 40.

        Rounding adds 4^-bits / 12 per tap, until the sum of squares of the remaining taps is less.

        >>> Landscape.of(np.ones(300), 0.0, 1e-3).places(1e-4)  # 300 / 12 · 4^-bits ≤ 1e-4
        9
        """
        count = int(np.count_nonzero(self.left_out > rounding / self.unit))
        kept = max(1, int(self.ends[min(count, len(self.ends) - 1)]))
        return next((bits for bits in range(40) if 12.0 * rounding * 4.0**bits >= kept), 40)

    def fewest(self, distance: float, bits: int) -> Column:
        """The column of `pieces`.

        >>> r = np.array([1.0, 0.5, 0.25, 0.25, 0.125])
        >>> Landscape.of(r, 0.01, 0.03).fewest(0.03, bits=4)
        array([16.,  8.,  3.,  3.,  3.])
        """
        ends, values = self.pieces(distance, bits)
        return np.repeat(values, np.diff(ends))

    def pieces(self, distance: float, bits: int) -> tuple[Signed, Column]:
        """The ends and values of few pieces with Σ (r̃_n - r_n)² ≤ distance.

        The first end is 0.  The values are in units of 2^-bits, and zeros follow the last piece.

        The pieces are a shortest path over the places.  Each piece costs its own squared distance
        plus a toll.  The toll is the largest one that keeps the distance, or 0 if no toll does.  Of
        the paths with no more pieces than this one, the result is the path that ends first, which
        has the shortest memory.  Cost: milliseconds.
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
            # J pieces err like J^-2, so the toll grows like distance^(3/2); stay within the bounds
            ratio = min(max(0.99 * distance / max(found, 1e-300), 0.2), 5.0)
            toll *= ratio * math.sqrt(ratio)
            if not low < toll < high:
                toll = math.sqrt(low * high) if 0.0 < low < high < math.inf else toll
            if high < 1.02 * low:
                break
        best = best or _paths(prices, self.left_out, 0.0)
        path = [best.cheapest]
        if path[0] < len(self.ends) - 1:  # otherwise nothing may follow the last tap
            fits = (best.pieces <= best.pieces[path[0]]) & (best.distance <= distance)
            path = [int(np.argmax(fits)) or path[0]]
        while path[-1] > 0:
            path.append(int(best.before[path[-1]]))
        ends = self.ends[path[::-1]]
        return ends, _rounded_means(self.column[: ends[-1]], ends[:-1], np.diff(ends), bits)

    def _prices(self, bits: int) -> Matrix:
        """The squared distance of the rounded piece from place j to place i > j, rounded to units.

        Entries above the diagonal have no meaning.
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
    """The cheapest path to every place; all taps after the place are omitted."""

    before: Signed  # the previous place on the path
    pieces: Signed
    distance: Column  # infinite for the first place: a path needs a piece
    cheapest: int  # the end of the cheapest path, including tolls


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
    """The nearest integers.  Numbers within 2^-21 of a half count as a half, and are rounded up."""
    shifted = x + (0.5 + 2.0**-21)
    return np.floor(shifted, out=shifted)


def _two_thirds(x: Column) -> Column:
    """x^(2/3) for x ≥ 0, to 2e-5, and at least 1e-133, with the same bits on every machine.

    The bits of x give y = x^(-1/3) within 4 %.  Newton's method y ← y (4 - x y³)/3 refines it.
    """
    x = np.maximum(x, 1e-200)
    y = (_INVERSE_CUBE_ROOT - x.view(np.int64) // 3).view(np.float64)
    for _ in range(2):
        cube = y * y
        cube *= y
        cube *= x
        np.subtract(4.0, cube, out=cube)
        cube *= 1.0 / 3.0
        y *= cube
    y *= x
    return y


def _places_above(column: Column, beyond: float, limit: float) -> int:
    """The number of places n with beyond + Σ_{k≥n} column_k² > limit.

    >>> _places_above(np.array([2.0, 1.0, 1.0]), 0.5, 1.5)
    2
    """
    total = beyond
    for here in reversed(list(parts(len(column)))):
        rests = total + np.cumsum((column[here] * column[here])[::-1])
        if rests[-1] > limit:
            return int(here.stop - np.argmax(rests > limit))
        total = float(rests[-1])
    return 0
