"""A compiled loop for quotients f / r of power series, where r consists of few constant pieces.

Imported only when used, because it loads numba.  The order of the operations is fixed, so the
result has the same bits on every machine.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled

_SHORT = 16  # smaller lags act within a block and on the next one, as one matrix
_BLOCKS = (_SHORT, 128, 1024, 8192)  # sizes, powers of two: a term is applied to a block at once


def divided(f: Column, lags: Signed, terms: Column) -> Column:
    """The first len(f) coefficients of (1 - x) f / p, for p with these terms, the first at lag 0.

    q_t = (f_t - f_{t-1} - Σ_{lag>0} p_lag q_{t-lag}) / p_0.  Cost: one multiply-add per term of p
    and coefficient, and 32 more per coefficient for all terms with small lags together.

    >>> divided(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1]), np.array([1.0, -0.5]))
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    n = len(f)
    q = np.empty(n + -n % _SHORT)
    q[0] = f[0]
    np.subtract(f[1:], f[:-1], out=q[1:n])
    q[n:] = 0.0
    near = np.zeros(_SHORT)
    near[lags[lags < _SHORT]] = terms[lags < _SHORT]
    far = (lags >= _SHORT) & (lags < n)
    levels = np.searchsorted(lags[far], [*_BLOCKS, n])
    _divide(q, _short_division(near), lags[far], terms[far], levels, np.array(_BLOCKS))
    return q[:n]


@compiled
def _short_division(p: Column) -> Matrix:
    """The quotient of a block as a linear map: of the block before it, then of the block's own f.

    Row k has the contribution of coefficient k.
    """
    size = len(p)
    rows = np.zeros((2 * size, size))
    own = rows[size:]
    for k in range(size):
        for i in range(k, size):
            total = 1.0 if i == k else 0.0
            for lag in range(1, i - k + 1):
                total -= p[lag] * own[k, i - lag]
            own[k, i] = total / p[0]
    for k in range(size):
        for j in range(k):  # coefficient j lacks p_lag times coefficient k of the block before it
            for i in range(size):
                rows[k, i] -= p[size + j - k] * own[j, i]
    return rows


@compiled
def _divide(
    q: Column, short: Matrix, lags: Signed, terms: Column, levels: Signed, blocks: Signed
) -> None:
    """Replace f in `q` by the quotient, from the first coefficient to the last.

    At the start of a block of each size, the terms whose lags reach beyond the block are applied to
    the whole block: all coefficients that they multiply are known.
    """
    given, found = np.zeros(2 * _SHORT), np.empty(_SHORT)
    for start in range(0, len(q), _SHORT):
        for level in range(len(blocks)):
            if start & (blocks[level] - 1) == 0:
                end = min(start + blocks[level], len(q))
                for j in range(levels[level], levels[level + 1]):
                    first = max(start, lags[j])
                    to, by, term = q[first:end], q[first - lags[j] : end - lags[j]], terms[j]
                    for i in range(len(to)):
                        to[i] -= term * by[i]
        here = q[start : start + _SHORT]
        for i in range(_SHORT):
            given[_SHORT + i] = here[i]
            found[i] = 0.0
        for k in range(2 * _SHORT):
            for i in range(_SHORT):
                found[i] += short[k, i] * given[k]
        for i in range(_SHORT):
            here[i] = given[i] = found[i]
