"""Class F: the decays f for which √g = Σ a_n x^n has no negative coefficient.

For them a_n ≤ f_n / 2 when f_0 = 1 (the proof of Theorem 3), because f_n = 2 a_n + Σ a_i a_{n-i}.

Every log-convex decay belongs to F, for all n: 1/g = 1 - Σ_{k≥1} b_k x^k with b_k ≥ 0 (Kaluza
1928, for f_0 = 1), and √g = (1 - b)^-½ has only positive powers of b with positive coefficients.
So (k + 1)^-c belongs to F for every real c > 0, where the paper has whole c.  A decay that ends
belongs to F only if g is the square of a polynomial without negative coefficients: otherwise √g
has a branch point, for a_n ≥ 0 the nearest one is positive (Pringsheim), and g(x) > 0 there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay import Decay, checked_decay

Verdict = Literal["proven", "refuted", "up to n"]

_EXACT = 64  # coefficients whose signs are decided in exact arithmetic


@dataclass(frozen=True)
class Membership:
    """Whether a decay belongs to F, and why.

    * "proven": a_k ≥ 0 for every k;
    * "refuted": a_index = value < 0;
    * "up to n": a_k ≥ 0 for every k < n, as surely as `reason` says, and nothing is claimed beyond.
    """

    verdict: Verdict
    n: int
    reason: str
    index: int | None = None
    value: float | None = None

    @property
    def holds_up_to_n(self) -> bool:
        """a_0, ..., a_{n-1} ≥ 0."""
        return self.verdict != "refuted"


def membership(decay: Decay, n: int) -> Membership:
    """The decay's membership in F, judged by a_0, ..., a_{n-1} where it is not proven for all n.

    What is certain: "proven", for the law itself, by the decay's own `log_convex`.  For the weights
    as they are in float64: the signs of the first 64 coefficients, computed in integers; and later
    signs as far as `enclosed_root` bounds the rounding errors, to first order and doubled.  A
    later coefficient that is smaller than its bound counts as 0; `reason` says how many did.

    Cost: milliseconds for the integers, a second if the weights range over hundreds of decimal
    orders; then O(n²) until a coefficient is negative, 0.1 s at n = 2^12 and 10 s at 2^16.

    >>> from hushfade.decay import PowerLaw, SlidingWindow
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
    """The coefficients of √f by Remark 12's recurrence, and bounds on their rounding errors.

    The computed a is the exact root of f + e with |e_k| ≤ (k + 4) u Σ_i |a_i a_{k-i}|, u = 2^-53,
    and what underflows.  So √f - a = -e/(2a) to first order, and |e| * |1/a|, a product of series,
    bounds it with a factor 2 for the rest.  Coefficients that are 0 come out as 0, which an FFT
    does not do.  Cost: O(n²); `power_series.square_root` has the coefficients alone in O(n log n).

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

    In integers: let f_k = m_k/unit and A_k = (4 m_0)^k a_k/√f_0.  A_k is an even integer for k > 0,
    because C(½, j) 4^j is one for j > 0, and 2 A_k = 4 m_k (4 m_0)^(k-1) - Σ A_i A_{k-i}.
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
