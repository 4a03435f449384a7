"""The mean of |g| over the unit circle: the limit of γ2(M), and the energy of the square root.

By Bennett's theorem on Toeplitz Schur multipliers (1977) γ2(M) rises to (1/2π) ∫ |g(e^iθ)| dθ as
the steps go on: no factorization does better in the long run.  By Parseval that is
(1/2π) ∫ |√g|² = Σ a_n², the error factor of the square root mechanism that runs for ever, where √g
is analytic in the disk.  So the square root is optimal in the limit.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from hushfade.check import Column
from hushfade.decay import Decay
from hushfade.errors import Diverges

_PANELS = 1 << 14  # more rough panels than that are rounding noise
_DEPTHS = 55, 110, 1000  # octaves of θ; π 2^-1000 is still a normal float64
_WIDTH, _WIDER = 2.5, 1.3  # octaves of the first panel; the next ones are wider and wider


class Energy(NamedTuple):
    """An integral over the circle and an estimate of its absolute error."""

    value: float
    error: float


def energy(decay: Decay) -> Energy:
    """Σ a_n² of the decay's square root, all n.

    >>> from hushfade.decay import SlidingWindow
    >>> round(energy(SlidingWindow(length=2)).value, 12)  # 4/π
    1.273239544735
    """
    if not decay.horizon_free:
        raise Diverges(f"the sum of a_n² over all n is not known to be finite for {decay!r}")
    return mean_size(decay)


@lru_cache(maxsize=64)
def mean_size(decay: Decay) -> Energy:
    """(1/2π) ∫ |g(e^iθ)| dθ, the limit of γ2.  Cost: milliseconds; power laws some tens.

    Gauss-Legendre in u = ln θ, from π toward the singularity at θ = 0, cut at the decay's knots and
    bisected where two orders disagree; below the last octave |g| is a power of θ.  Raises Diverges
    where that power is -1: something in the decay never fades.
    """
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


def _tail(decay: Decay, octaves: int) -> Energy:
    """∫_0^θ0 |g| dθ with |g| ∝ θ^(e-1), e read off two octaves; its error from the next two."""
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
        # the fine rule is far better than the gap; 1e-13 a panel leaves 1e-11 in all
        rough = gap > 1e-13 * max(total, 1.0)
        if generation == 59 or np.count_nonzero(rough) > _PANELS:  # noise of g itself: say so
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
    """The nodes and weights of Gauss and Legendre's rule."""
    return np.polynomial.legendre.leggauss(order)


def _at(decay: Decay, middle: Column, half: Column, nodes: Column) -> Column:
    theta = np.exp(middle[:, None] + half[:, None] * nodes[None, :]).ravel()
    return (_size(decay, theta) * theta).reshape(len(middle), len(nodes))


def _size(decay: Decay, theta: Column) -> Column:
    """|g(e^iθ)|, in pieces of like distance from the singularity at θ = 0."""
    out = np.empty(len(theta))
    order = np.argsort(theta)
    for piece in np.array_split(order, 1 + len(order) // 128):
        out[piece] = np.abs(decay.symbol(theta[piece]))
    return out
