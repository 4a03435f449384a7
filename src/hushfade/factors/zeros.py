"""Zeros of a real polynomial inside the unit disk, counted by the argument principle.

They determine stability: 1/r has bounded coefficients only if r has no zero with |x| < 1.

If the coefficients form few constant pieces, `zeros_inside_pieces` needs some hundreds of arcs
instead of a Fourier transform of the whole polynomial r.  With the jumps h_j of r at the lags l_j

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
Indices: TypeAlias = NDArray[np.intp]

_NARROWEST = 1e-7  # least half-width of an arc: a zero this close to the circle may be on it
_AT_ONCE, _MOST = 1 << 20, 1 << 28  # sines computed at a time, and in all, to halve arcs
_FIRST = 0.05  # the width of the first arcs, relative to the angle
_TURNS = 4  # turns of x^w near θ = 0 on which y is not independent
_FINE = 32  # samples of y per power
_HALVINGS = 16  # the most halvings of an arc
_MOST_TERMS = 1 << 21  # the search gives up after computing this many terms
_UNIT = 2.0**-52


def falls(column: Column | Signed) -> bool:
    """Whether the column is non-negative and non-increasing.

    Then it has no zero with |x| < 1 (Eneström 1893, Kakeya 1912): (1 - x) p(x) equals
    p_0 - Σ (p_{k-1} - p_k) x^k, and the sum is smaller than p_0 there.

    >>> falls(np.array([1.0, 0.5, 0.5, 0.0])), falls(np.array([1.0, 0.5, 0.6]))
    (True, False)
    """
    return bool(column[-1] >= 0.0 and np.all(column[1:] <= column[:-1]))  # differences could wrap


def zeros_inside(column: Column) -> int | None:
    """The number of zeros with |x| < 1; None if a zero is too close to the circle to decide.

    It is the winding number of p(e^iθ) about 0.  The half circle is divided into arcs θ ± h.  On
    each arc p stays within B h²/2 of the segment p + p' [-h, h], with derivatives by θ and
    B = Σ n² |p_n| ≥ |p''|.  If this is less than the distance of the segment from 0, the arc has no
    zero, and the argument changes by less than half a turn to either end.  The same test is tried
    for (1 - x) p(x), whose B is far smaller if p is piecewise constant.  Arcs that pass neither
    test are halved.  So the count is certain.  1e-13 Σ |p_n| is reserved for rounding, and more
    after a division by 1 - x.

    Requires p_0 ≠ 0.  Cost: two FFTs of 4 to 8 times the degree, more if a zero is near the circle.

    >>> zeros_inside(np.array([1.0, 3.0])), zeros_inside(np.array([3.0, 1.0]))
    (1, 0)
    """
    if falls(column):
        return 0
    p = column[: int(np.flatnonzero(column)[-1]) + 1]
    p = p / np.max(np.abs(p))
    edges = np.diff(p, prepend=0.0, append=0.0)
    lags = np.flatnonzero(edges).astype(np.float64)
    jumps = edges[edges != 0.0]  # (1 - x) p(x) = Σ jumps x^lags
    size = 1 << (4 * len(p)).bit_length()
    arcs, h, turned = _sampled(p, size), 2.0 * np.pi / size, 0.0
    bends = _bend(np.arange(float(len(p))), p), _bend(lags, jumps)
    rounding = 1e-13 * np.sum(np.abs(p)) * np.ones(len(arcs.angle))
    while True:
        certain = _certain(arcs, h, bends, rounding)
        turned += float(np.sum(_turns(arcs)[certain]))
        doubtful = np.flatnonzero(~certain)
        if not len(doubtful):
            return -round(turned / np.pi)
        h /= 2.0
        if h < min(_NARROWEST, 0.1 / size) or 2 * len(doubtful) * len(lags) > _MOST:
            return None
        arcs = _halved(arcs, doubtful, h, lags, jumps)
        rounding = 1e-15 * (2.0 / arcs.angle * np.sum(np.abs(jumps)) + np.abs(jumps) @ lags)


class _Arcs(NamedTuple):
    """p at the start, the centre and the end of arcs, and its slope at the centre; x = e^-iθ."""

    angle: Column  # the angle of the centre
    start: Values
    middle: Values
    end: Values
    slope: Values


def _sampled(p: Column, size: int) -> _Arcs:
    """Arcs that cover the half circle, which suffices because p(conj x) = conj p(x)."""
    from scipy import fft

    values = fft.rfft(p, size)
    middle, odd = values[::2], values[1::2]
    slope = -1j * fft.rfft(p * np.arange(len(p)), size)[::2]
    angle = np.linspace(0.0, np.pi, len(middle))
    # only half of the first arc and half of the last arc belong to the half circle
    return _Arcs(angle, np.append(middle[:1], odd), middle, np.append(odd, middle[-1:]), slope)


def _halved(arcs: _Arcs, which: Indices, h: float, lags: Column, jumps: Column) -> _Arcs:
    """The halves of some arcs; p at the new centres is summed term by term."""
    angle = np.append(arcs.angle[which] - h, arcs.angle[which] + h)
    start = np.append(arcs.start[which], arcs.middle[which])
    end = np.append(arcs.middle[which], arcs.end[which])
    inside = (angle > 0.0) & (angle < np.pi)
    angle, start, end = angle[inside], start[inside], end[inside]
    terms, sums = np.stack([jumps, lags * jumps], axis=1), np.empty((len(angle), 2), np.complex128)
    for rows in np.array_split(np.arange(len(angle)), 1 + len(angle) * len(lags) // _AT_ONCE):
        turns = np.outer(angle[rows], lags)
        sums[rows] = np.cos(turns) @ terms - 1j * (np.sin(turns) @ terms)
    x = np.exp(-1j * angle)
    value, steepness = sums.T
    middle = value / (1.0 - x)
    slope = -1j * (steepness + x * middle) / (1.0 - x)
    return _Arcs(angle, start, middle, end, slope)


def _certain(
    arcs: _Arcs, h: float, bends: tuple[float, float], rounding: Column
) -> NDArray[np.bool_]:
    """Whether p, or (1 - x) p, provably has no zero on the arc."""
    x, rest = np.exp(-1j * arcs.angle), 0.5 * h**2
    own = _nearest(arcs.middle, arcs.slope, h)
    other = _nearest((1.0 - x) * arcs.middle, (1.0 - x) * arcs.slope + 1j * x * arcs.middle, h)
    return (own > rest * bends[0] + rounding) | (other > rest * bends[1] + 2.0 * rounding)


def _nearest(value: Values, slope: Values, h: float) -> Column:
    """The distance of the segment value + slope · [-h, h] from 0."""
    square = np.maximum(slope.real**2 + slope.imag**2, 1e-300)
    at = -(value.real * slope.real + value.imag * slope.imag) / square
    return np.abs(value + np.clip(at, -h, h) * slope)


def _bend(lags: Column, weights: Column) -> float:
    return float(np.sum(lags**2 * np.abs(weights)))


def _turns(arcs: _Arcs) -> Column:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.angle(arcs.middle / arcs.start) + np.angle(arcs.end / arcs.middle)


# Few constant pieces ---------------------------------------------------------------------------


def zeros_inside_pieces(jumps: Signed, values: Signed, period: int | None = None) -> int | None:
    """The number of zeros with |x| < 1, or None if a quick search does not find it.

    Each of the integer `values` is the coefficient from one of the `jumps` up to the next.  If the
    jumps nearly repeat, `period` speeds up the search.  It never changes the number.  Requires
    values[0] > 0.  Cost: milliseconds, at most a tenth of a second.

    >>> zeros_inside_pieces(np.array([0, 1, 2]), np.array([1, 3]))  # 1 + 3x
    1
    >>> zeros_inside_pieces(np.array([0, 1, 10**6]), np.array([10**7, -1]))
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
    near = _clear_arcs(sums, first, edge, free=False)
    far = (
        _clear_arcs(sums, edge, math.pi, free=True)
        if edge < math.pi
        else _ClearArcs(*np.empty((2, 0)))
    )
    if near is None or far is None:
        return None
    start, end = sums.at(np.array([first, math.pi]))
    # r = p / (1 - x), and the argument of 1 - e^-iθ is (π - θ)/2
    turned = float(np.angle(start / (1.0 - np.exp(-1j * first)))) + (math.pi - first) / 2.0
    turned += _turned(start, *near.along, *far.along)
    last = (far if edge < math.pi else near).along[-1]
    if edge < math.pi:
        if round(_turned(*far.around, far.around[0]) / (2.0 * math.pi)) != 0:
            return None
        if sums.period % 2:  # x^w ends at -1
            half = far.around[: len(far.around) // 2 + 1]
            turned, last = turned + _turned(*half), half[-1]
    return -round(float(turned + _turned(last, end)) / math.pi)


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


class _ClearArcs(NamedTuple):
    """Consecutive arcs without a zero."""

    along: Values  # p, or q(x, 1), in the middle of each arc
    around: Values  # q(x, y) in the middle of the last arc, for y around the circle


def _clear_arcs(sums: _Sums, low: float, high: float, *, free: bool) -> _ClearArcs | None:
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
        if terms > _MOST_TERMS:
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
            return _ClearArcs(np.concatenate(values)[order], around)
    return None


def _turned(*values: complex) -> float:
    """The change of the argument along the values: less than half a turn from each to the next."""
    column = np.array(values)
    return float(np.sum(np.angle(column[1:] / column[:-1])))
