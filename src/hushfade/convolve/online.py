"""Any taps, online: products of doubling length, O(log² t) a step, with the whole past in reach.

A pair (x_i, v_t), i < t, whose step numbers first differ in bit k, meets in the product that is
made before step T, the multiple of m = 2^k between them:

    out[T : T+m] += (x[T-m : T] * c[0 : 2m])[m : 2m]

Products beyond the taps' length need no more than that length.  Within a block of 2^5 steps, and in
short products, sums are written out.  What is to come is kept until its step, so that the order of
operations depends on the step number alone: no grouping into calls changes a bit, and in floats
nothing drifts, since every product starts from x itself.

Integers: number theoretic transforms modulo two primes, exact while |v| < 2^59.
Floats: Fourier transforms; the error is relative to the largest terms of each product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Column, Signed
from hushfade.compiled import compiled
from hushfade.convolve import BLOCK, Remembering
from hushfade.errors import InvalidValue

_SHORT = 4 * BLOCK  # products of this length are written out
_LONGEST = 1 << 22
_P, _Q = 998244353, 2013265921  # 1 + 119 · 2^23 and 1 + 15 · 2^27: 2^23 divides both orders
_P_ROOT, _Q_ROOT = 3, 31
_INVERSE = pow(_P, -1, _Q)


class Online(Remembering):
    """v = c x for any taps c, integers or floats, then zeros.

    >>> Online(np.array([2, 1, 1])).push_many([1, 0, 0, 10])
    array([ 2,  1,  1, 20])
    """

    divides = False

    def __init__(self, taps: Signed | Column, lanes: int = 1) -> None:
        found = np.asarray(taps)
        exact = found.dtype.kind in "iu" and not self.divides
        if not exact:
            found = check.coefficients(taps=found)
        if found.ndim != 1 or not 1 <= len(found) <= _LONGEST:
            raise InvalidValue("taps must be a column of 1 to 2^22", got=f"shape {found.shape}")
        if self.divides and not found[0] != 0:
            raise InvalidValue("taps must start with a tap != 0", got=found[0])
        self.kind = np.int64 if exact else np.float64
        reach = max(1 << (len(found) - 1).bit_length(), BLOCK)
        self._taps = np.zeros(2 * reach, dtype=self.kind)
        self._taps[: len(found)] = found
        if exact:
            self.largest = 2.0**59 // max(float(np.sum(np.abs(found.astype(np.float64)))), 1.0)
        self._past = np.zeros((lanes, reach), dtype=self.kind)
        self._to_come = np.zeros((lanes, reach), dtype=self.kind)
        self._transforms = [
            _transformed(self._taps[: 2 << k])
            for k in range(_SHORT.bit_length(), reach.bit_length())
        ]
        super().__init__(lanes, self._past, self._to_come)

    def _advance(self, step: int, x: NDArray[Any], out: NDArray[Any]) -> None:
        start, reach = 0, self._past.shape[1]
        while start < len(x):
            t = step + start
            if t % BLOCK == 0 and t > 0:
                self._meet(t, min(t & -t, reach))
            n = min(BLOCK - t % BLOCK, len(x) - start)
            part = slice(start, start + n)
            _near(t, x[part], self.divides, self._taps, self._past, self._to_come, out[part])
            start += n

    def _meet(self, t: int, m: int) -> None:
        """The product of the last m x with the first 2m taps, before step t."""
        if m <= _SHORT:
            _written_out(t, m, self._taps, self._past, self._to_come)
            return
        transform = self._transforms[m.bit_length() - 1 - _SHORT.bit_length()]
        for past, to_come in zip(self._past, self._to_come, strict=True):
            rows = np.arange(t - m, t) % len(past)
            found = _product(past[rows], transform)
            to_come[(rows + m) % len(past)] += found


class OnlineInverse(Online):
    """u = y / c for any taps c with c_0 ≠ 0: floats; requires that 1/c is bounded.

    >>> OnlineInverse(np.array([2, 1, 1])).push_many([2, 1, 1, 20])
    array([ 1.,  0.,  0., 10.])
    """

    divides = True


@compiled
def _near(t: int, x: Any, divides: bool, taps: Any, past: Any, to_come: Any, out: Any) -> None:
    """Steps within one block: what was to come, and the block's own terms by rising lag."""
    reach, first = past.shape[1], t - t % BLOCK
    for i in range(x.shape[0]):
        here = (t + i) % reach
        for lane in range(x.shape[1]):
            total = to_come[lane, here]
            to_come[lane, here] = 0
            for k in range(1, t + i - first + 1):
                total += taps[k] * past[lane, (t + i - k) % reach]
            if divides:
                past[lane, here] = (x[i, lane] - total) / taps[0]
                out[i, lane] = past[lane, here]
            else:
                past[lane, here] = x[i, lane]
                out[i, lane] = total + taps[0] * x[i, lane]


