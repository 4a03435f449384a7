"""Probabilities and moments of the noise laws, computed from closed forms.

The sampler builds its tables from integers and decimals, and the accountant uses `laws`.  The
formulas here share no code with either, so the audit compares independent computations.

    h(x) = -ln p(x) up to a constant
    Gaussian    x²/(2σ²)
    Laplace     slope |x|                                      on the integers
    Huber       slope x²/(2 core) for |x| ≤ core, slope (|x| - core/2) beyond
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from hushfade.check import Column, Signed
from hushfade.errors import InvalidType
from hushfade.laws import Gaussian, Huber, Laplace, Law

_SUMMED = 1 << 14  # the largest standard deviation whose moments are sums over the integers
_REACH = 70.0  # standard deviations, beyond which every law has a probability below 1e-40
_NODES = 400  # of Gauss-Legendre quadrature, for each smooth piece
_HALF_ROOT = math.sqrt(math.pi / 2.0)


def described(law: Law) -> str:
    """A short description of the law with its parameters.

    >>> described(Laplace(slope=0.001))
    'Laplace, slope 0.001'
    """
    match law:
        case Gaussian():
            return f"σ = {law.sigma:.6g}"
        case Laplace():
            return f"Laplace, slope {law.slope:.6g}"
        case Huber():
            return f"Huber, slope {law.slope:.6g}, core {law.core}"
        case _:
            raise InvalidType("law must be Gaussian, Laplace or Huber", got=type(law).__name__)


def formula(law: Law) -> str:
    """The name of the law in the claims of the audit."""
    if isinstance(law, Gaussian):
        return "round(N(0, σ²))"
    return "the two-sided geometric law" if isinstance(law, Laplace) else "Huber's rounded law"


def energy(law: Law, x: Column | Signed) -> Column:
    """h(x)."""
    size = np.abs(np.asarray(x, dtype=np.float64))
    match law:
        case Gaussian():
            return np.asarray(0.5 * (size / law.sigma) ** 2)
        case Laplace():
            return np.asarray(law.slope * size)
        case Huber():
            inner = np.minimum(size, law.core)
            return np.asarray(law.slope * (inner * inner / (2.0 * law.core) + size - inner))
        case _:
            raise InvalidType("law must be Gaussian, Laplace or Huber", got=type(law).__name__)


def beyond(law: Law, m: Column | Signed) -> Column:
    """P[z ≥ m] for integers m ≥ 1, with a small relative error also far out in the tail.

    >>> beyond(Laplace(slope=math.log(2)), np.array([1, 2])).round(6)  # ⅓, ⅙
    array([0.333333, 0.166667])
    """
    from scipy.special import erfc

    m = np.asarray(m, dtype=np.float64)
    match law:
        case Gaussian():
            return np.asarray(0.5 * erfc((m - 0.5) / (law.sigma * math.sqrt(2.0))))
        case Laplace():
            return np.asarray(np.exp(-law.slope * m) / (1.0 + math.exp(-law.slope)))
        case Huber():
            x, core, width = m - 0.5, float(law.core), math.sqrt(2.0 * law.core / law.slope)
            tail = math.exp(-law.slope * core / 2.0) / law.slope
            half = _HALF_ROOT / math.sqrt(2.0) * width
            inner = half * (erfc(np.minimum(x, core) / width) - erfc(core / width))
            outer = np.exp(-law.slope * np.maximum(x - core, 0.0)) * tail
            return np.asarray(np.where(x < core, inner + tail, outer) / _half_mass(law))
        case _:
            raise InvalidType("law must be Gaussian, Laplace or Huber", got=type(law).__name__)


def cumulative(law: Law, edges: Signed) -> tuple[Column, Column]:
    """P[z ≤ e] and P[z > e] for integers e, each with a small relative error where it is small."""
    below = beyond(law, np.maximum(-edges, 1))
    above = beyond(law, np.maximum(edges + 1, 1))
    return np.where(edges < 0, below, 1.0 - above), np.where(edges < 0, 1.0 - below, above)


def quantiles(law: Law, shares: Column) -> Signed:
    """The smallest m ≥ 1 with P[z ≥ m] ≤ share, for shares below one half."""
    low = np.zeros(len(shares), dtype=np.int64)
    high = np.full(len(shares), _farthest(law), dtype=np.int64)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        small = beyond(law, np.maximum(middle, 1)) <= shares
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    return np.maximum(high, 1)


def nonzero(law: Law) -> float:
    """P[z ≠ 0]."""
    return 2.0 * float(beyond(law, np.array([1]))[0])


def expected(law: Law, value: Callable[[Column], Column]) -> float:
    """E value(|z|).

    For small scales it is the sum over all integers.  For large scales it is the integral over the
    density, with a relative difference of about 1/scale².
    """
    x, p = points(law)
    return float(np.sum(p * value(x)))


@lru_cache(maxsize=32)
def points(law: Law) -> tuple[Column, Column]:
    """Values of |z| and their probabilities (quadrature nodes for large scales)."""
    if law.stddev <= _SUMMED:
        m = np.arange(1, _farthest(law))
        tail = 2.0 * beyond(law, m)
        mass = tail - np.append(tail[1:], 0.0)
        return np.append(0.0, m), np.append(1.0 - tail[0], mass)
    x, weights = nodes(law)
    mass = weights * np.exp(-energy(law, x))
    return x, mass / np.sum(mass)


def nodes(law: Law) -> tuple[Column, Column]:
    """Nodes and weights of quadrature on [0, ∞), split at the end of the core."""
    unit, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = [0.0, 8.0 * law.stddev, _REACH * law.stddev]
    if isinstance(law, Huber):
        ends = [0.0, float(law.core), *(law.core + far / law.slope for far in (8.0, 60.0))]
    pieces = list(pairwise(ends))
    x = np.concatenate([a + (b - a) * (unit + 1.0) / 2.0 for a, b in pieces])
    return x, np.concatenate([(b - a) / 2.0 * weights for a, b in pieces])


def variance(law: Law) -> float:
    """E z²; rounding adds 1/12 to the variance of a continuous law with a large scale."""
    rounding = 0.0 if law.stddev <= _SUMMED or isinstance(law, Laplace) else 1.0 / 12.0
    return expected(law, np.square) + rounding


@lru_cache(maxsize=32)
def energy_moments(law: Law) -> tuple[float, float]:
    """The mean and the variance of h(z)."""
    mean = expected(law, lambda x: energy(law, x))
    return mean, expected(law, lambda x: (energy(law, x) - mean) ** 2)


@lru_cache(maxsize=32)
def coincidence(law: Law) -> float:
    """Σ P[z]²: the probability that two draws are equal."""
    if law.stddev <= _SUMMED:
        _, mass = points(law)
        return float(mass[0] ** 2 + np.sum(mass[1:] ** 2) / 2.0)
    x, weights = nodes(law)
    density = np.exp(-energy(law, x))
    return float(np.sum(weights * density**2) / (2.0 * np.sum(weights * density) ** 2))


def _farthest(law: Law) -> int:
    """A magnitude with a negligible probability beyond it."""
    return math.ceil(_REACH * max(law.stddev, 1.0)) + 2


def _half_mass(law: Huber) -> float:
    """∫_0^∞ e^(-h)."""
    width = math.sqrt(law.core / law.slope)
    inner = _HALF_ROOT * width * math.erf(law.core / (width * math.sqrt(2.0)))
    return 2.0 * (inner + math.exp(-law.slope * law.core / 2.0) / law.slope)
