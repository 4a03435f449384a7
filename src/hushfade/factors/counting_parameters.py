"""The parameters of unbounded counting for an expected number of steps.

    r = (1-x)^-½ ℓ^-β,  l = (1-x)^-½ ℓ^β,  ℓ = 1 + c ln(1/(1-x)),  cut after N = 2 · expect taps

The ratio at step t is the error divided by the error of the square root with horizon t,

    ρ(t) = ‖r‖ √Λ(t) / S(t),   Λ(t) = Σ_{n<t} l_n²,   S(t) = Σ_{n<t} a_n²,   a_n = C(2n, n) / 4^n.

The search chooses the c and β of a grid with the smallest worst ratio from 2^8 steps to
16 · expect.  The ratio at `expect` itself is then about 1.03.  The worst ratio is about 1.35.  It
occurs for short streams, which have the noise of long ones, and for streams that outlast the taps.

The search needs no series.  To first order in c, for all n,

    r_n = a_n (1 + c H_n)^-β,   l_n = a_n (1 + c H_n)^β,   H_n = Σ_{k<n} 1/(k + ½),

with a_n² ≈ 1/(π (n + ¼)) and H_n ≈ ln(n + ¼) + γ + 2 ln 2.  So sums of squares have closed forms.
After the last tap, l tends to 1/r(1), and Λ(t) = Λ(N) + (t - 0.86 N) / r(1)² from 2N on.
The constant 0.86 was measured, and is suitable for all c and β.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.factors.taps import MOST_TAPS, CountingTaps

EXPECTED = 1 << 20  # the default number of steps
REACH = 2  # taps per expected step
LATEST = 16  # the ratios hold up to this many times the expected steps
EARLIEST = 1 << 8  # the ratios hold from this step on

_BETAS = 0.75, 1.0, 1.5, 2.0, 3.0
_CS = tuple(math.ldexp(quarter, -power) for power in range(12, 3, -1) for quarter in (4, 5, 6, 7))
_SETTLED = 2.0**-26  # grid to which ratios are rounded; machines differ by 1e-15
_NEAR = 64  # lags that are summed one by one
_SHIFT = 0.5772156649015329 + 2.0 * math.log(2.0)  # H_n - ln n
_SAVED = 0.86  # share of N by which Λ lags behind t / r(1)² after the last tap


@lru_cache(maxsize=64)
def expected_taps(expect: int) -> CountingTaps:
    """The taps for a stream of about `expect` steps.  Cost: milliseconds.

    They are the same on every machine, because c and β are exact binary numbers on a grid, and the
    search rounds ratios before it compares them.

    >>> taps = expected_taps(1 << 20)
    >>> taps.c, taps.beta, taps.support
    (0.0048828125, 3.0, 2097152)
    """
    expect = check.count(expect=expect, most=MOST_TAPS // REACH)
    beta, c = (axis.ravel() for axis in np.meshgrid(_BETAS, _CS, indexing="ij"))
    worst = np.max([ratios(expect, c, beta, t) for t in promised(expect)], axis=0)
    best = int(np.argmin(np.floor(worst / _SETTLED + 0.5)))
    return CountingTaps(float(c[best]), float(beta[best]), REACH * expect)


def promised(expect: int) -> list[int]:
    """The numbers of steps at which the search compares ratios: 16 · expect, halved down to 2^8.

    >>> promised(1024)
    [16384, 8192, 4096, 2048, 1024, 512, 256]
    """
    first = min(EARLIEST, expect)
    steps = [LATEST * expect]
    while steps[-1] >= 2 * first:
        steps.append(steps[-1] // 2)
    return steps


def ratios(expect: int, c: Column, beta: Column, t: int) -> Column:
    """ρ(t) for each c and β, with an error of about 0.01.

    >>> ratios(1 << 20, np.array([1 / 256]), np.array([3.0]), 1 << 20).round(2)
    array([1.02])
    """
    taps = REACH * expect
    squares = _squares(c, beta, min(t, taps))
    if t > taps:
        mean = 1.0 + c * max(math.log(taps) - 2.0 + _SHIFT, 0.0)  # of ℓ, in r(1) = Σ r_n
        squares += (t - _SAVED * taps) * math.pi / (4.0 * taps) * mean ** (2.0 * beta)
    known = _squares(c[:1], 0.0 * beta[:1], t)
    return np.asarray(np.sqrt(_squares(c, -beta, taps) * squares) / known)


def _squares(c: Column, beta: Column, t: int) -> Column:
    """Σ_{n<t} a_n² (1 + c H_n)^2β to first order in c, for each c and β ≠ -½."""
    near = min(t, _NEAR)
    k = np.arange(1.0, near)
    a = np.cumprod(np.append(1.0, 1.0 - 0.5 / k))
    h = np.append(0.0, np.cumsum(1.0 / (k - 0.5)))
    total = (1.0 + np.outer(c, h)) ** (2.0 * beta[:, None]) @ (a * a)
    if t > _NEAR:
        start, end = (math.log(n - 0.25) for n in (_NEAR, t))  # n from 64 - ½ to t - ½, plus ¼
        power = 1.0 + 2.0 * beta
        low, high = (1.0 + c * (u + _SHIFT) for u in (start, end))
        total += (high**power - low**power) / (math.pi * c * power)
    return np.asarray(total)
