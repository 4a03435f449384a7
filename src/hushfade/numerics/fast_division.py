"""Fast division f / r of power series in float64, with an error of 1e-13 of the largest term.

This is enough for the sum of squares, or to decide whether the quotient grows.  `power_series`
keeps every coefficient accurate, but costs ten times as much.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column

_BLOCK = 1 << 13
_FEW = 512  # up to this many jumps, blocks are faster than Newton's iteration


def quotient(f: Column, r: Column) -> Column:
    """The first len(f) coefficients of f / r, for r_0 ≠ 0; zeros follow r.

    Cost: about 13 real FFTs of length n, or one multiply-add per jump and coefficient if r has few
    jumps, which is less for long columns.  Overflows give inf or nan.

    >>> quotient(np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -0.5]))
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    n = len(f)
    r = _fitted(r, n)
    jumps = np.diff(r, prepend=0.0)
    if n > 4 * _BLOCK and np.count_nonzero(jumps) <= _FEW:
        return _by_blocks(np.diff(f, prepend=0.0), jumps)
    return _newton(f, r)


def _newton(f: Column, r: Column) -> Column:
    """f / r by Newton's iteration: y ← y - y (r y - 1) doubles the known part of y = 1/r.

    The last iteration, q ← q + y (f - r q), doubles the quotient itself.  Products are cyclic:
    terms that wrap around fall on coefficients that are already known.
    """
    from scipy import fft

    n = len(f)
    size = max(2, 1 << (n - 1).bit_length())
    half = size // 2
    f, r = _fitted(f, size), _fitted(r, size)
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


def _by_blocks(f: Column, p: Column) -> Column:
    """f / p for p with few terms, block by block: q_t = (f_t - Σ_{lag>0} p_lag q_{t-lag}) / p_0.

    The contributions of earlier blocks are summed term by term.  Within a block, an FFT product
    applies 1/p.
    """
    from scipy import fft

    one = np.zeros(_BLOCK)
    one[0] = 1.0
    spectrum = fft.rfft(_newton(one, p[:_BLOCK]), 2 * _BLOCK)
    terms = [(int(lag), float(p[lag])) for lag in np.flatnonzero(p) if lag > 0]
    n = len(f)
    f = _fitted(f, n + -n % _BLOCK)
    q = np.zeros(len(f))
    with np.errstate(all="ignore"):
        for start in range(0, n, _BLOCK):
            block = f[start : start + _BLOCK]  # a view; f is a private copy
            for lag, weight in terms:
                low, high = max(start - lag, 0), min(start, start - lag + _BLOCK)
                if low < high:
                    block[low + lag - start : high + lag - start] -= weight * q[low:high]
            inner = fft.irfft(fft.rfft(block, 2 * _BLOCK) * spectrum, 2 * _BLOCK)
            q[start : start + _BLOCK] = inner[:_BLOCK]
    return q[:n]


def _fitted(column: Column, size: int) -> Column:
    out = np.zeros(size)
    kept = min(size, len(column))
    out[:kept] = column[:kept]
    return out
