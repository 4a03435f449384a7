"""Class F: the decays f for which √g = Σ a_n x^n has no negative coefficient.

If f is in F and f_0 = 1, then a_n ≤ f_n / 2, because f_n = 2 a_n + Σ a_i a_{n-i} (the proof of
Theorem 3).

Every log-convex decay belongs to F, for all n: 1/g = 1 - b with b = Σ_{k≥1} b_k x^k, b_k ≥ 0
(Kaluza 1928, for f_0 = 1), and √g = (1 - b)^-½ is a power series in b with positive coefficients.
So (k + 1)^-c belongs to F for every real c > 0; the paper states it for integer c.  A decay with
finitely many weights belongs to F only if g is the square of a polynomial without negative
coefficients.  Otherwise √g has a branch point.  If all a_n ≥ 0, the nearest branch point is
positive (Pringsheim), but g(x) > 0 there, a contradiction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decays import Decay, checked_decay

Verdict = Literal["proven", "refuted", "up to n"]

_EXACT = 64  # coefficients whose signs are decided in exact arithmetic


@dataclass(frozen=True)
class Membership:
    """Whether a decay belongs to F, and why.

    * "proven": a_k ≥ 0 for every k;
    * "refuted": a_index = value < 0;
    * "up to n": a_k ≥ 0 for every k < n, with the certainty that `reason` states; nothing is
      claimed for larger k.
    """

    verdict: Verdict
    n: int
    reason: str
    index: int | None = None
    value: float | None = None


def membership(decay: Decay, n: int) -> Membership:
    """The decay's membership in F, decided by a_0, ..., a_{n-1} unless it is proven for all n.

    "proven" refers to the exact weights and relies on the decay's property `log_convex`.  The
    other verdicts refer to the weights in float64.  The signs of the first 64 coefficients are
    computed in integers.  Later signs are as certain as the bounds of `enclosed_root` on the
    rounding errors, which are first-order bounds times two.  A later coefficient that is smaller
    than its bound counts as 0; `reason` states how many did.

    Cost: milliseconds for the integers, or one second if the weights range over hundreds of
    orders of magnitude; then O(n²) until a coefficient is negative, 0.1 s at n = 2^12 and 10 s at
    2^16.

    >>> from hushfade.decays import PowerLaw, SlidingWindow
    >>> membership(PowerLaw(power=0.3), 1000).verdict
    'proven'
    >>> membership(SlidingWindow(length=2), 1000).reason
    'a_2 = -0.125 < 0, exactly'
    """
    n = check.count(n=n)
    checked_decay(decay)
    if decay.log_convex:
        reason = "f is log-convex, so a_k ≥ 0 for every k (Kaluza 1928)"
        return Membership("proven", n, reason)
    f = decay.weights(n)
    exact = min(n, _EXACT)
    if found := _first_negative(f[:exact]):
        k, value = found
        return Membership("refuted", n, f"a_{k} = {value:.6g} < 0, exactly", k, value)
    known, doubtful = exact, 0
    while known < n:  # by doubling: the first negative coefficient may come early
        size = min(2 * known, n)
        a, error = enclosed_root(f[:size])
        negative = np.flatnonzero(a[known:] < -error[known:]) + known
        if negative.size:
            k, value = int(negative[0]), float(a[negative[0]])
            reason = f"a_{k} = {value:.6g} < 0, with an error below {error[k]:.1g}"
            return Membership("refuted", n, reason, k, value)
        doubtful += int(np.count_nonzero(~(a[known:] > error[known:])))
        known = size
    if n == exact:
        how = "exactly"
    elif doubtful:
        how = (
            f"the first {exact} exactly; {doubtful} of the others are smaller than their error "
            "bound and count as 0"
        )
    else:
        how = f"the first {exact} exactly, the others by more than their error bound"
    return Membership("up to n", n, f"a_k ≥ 0 for k < {n}, {how}")


def enclosed_root(f: Column) -> tuple[Column, Column]:
    """The coefficients of √f by the recurrence of Remark 12, and bounds on their rounding errors.

    The computed a is the exact root of f + e with |e_k| ≤ (k + 4) u Σ_i |a_i a_{k-i}|, u = 2^-53,
    plus an allowance for underflow.  So √f - a = -e/(2a) to first order, and |e| * |1/a|, a product
    of series, bounds the error with a factor of 2 for higher orders.  Coefficients that are 0 are
    computed as 0, unlike with an FFT.  Cost: O(n²); `power_series.square_root` computes only the
    coefficients, in O(n log n).

    >>> a, error = enclosed_root([1.0, 1.0, 1.0])
    >>> a, bool(error.max() < 1e-14)
    (array([1.   , 0.5  , 0.375]), True)
    """
    f = check.positive_start(f=f)
    n = len(f)
    a, y = np.zeros(n), np.zeros(n)  # y = 1/a
    a[0] = math.sqrt(f[0])
    y[0] = 1 / a[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, n):
            a[k] = (f[k] - a[1:k] @ a[k - 1 : 0 : -1]) / (2 * a[0])
            y[k] = -(y[:k] @ a[k:0:-1]) / a[0]
        terms = np.convolve(np.abs(a), np.abs(a))[:n]
        missed = (np.arange(n) + 4) * 2.0**-53 * terms + (1 + a[0]) * 2.0**-1022
        return a, np.convolve(np.abs(y), missed)[:n]


def _first_negative(f: Column) -> tuple[int, float] | None:
    """The first k with a_k < 0, and a_k: 2 a_0 a_k = f_k - Σ_{0<i<k} a_i a_{k-i} (Remark 12).

    The code uses integers.  Let f_k = m_k/unit and A_k = (4 m_0)^k a_k/√f_0.  A_k is an even
    integer for k > 0, because C(½, j) 4^j is an even integer for j > 0, and
    2 A_k = 4 m_k (4 m_0)^(k-1) - Σ A_i A_{k-i}.
    """
    ratios = [float(weight).as_integer_ratio() for weight in f]
    unit = max(denominator for _, denominator in ratios)
    m = [numerator * (unit // denominator) for numerator, denominator in ratios]
    common = math.gcd(*m)
    base = 4 * (m[0] // common)
    A, scale = [1], 1  # scale = base^(k-1)
    for k in range(1, len(m)):
        known = sum(A[i] * A[k - i] for i in range(1, k))
        A.append((4 * (m[k] // common) * scale - known) // 2)
        scale *= base
        if A[k] < 0:
            try:
                return k, min(A[k] / scale * math.sqrt(f[0]), -math.ulp(0.0))  # never -0.0
            except OverflowError:
                return k, -math.inf
    return None
