"""The mean of |g| over the unit circle: the limit of γ2(M), and the energy of the square root.

By Bennett's theorem on Toeplitz Schur multipliers (1977), γ2(M) rises to (1/2π) ∫ |g(e^iθ)| dθ as
the number of steps grows.  So no factorization has a smaller error in the long run.  If √g is
analytic in the disk, this equals (1/2π) ∫ |√g|² = Σ a_n² by Parseval, the error factor of the
square root mechanism without a horizon.  So the square root is optimal in the limit.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade.check import Column
from hushfade.errors import Diverges

if TYPE_CHECKING:
    from hushfade.decays import Decay

_PANELS = 1 << 14  # more rough panels than this are due to rounding noise
_DEPTHS = 55, 110, 1000  # octaves of θ; π 2^-1000 is still a normal float64
_LONG = 256  # the least length of a window whose closed form is exact
_LOGARITHMS = 0.23890689383670555  # Σ_m ln m / (4m² - 1)
_WIDTH, _WIDER = 2.5, 1.3  # octaves of the first panel, and the growth factor of the next ones


class Energy(NamedTuple):
    """An integral over the circle and an estimate of its absolute error."""

    value: float
    error: float


def energy(decay: Decay) -> Energy:
    """Σ a_n² over all coefficients of the decay's square root.

    >>> from hushfade.decays import SlidingWindow
    >>> round(energy(SlidingWindow(length=2)).value, 12)  # 4/π
    1.273239544735
    """
    if not decay.horizon_free:
        raise Diverges(f"the sum of a_n² over all n is not known to be finite for {decay!r}")
    return mean_size(decay)


@lru_cache(maxsize=64)
def mean_size(decay: Decay) -> Energy:
    """(1/2π) ∫ |g(e^iθ)| dθ, the limit of γ2.

    The Gauss-Legendre rule in u = ln θ runs from π toward the singularity at θ = 0.  Panels end at
    the decay's knots, and are bisected if two orders disagree.  Below the last octave |g| is a
    power of θ.  Raises Diverges if this power is -1, because some weight never fades.  Long windows
    have a closed form.  Cost: milliseconds; tens of milliseconds for power laws.
    """
    if decay.window is not None and decay.window >= _LONG:
        return _long_window(decay.window)
    for octaves in _DEPTHS:
        tail = _tail(decay, octaves)
        if not tail.error > 1e-14:
            break
    if tail.error == math.inf:
        raise Diverges(f"the mean of |g| over the circle is infinite for {decay!r}")
    widths = _WIDTH * _WIDER ** np.arange(octaves / _WIDTH)
    panels = np.minimum(np.append(0.0, np.cumsum(widths)), octaves)
    edges = np.append(math.log(math.pi) - math.log(2.0) * panels, np.log(decay.knots()))
    body = _adaptive(decay, np.unique(edges))
    return Energy((body.value + tail.value) / np.pi, (body.error + tail.error) / np.pi)


def _long_window(w: int) -> Energy:
    """(2/π) ∫_0^(π/2) |sin wt| / sin t dt: Lebesgue's constant, by Szegő's series (1921).

    |sin y| = (8/π) Σ_m sin²(my)/(4m²-1), and ∫ sin²(Nt)/sin t = Σ_{j≤N} 1/(2j-1) =: H(N), so the
    mean is (16/π²) Σ_m H(mw)/(4m²-1).  With Euler's constant γ

        2 H(N) = ln N + γ + 2 ln 2 + 1/(24 N²) - 7/(960 N⁴) + ...

    and for w ≥ 256 the next term is below 2^-53.  Σ ln m/(4m²-1) is a constant.
    """
    first, second = 2.0 - math.pi**2 / 6.0, 8.0 - 2.0 * math.pi**2 / 3.0 - math.pi**4 / 90.0
    half = (math.log(w) + np.euler_gamma + 2.0 * math.log(2.0)) / 2.0 + _LOGARITHMS
    half += first / (24.0 * w**2) - 7.0 * second / (960.0 * w**4)
    value = 8.0 / math.pi**2 * float(half)
    return Energy(value, 8e-15 * value)


def _tail(decay: Decay, octaves: int) -> Energy:
    """∫_0^θ0 |g| dθ for |g| ∝ θ^(e-1), with e from two octaves and the error from the next two."""
    theta = np.pi * np.exp2(-np.arange(octaves - 2.0, octaves + 1.0))
    mass = _size(decay, theta) * theta
    if not np.max(mass) > 1e-20:  # g vanishes at θ = 0, or almost
        return Energy(0.0, float(np.max(mass)))
    exponents = np.log2(mass[:-1] / mass[1:])
    if not exponents[1] > 1e-13:
        return Energy(math.inf, math.inf)
    value = mass[2] / exponents[1]
    return Energy(float(value), float(abs(value - mass[2] / exponents[0])))


def _adaptive(decay: Decay, edges: Column) -> Energy:
    """∫ |g| θ du between the edges."""
    low_nodes, low_weights = _gauss(12)
    nodes, weights = _gauss(20)
    left, right = edges[:-1], edges[1:]
    total, error = 0.0, 0.0
    for generation in range(60):
        half, middle = (right - left) / 2, (right + left) / 2
        fine = half * np.sum(_at(decay, middle, half, nodes) * weights, axis=1)
        coarse = half * np.sum(_at(decay, middle, half, low_nodes) * low_weights, axis=1)
        gap = np.abs(fine - coarse)
        # the fine rule is far better than the difference; 1e-13 per panel gives 1e-11 in all
        rough = gap > 1e-13 * max(total, 1.0)
        if generation == 59 or np.count_nonzero(rough) > _PANELS:  # g itself is noisy: report it
            rough[:] = False
        total += float(np.sum(fine[~rough]))
        error += float(np.sum(gap[~rough]))
        left, right = (
            np.concatenate([left[rough], middle[rough]]),
            np.concatenate([middle[rough], right[rough]]),
        )
        if not left.size:
            break
    return Energy(total, error + 8e-15 * total)


@cache
def _gauss(order: int) -> tuple[Column, Column]:
    """The nodes and weights of the Gauss-Legendre rule."""
    return np.polynomial.legendre.leggauss(order)


def _at(decay: Decay, middle: Column, half: Column, nodes: Column) -> Column:
    theta = np.exp(middle[:, None] + half[:, None] * nodes[None, :]).ravel()
    return (_size(decay, theta) * theta).reshape(len(middle), len(nodes))


def _size(decay: Decay, theta: Column) -> Column:
    """|g(e^iθ)|, in groups of θ with similar distances from the singularity at θ = 0."""
    out = np.empty(len(theta))
    order = np.argsort(theta)
    for piece in np.array_split(order, 1 + len(order) // 128):
        out[piece] = np.abs(decay.symbol(theta[piece]))
    return out
