"""Σ l_k² of a blend's left factor, without the column l.

From lag 1024 on, the left factor of counting is a sum of some hundred exponentials (`root_series`).
So are the left factors of exponentials and, between two multiples of its length, of a window.  The
squares of a sum of exponentials add up in closed form, over any number of steps:

    Σ_{k=a}^{b-1} (Σ_i ω_i e^(-s_i k))² = Σ_ij ω_i ω_j Σ_{k=a}^{b-1} e^(-(s_i + s_j) k)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column, Matrix
from hushfade.factors import power_series, root_series
from hushfade.factors.power_series import plain_product
from hushfade.factors.root_series import NEAR, nodes, weighted

if TYPE_CHECKING:
    from hushfade.decays import Decay

_LONG = 1 << 18  # for fewer steps of a window, the column itself is as quick


def squared_left(decay: Decay, c: float, n: int) -> float | None:
    """Σ_{k<n} l_k² of l = g/r with r = 1 + c (√g - 1); None if no closed form is useful.

    The relative error is about 1e-13.  Cost: a few milliseconds.

    >>> from hushfade.decays import NoDecay
    >>> from hushfade.factors import factorization
    >>> left = factorization.blend(NoDecay(), 0.5).left(5000)
    >>> abs(squared_left(NoDecay(), 0.5, 5000) / float(left @ left) - 1.0) < 1e-12
    True
    """
    if decay.rate is not None:
        return _fading(decay, c, n, decay.rate)
    if decay.window is not None and n > _LONG and decay.window > 2 * NEAR:
        return _window(decay.window, c, n)
    return None


def _fading(decay: Decay, c: float, n: int, rate: float) -> float:
    near = root_series.blended_left(c, min(n, NEAR)) * decay.weights(min(n, NEAR))
    total = float(np.sum(near * near))
    if n > NEAR:
        s = nodes(0.5, n)
        weights = weighted(s, root_series.blend_on_cut(c, s))
        total += float(weights @ _sums(s + rate, NEAR, n) @ weights)
    return total


def _window(w: int, c: float, n: int) -> float:
    """The sum for g = u² (1 - y), where u = (1-x)^-½ and y = x^w.

    With s(y) = 1 - √(1-y), r = 1 - c + c u (1 - s) = d - c u s with d = 1 - c + c u.  So

        l = g/r = Σ_m (1 - y) s^m F_m,    F_m = u²/d · (c u/d)^m

    The coefficient of y^k is a combination of F_0, ..., F_k.  The F_m are the exponentials.
    """
    rows = -(-n // w)
    powers = np.zeros((rows, rows))  # row m has the coefficients of (1 - y) s^m
    powers[0, :2] = np.array([1.0, -1.0])[:rows]
    series = np.append(0.0, -np.cumprod(1.0 - 1.5 / np.arange(1.0, rows)))
    for m in range(1, rows):
        powers[m] = np.convolve(powers[m - 1], series)[:rows]

    s = nodes(0.5, n)
    u = 1j / np.sqrt(np.expm1(s))
    ratios = (c * u / (1.0 - c + c * u)) ** np.arange(rows)[:, None]
    far = powers.T @ weighted(s, root_series.blend_on_cut(c, s) * ratios)
    near = powers.T @ _near_powers(c, rows)

    fading, first = np.exp(-w * s), np.exp(-np.outer(s, np.arange(NEAR)))
    sums = _sums(s, NEAR, w)
    total, weights = 0.0, np.zeros(len(s))
    for row in range(rows):
        weights = weights * fading  # of the earlier rows, from the start of this one
        length = min(w, n - row * w)
        column = (near[row] + weights @ first)[:length]
        total += float(np.sum(column * column))
        weights = weights + far[row]
        if length > NEAR:
            total += float(weights @ (sums if length == w else _sums(s, NEAR, length)) @ weights)
    return total


def _near_powers(c: float, rows: int) -> Matrix:
    """The first 1024 coefficients of F_0, F_1, ..."""
    right = root_series.blended_right(c, NEAR)
    ratio = (c - 1.0) * power_series.inverse(right)  # c u/d = 1 - (1 - c)/d
    ratio[0] += 1.0
    near = [root_series.blended_left(c, NEAR)]
    for _ in range(1, rows):
        near.append(plain_product(near[-1], ratio, slice(0, NEAR)))
    return np.stack(near)


def _sums(s: Column, first: int, end: int) -> Matrix:
    """Σ e^(-(s_i + s_j) k) over first ≤ k < end, for all pairs."""
    both = s[:, None] + s
    return np.asarray(np.exp(-first * both) * np.expm1((first - end) * both) / np.expm1(-both))
