"""The zeros inside the unit disk of a long polynomial whose coefficients form few constant pieces.

Like `unit_disk`, this uses the argument principle.  But it needs some hundreds of arcs instead of a
Fourier transform of the whole polynomial r.  With the jumps h_j of r at the lags l_j

    p(x) = (1 - x) r(x) = Σ h_j x^l_j

On an arc of half-width η a term turns by at most l_j η, and moves by at most twice its size.  So p
stays within Σ |h_j| min(2, l_j η) of its value in the middle of the arc.  If this sum is less than
the size of that value, p has no zero on the arc, and its argument stays within a quarter turn of
the argument in the middle.  If taps fade slowly, their far jumps are small, and only arcs near
θ = 0 must be short.

The taps of a window nearly repeat with its length w, r(x) ≈ a(x) ψ(x^w), and their far jumps are
large.  So away from θ = 0 an independent variable y replaces the power x^w:

    q(x, y) = Σ_k A_k(x) y^k,    A_k(x) = Σ h_j x^(l_j - kw),    k = l_j / w rounded

so that p(x) = q(x, x^w).  Suppose that q has no zero for x on the arcs and y anywhere on the unit
circle, and that q does not wind about 0 when y alone goes around the circle.  Then q has a
continuous argument there.  So the path y = x^w changes the argument by as much as any other path
with the same ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Signed

Values: TypeAlias = NDArray[np.complex128]

_FIRST = 0.05  # the width of the first arcs, relative to the angle
_TURNS = 4  # turns of x^w near θ = 0 on which y is not independent
_FINE = 32  # samples of y per power
_HALVINGS = 16  # the most halvings of an arc
_MOST = 1 << 21  # the search gives up after computing this many terms
_UNIT = 2.0**-52


def zeros_inside(jumps: Signed, values: Signed, period: int | None = None) -> int | None:
    """The number of zeros with |x| < 1, or None if a quick search does not find it.

    Each of the integer `values` is the coefficient from one of the `jumps` up to the next.  If the
    jumps nearly repeat, `period` speeds up the search.  It never changes the number.  Requires
    values[0] > 0.  Cost: milliseconds, at most a tenth of a second.

    >>> zeros_inside(np.array([0, 1, 2]), np.array([1, 3]))  # 1 + 3x
    1
    >>> zeros_inside(np.array([0, 1, 10**6]), np.array([10**7, -1]))
    0
    """
    pieces = list(zip(values.tolist(), jumps[:-1].tolist(), jumps[1:].tolist(), strict=True))
    at_one = sum(value * (end - start) for value, start, end in pieces)
    slope = sum(abs(value) * (end - start) * (start + end - 1) for value, start, end in pieces) / 2
    if not at_one > 0:
        return None
    # |r - r(1)| is at most θ Σ n |r_n|: on the first arc, at most half of r(1)
    first = min(3.0, at_one / (2.0 * max(slope, 0.1)))
    sums, edge = _Sums(jumps, values, period or 2 * int(jumps[-1]) + 1), math.pi
    if period is not None:
        turns = max(_TURNS, math.ceil(first * period / (2.0 * math.pi)))
        edge = min(edge, 2.0 * math.pi * turns / period)
    near = _arcs(sums, first, edge, free=False)
    far = _arcs(sums, edge, math.pi, free=True) if edge < math.pi else _Arcs(*np.empty((2, 0)))
    if near is None or far is None:
        return None
    start, end = sums.at(np.array([first, math.pi]))
    # r = p / (1 - x), and the argument of 1 - e^-iθ is (π - θ)/2
    turned = float(np.angle(start / (1.0 - np.exp(-1j * first)))) + (math.pi - first) / 2.0
    turned += _turn(start, *near.along, *far.along)
    last = (far if edge < math.pi else near).along[-1]
    if edge < math.pi:
        if round(_turn(*far.around, far.around[0]) / (2.0 * math.pi)) != 0:
            return None
        if sums.period % 2:  # x^w ends at -1
            half = far.around[: len(far.around) // 2 + 1]
            turned, last = turned + _turn(*half), half[-1]
    return -round(float(turned + _turn(last, end)) / math.pi)


class _Sums:
    """p(x) = q(x, x^period) with q(x, y) = Σ_j h_j x^within_j y^rows_j."""

    def __init__(self, jumps: Signed, values: Signed, period: int) -> None:
        heights = np.diff(values, prepend=0, append=0).astype(np.float64)
        rows = (2 * jumps + period) // (2 * period)
        within = jumps - period * rows
        order = np.argsort(np.abs(within), kind="stable")
        self.period, self.powers = period, int(rows.max()) + 1
        self.within = within[order].astype(np.float64)
        self._table = np.zeros((len(jumps), self.powers))
        self._table[np.arange(len(jumps)), rows[order]] = heights[order]
        sizes, self._reach = np.abs(heights[order]), np.abs(self.within)
        # Σ |h_j| and Σ |h_j within_j| over the terms before each term
        self._size = np.append(0.0, np.cumsum(sizes))
        self._slope = np.append(0.0, np.cumsum(sizes * self._reach))
        self._steepest = float(np.sum(np.abs(heights) * jumps))

    def coefficients(self, angle: Column) -> Values:
        """A_k(x) at x = e^-iθ, one row per angle."""
        turns = np.outer(angle, self.within)
        return np.asarray(np.cos(turns) @ self._table - 1j * (np.sin(turns) @ self._table))

    def at(self, angle: Column) -> Values:
        """p(e^-iθ)."""
        return self.combined(self.coefficients(angle), angle)

    def combined(self, coefficients: Values, angle: Column) -> Values:
        """p(e^-iθ), from the coefficients A_k(e^-iθ)."""
        turns = np.outer(angle, float(self.period) * np.arange(self.powers))
        return np.asarray(np.sum(coefficients * np.exp(-1j * turns), axis=1))

    def moved(self, angle: Column, half: Column) -> Column:
        """A bound on how far q moves with x on each arc, plus the rounding error in its middle."""
        near = np.searchsorted(self._reach, 2.0 / half)
        far = self._size[-1] - self._size[near]
        rounding = angle * self._steepest + (len(self.within) + 64) * self._size[-1]
        return np.asarray(half * self._slope[near] + 2.0 * far + 4.0 * _UNIT * rounding)


class _Arcs(NamedTuple):
    """Consecutive arcs without a zero."""

    along: Values  # p, or q(x, 1), in the middle of each arc
    around: Values  # q(x, y) in the middle of the last arc, for y around the circle


def _arcs(sums: _Sums, low: float, high: float, *, free: bool) -> _Arcs | None:
    """Arcs from low to high on which q has no zero, or None if this is not certain.

    If y is free, q has no zero for any y on the circle; otherwise for y = x^w.
    """
    samples = 1 << (_FINE * sums.powers).bit_length() if free else 1
    edges = np.geomspace(low, high, 2 + math.ceil(math.log(high / low) / _FIRST))
    edges[0], edges[-1] = low, high
    middle, half = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges) / 2.0
    angles, values, around = [], [], np.empty(0, np.complex128)
    terms = 0
    for _ in range(_HALVINGS):
        terms += len(middle) * (len(sums.within) + samples)
        if terms > _MOST:
            return None
        wider = half * (1.0 + 1e-9) + 1e-14 * middle
        rows = sums.coefficients(middle)
        if free:
            q = np.fft.fft(rows, samples, axis=1)
            apart = np.full(len(middle), math.pi / samples)  # half the angle between two y
        else:
            q, apart = sums.combined(rows, middle)[:, None], sums.period * wider
        by_y = np.minimum(2.0, np.outer(apart, np.arange(sums.powers)))
        moved = sums.moved(middle, wider) + np.sum(np.abs(rows) * by_y, axis=1)
        certain = np.min(np.abs(q), axis=1) > moved
        angles.append(middle[certain])
        values.append(q[certain, 0])
        if np.any(last := certain & (middle + half > high * (1.0 - 1e-12))):
            around = q[last][0]
        middle, half = middle[~certain], half[~certain] / 2.0
        middle, half = np.append(middle - half, middle + half), np.append(half, half)
        if not len(middle):
            order = np.argsort(np.concatenate(angles))
            return _Arcs(np.concatenate(values)[order], around)
    return None


def _turn(*values: complex) -> float:
    """The change of the argument along the values: less than half a turn from each to the next."""
    column = np.array(values)
    return float(np.sum(np.angle(column[1:] / column[:-1])))
