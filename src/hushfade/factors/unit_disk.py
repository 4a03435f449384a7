"""Zeros of a real polynomial inside the unit disk, counted by the argument principle.

They determine stability: 1/r has bounded coefficients only if r has no zero with |x| < 1.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Signed

Values: TypeAlias = NDArray[np.complex128]
Indices: TypeAlias = NDArray[np.intp]

_NARROWEST = 1e-7  # least half-width of an arc: a zero this close to the circle may be on it
_AT_ONCE, _MOST = 1 << 20, 1 << 28  # sines computed at a time, and in all, to halve arcs


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
