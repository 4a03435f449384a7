"""The polylogarithm Li_c(x) = Σ x^n n^-c on the unit circle: the symbol of a power law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column


def over_x(c: float, theta: Column) -> NDArray[np.complex128]:
    """Li_c(x)/x = Σ (k+1)^-c x^k at x = e^iθ, for c > 0 and angles in (0, π].

    The trapezoidal rule in u = log s gives Li_c(x)/x = Γ(c)⁻¹ ∫ s^{c-1} e^-s / (1 - x e^-s) ds.
    The nearest poles are at Im u = ±π/2, so a step h has an error of about |Γ(c + 2πi/h)| / Γ(c),
    which is below 1e-16 for the steps used here.  For c ≥ 8 the series is summed term by term.
    Below s_0 = 1e-20 θ the integrand is an exponential of u, and has a closed sum.

    >>> at_minus_one = over_x(1.0, np.array([np.pi]))  # 1 - 1/2 + 1/3 - ... = ln 2
    >>> print(f"{at_minus_one[0].real:.12f}")
    0.693147180560
    """
    if c >= 8.0:
        terms = np.arange(1.0, 2.0 + 10.0 ** (18.0 / c))
        return np.asarray(np.exp(1j * theta[:, None] * (terms - 1.0)) @ terms**-c)
    step = 0.2 if c <= 4.0 else 0.15
    low, high = math.log(float(np.min(theta))) - 46.0, math.log(50.0 + 8.0 * c)
    u = np.arange(high, low, -step)
    out = np.zeros(len(theta), dtype=np.complex128)
    for part in np.array_split(u, 1 + len(u) // 256):
        density = np.exp(c * part - np.exp(part) - math.lgamma(c))
        out += density @ (-1.0 / np.expm1(1j * theta[None, :] - np.exp(part)[:, None]))
    rest = math.exp(c * float(u[-1]) - math.lgamma(c)) / math.expm1(c * step)
    return np.asarray(step * (out - rest / np.expm1(1j * theta)))