@compiled
def _written_out(t: int, m: int, taps: Any, past: Any, to_come: Any) -> None:
    reach = past.shape[1]
    for lane in range(past.shape[0]):
        for k in range(m):
            total = to_come[lane, (t + k) % reach]
            for j in range(1, m + 1):
                total += taps[k + j] * past[lane, (t - j) % reach]
            to_come[lane, (t + k) % reach] = total


# Products --------------------------------------------------------------------------------------


def _transformed(taps: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The transforms of 2m taps: modulo both primes, or Fourier."""
    if taps.dtype != np.int64:
        from scipy import fft

        return (fft.rfft(taps),)
    return tuple(
        _transform(taps % p, _powers(root, len(taps), p), p)
        for p, root in ((_P, _P_ROOT), (_Q, _Q_ROOT))
    )


def _product(x: NDArray[Any], taps: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """(x * c)[m : 2m] for m terms of x and the transforms of 2m taps."""
    m = len(x)
    if x.dtype != np.int64:
        from scipy import fft

        return np.asarray(fft.irfft(fft.rfft(x, 2 * m) * taps[0], 2 * m)[m:])
    padded = np.concatenate([x, np.zeros(m, dtype=np.int64)])
    parts = []
    for c, p, root in zip(taps, (_P, _Q), (_P_ROOT, _Q_ROOT), strict=True):
        found = _transform(padded % p, _powers(root, 2 * m, p), p) * c % p
        back = _transform_back(found, _powers(pow(root, -1, p), 2 * m, p), p)
        parts.append(back * pow(2 * m, -1, p) % p)
    low, high = parts
    # the number mod P·Q that both name, nearest to 0
    units = (high - low) % _Q * _INVERSE % _Q
    units -= (units > _Q // 2) * _Q
    whole: Signed = low + _P * units
    return whole[m:]


_known_powers: dict[tuple[int, int, int], Signed] = {}


def _powers(root: int, length: int, p: int) -> Signed:
    """w^0, w^1, ..., half of the powers of a root of unity of that order."""
    if (root, length, p) not in _known_powers:
        w = np.ones(length // 2, dtype=np.int64)
        base, done = pow(root, (p - 1) // length, p), 1
        while done < len(w):
            w[done : 2 * done] = w[:done] * pow(base, done, p) % p
            done *= 2
        _known_powers[root, length, p] = w
    return _known_powers[root, length, p]


@compiled
def _transform(values: Signed, powers: Signed, p: int) -> Signed:
    """Σ_j values_j w^jk, in the order of reversed bits: halves, then their halves."""
    a, n = values.copy(), len(values)
    half, stride = n // 2, 1
    while half:
        for start in range(0, n, 2 * half):
            for k in range(half):
                u, v = a[start + k], a[start + half + k]
                total = u + v
                a[start + k] = total - p if total >= p else total
                a[start + half + k] = (u - v + p) * powers[k * stride] % p
        half //= 2
        stride *= 2
    return a


@compiled
def _transform_back(values: Signed, powers: Signed, p: int) -> Signed:
    """The inverse of `_transform`, but for the factor 1/n; `powers` are those of 1/w."""
    a, n = values.copy(), len(values)
    half, stride = 1, n // 2
    while half < n:
        for start in range(0, n, 2 * half):
            for k in range(half):
                u, v = a[start + k], a[start + half + k] * powers[k * stride] % p
                total = u + v
                a[start + k] = total - p if total >= p else total
                a[start + half + k] = u - v + p if u < v else u - v
        half *= 2
        stride //= 2
    return a
