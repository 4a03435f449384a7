"""Probabilities of integer noise, outcome by outcome, and exact sums of a few of them."""

from __future__ import annotations

import math

import numpy as np

from hushfade.laws import Gaussian, Huber, Laplace

LAWS = (
    Laplace(slope=0.1),
    Laplace(slope=1.0),
    Laplace(slope=4.0),
    Huber(slope=0.1, core=10),
    Huber(slope=0.02, core=150),
    Gaussian(sigma=9.0),
)


def probabilities(law):
    """P[z] for |z| up to where nothing is left."""
    reach = math.ceil(45.0 * law.stddev) + 45
    return np.exp(law.log_probability(np.arange(-reach, reach + 1.0)))


def convolved(law, terms):
    """P[|z_1 + ... + z_terms| > m] for m = 0, 1, ..., by direct convolution."""
    total = single = probabilities(law)
    for _ in range(terms - 1):
        total = np.convolve(total, single)
    middle = len(total) // 2
    return 2.0 * np.append(np.cumsum(total[:middle:-1])[::-1], 0.0)


def drawn(law, rng, shape):
    """Noise by inversion of the distribution function."""
    p = probabilities(law)
    below = np.cumsum(p) / np.sum(p)
    return np.searchsorted(below, rng.random(shape)) - len(p) // 2
