"""Bounds on γ2 of the named decays: power laws, exponentials, counting, sliding windows.

    power law     f_k = (k+1)^-c    power_sum, power_zeta, power_closed      Theorem 3, Theorem 20
    exponential   f_k = α^-k        exponential_sum, exponential_closed,     Theorem 4, Claim 14
                                    exponential_logarithm, exponential_elliptic
    no decay      f_k = 1           counting_sum, mathias_lower, mathias_upper
    window        f_k = 1 (k < w)   window_blocks                            Theorem 7

T = n is the number of steps.  Functions without the argument n return bounds for every n.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.mechanism import of_kind
from hushfade.baselines.window_blocks import block_rows
from hushfade.decays import Decay, Exponential, PowerLaw, SlidingWindow
from hushfade.errors import InvalidValue
from hushfade.theory.bound_values import Bound


def power_sum(decay: Decay, n: int) -> Bound:
    """γ2 ≤ 1 + (H - 1)/4 with H = Σ_{k=1}^{T} k^-2c, for any real power c > 0.

    >>> power_sum(PowerLaw(power=1), 2).value  # 1 + (1/4)/4
    1.0625
    """
    c = of_kind(decay, PowerLaw).power
    later = np.arange(2, check.count(n=n) + 1, dtype=np.float64)
    return _upper(
        1.0 + float(np.sum(later ** (-2.0 * c))) / 4.0,
        "generalised harmonic sum",
        "Theorem 3",
        "the sum stops at T - 1, which would give gamma2 <= 1 at T = 2",
    )


def power_zeta(decay: Decay) -> Bound:
    """γ2 ≤ 1 + (ζ(2c) - 1)/4 for every n; requires c > 1/2, so that the sum converges.

    >>> round(power_zeta(PowerLaw(power=1)).value, 6)  # 1 + (π²/6 - 1)/4
    1.161234
    """
    from scipy.special import zeta

    c = of_kind(decay, PowerLaw).power
    if not c > 0.5:
        raise InvalidValue("must be > 0.5 for the zeta form", argument="power", got=repr(c))
    return _upper(1.0 + float(zeta(2.0 * c, 2.0)) / 4.0, "zeta function", "Theorem 3")


def power_closed(decay: Decay, n: int) -> Bound:
    """γ2 ≤ 1 + (1 - T^(1-2c)) / (4(2c-1)), and 1 + ln(T)/4 at c = 1/2, for any c > 0.

    Σ_{k=2}^{T} k^-2c ≤ ∫_1^T x^-2c dx = ln(T) (e^y - 1)/y with y = (1-2c) ln T.

    >>> power_closed(PowerLaw(power=1), 2).value  # 1 + (1 - 1/2)/4
    1.125
    """
    from scipy.special import exprel

    c = of_kind(decay, PowerLaw).power
    log = math.log(check.count(n=n))
    return _upper(
        1.0 + log * float(exprel((1.0 - 2.0 * c) * log)) / 4.0,
        "integral of the power",
        "Theorem 20",
        "9/8 - 1/(4(T+1)) at c = 1 (Theorem 19), which the sum exceeds",
    )


def exponential_sum(decay: Decay, n: int) -> Bound:
    """γ2 ≤ 1 + S/π with S = Σ_{k=1}^{T-1} q^k/k and q = α^-2, because a_k² ≤ q^k/(πk).

    >>> value = exponential_sum(Exponential.from_alpha(2), 2).value
    >>> round(value, 12) == round(1 + 0.25 / math.pi, 12)
    True
    """
    x = of_kind(decay, Exponential).weights(check.count(n=n))[1:]
    s = float(np.sum(x * x / np.arange(1, n)))
    correction = "f(n) = α^-n instead of α^-(n-1)"
    return _upper(1.0 + s / math.pi, "exponential sum", "Theorem 4", correction)


def exponential_closed(decay: Decay, n: int) -> Bound:
    """γ2 ≤ 1 + (q/(1-q)² - q^T/(T(1-q)))/π with q = α^-2: the paper's closed form.

    It is true, although its proof is wrong.  It is very loose for slow decays; use
    `exponential_logarithm` instead.

    >>> value = exponential_closed(Exponential.from_alpha(2), 1).value  # (1/4)/(9/16) - (1/4)/(3/4)
    >>> round(value, 12) == round(1 + 1 / 9 / math.pi, 12)
    True
    """
    rate, t = _rate(decay), check.count(n=n)
    q, rest = math.exp(-rate), -math.expm1(-rate)
    s = q / rest / rest - math.exp(-rate * t) / t / rest
    return _upper(1.0 + s / math.pi, "closed form of the exponential sum", "Claim 14")


def exponential_logarithm(decay: Decay) -> Bound:
    """γ2 ≤ 1 + ln(1/(1-q))/π with q = α^-2, for every n: the exponential sum over all k.

    >>> value = exponential_logarithm(Exponential.from_alpha(2)).value
    >>> round(value, 12) == round(1 + math.log(4 / 3) / math.pi, 12)
    True
    """
    s = -math.log(-math.expm1(-_rate(decay)))
    return _upper(1.0 + s / math.pi, "logarithm of the exponential sum", "Claim 14, sharpened")


def exponential_elliptic(decay: Decay) -> Bound:
    """γ2 ≤ Σ a_k² = (2/π) K(modulus 1/α) for every n: the limit of γ2.

    a_k = α^-k C(2k,k)/4^k; the squares are the terms of the complete elliptic integral's series.

    >>> round(exponential_elliptic(Exponential.from_alpha(2)).value, 5)
    1.07318
    """
    from scipy.special import ellipkm1

    value = 2.0 / math.pi * float(ellipkm1(-math.expm1(-_rate(decay))))
    return _upper(value, "elliptic integral", "beyond Theorem 4")


def counting_sum(n: int) -> Bound:
    """γ2 ≤ 1 + H_{T-1}/π for counting.

    >>> value = counting_sum(3).value
    >>> round(value, 12) == round(1 + 1.5 / math.pi, 12)
    True
    """
    s = float(np.sum(1.0 / np.arange(1, check.count(n=n))))
    return _upper(1.0 + s / math.pi, "harmonic sum", "Theorem 4, α = 1")


def mathias_lower(n: int) -> Bound:
    """γ2 ≥ (1/2 + 1/(2T)) γ̂ for counting, with γ̂ = T⁻¹ Σ_{j=1}^{T} csc((2j-1)π/2T).

    >>> round(mathias_lower(2).value, 6)  # (3/4) √2
    1.06066
    """
    value = (0.5 + 0.5 / check.count(n=n)) * _mean_cosecant(n)
    return Bound(value, "lower", "gamma2", "mean cosecant", "Mathias 1993", _FOOTNOTE)


def mathias_upper(n: int) -> Bound:
    """γ2 ≤ 1/2 + γ̂/2 for counting, with γ̂ as in `mathias_lower`.

    >>> round(mathias_upper(2).value, 6)  # 1/2 + √2/2
    1.207107
    """
    value = 0.5 + _mean_cosecant(check.count(n=n)) / 2.0
    return _upper(value, "mean cosecant", "Mathias 1993", _FOOTNOTE)


def window_blocks(decay: Decay, n: int) -> Bound:
    """γ2 ≤ √(S · max_j(‖ℓ_j‖² + ‖ℓ_w - ℓ_j‖²)): the paper's block construction, corrected.

    Blocks of w steps are counted by L_1², where L_1 is the square root for counting with rows ℓ_j,
    and S = ‖ℓ_w‖².  Position j of a later block publishes
    u[t] + u[end of the previous block] - u[t-w].  ‖ℓ_w - ℓ_j‖² = S + ‖ℓ_j‖² - 2 Σ_m r_m r_{m+w-j}
    takes one FFT product, O(w log w).  For n ≤ w only the first block is used.

    >>> round(window_blocks(SlidingWindow(length=16), 64).value, 3)
    2.891
    """
    w = of_kind(decay, SlidingWindow).window
    _, first, after = block_rows(min(check.count(n=n), w))
    later = min(n - w, w)
    variance = float(first[-1])
    if later > 0:
        variance = max(variance, float(np.max(after[:later])))
    return _upper(
        math.sqrt(float(first[-1]) * variance),
        "blocks of counts",
        "Theorem 7",
        "√2 (1 + ln(w)/π + 2/w), for the output u[t] - u[t-w], which is not the window's sum",
    )


_FOOTNOTE = "1/(2T) + ln(T)/π and 1/2 + ln(T)/π; the upper bound would be 0.72 at T = 2"


def _mean_cosecant(n: int) -> float:
    odd = np.arange(1, 2 * n, 2, dtype=np.float64)
    return float(np.mean(1.0 / np.sin(odd * (math.pi / (2 * n)))))


def _rate(decay: Decay) -> float:
    """ln α², which gives q = α^-2 = e^-rate, and 1 - q without cancellation."""
    return 2.0 * of_kind(decay, Exponential).rate


def _upper(value: float, name: str, where: str, correction: str = "") -> Bound:
    return Bound(value, "upper", "gamma2", name, where, correction)
