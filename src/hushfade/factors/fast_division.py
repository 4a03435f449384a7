"""Fast division f / r of power series in float64, with an error of 1e-13 of the largest term.

This is enough for the sum of squares, or to decide whether the quotient grows.  `power_series`
keeps every coefficient accurate, but costs ten times as much.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Signed
from hushfade.factors.columns import fitted

_LONG = 1 << 17  # for longer columns, a compiled loop over the jumps pays off
_FEW = 512  # up to this many jumps, the loop is faster than Newton's iteration


def stepped_quotient(f: Column, jumps: Signed, heights: Column) -> Column:
    """The first len(f) coefficients of f / r, where r changes by `heights` at the lags `jumps`.

    The first jump, at lag 0, has a height ≠ 0.  Cost: as for `quotient`, or one multiply-add per
    jump and coefficient if this is less.

    >>> stepped_quotient(np.ones(4), np.array([0, 1, 2]), np.array([1.0, -1.5, 0.5]))  # 1 - x/2
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    n = len(f)
    if n > _LONG and len(jumps) <= _FEW:
        from hushfade.factors._stepped_division import divided  # loads numba

        return divided(f, jumps, heights)
    steps = np.zeros(n)
    steps[jumps[jumps < n]] = heights[jumps < n]
    return quotient(f, np.cumsum(steps))


def quotient(f: Column, r: Column) -> Column:
    """The first len(f) coefficients of f / r, for r_0 ≠ 0; zeros follow r.

    Newton's iteration y ← y - y (r y - 1) doubles the known part of y = 1/r.  The last iteration,
    q ← q + y (f - r q), doubles the quotient itself.  Products are cyclic: terms that wrap around
    fall on coefficients that are already known.  Overflows give inf or nan.  Cost: about 13 real
    FFTs of length n.

    >>> quotient(np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -0.5]))
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    from scipy import fft

    n = len(f)
    size = max(2, 1 << (n - 1).bit_length())
    half = size // 2
    f, r = fitted(f, size), fitted(r, size)
    y = 1.0 / r[:1]
    with np.errstate(all="ignore"):
        while (m := len(y)) < half:
            spectrum = fft.rfft(y, 2 * m)
            wrong = fft.irfft(fft.rfft(r[: 2 * m]) * spectrum, 2 * m)[m:]
            y = np.concatenate([y, -fft.irfft(fft.rfft(wrong, 2 * m) * spectrum, 2 * m)[:m]])
        spectrum = fft.rfft(y, size)
        low = fft.irfft(fft.rfft(f[:half], size) * spectrum, size)[:half]
        left = f[half:] - fft.irfft(fft.rfft(low, size) * fft.rfft(r), size)[half:]
        high = fft.irfft(fft.rfft(left, size) * spectrum, size)[:half]
    return np.concatenate([low, high])[:n]
