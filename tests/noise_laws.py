"""Noise laws over which every invariant runs, and their probabilities by mpmath."""

import mpmath

from hushfade.laws import Gaussian, Huber, Laplace

# each magnitude has its own entry in the table
DIRECT_LAWS = [
    Gaussian(1.0), Gaussian(3.0), Gaussian(17.3), Gaussian(256.0), Gaussian(511.9),
    Laplace(64.0), Laplace(1.0), Laplace(0.1), Laplace(2.0**-7),
    Huber(1.0, 1), Huber(0.5, 3), Huber(0.1, 40), Huber(0.03, 300), Huber(2.0**-7, 1),
    Huber(2.0**-7, 2**13),
]  # fmt: skip

# magnitudes in cells; the core ends in the first cell, at a cell's start, inside, far out
CELL_LAWS = [
    Gaussian(513.0), Gaussian(6450.7), Gaussian(65_536.0), Gaussian(1.6e6), Gaussian(2.0**34),
    Laplace(0.0077), Laplace(0.001), Laplace(1e-6), Laplace(2.0**-34),
    Huber(0.0078, 2), Huber(0.0077, 130), Huber(0.001, 8), Huber(0.001, 1000), Huber(1e-6, 10**4),
    Huber(1e-6, 2**20), Huber(3e-7, 200_000_001), Huber(2.0**-34, 2**33), Huber(1e-10, 2**39),
]  # fmt: skip

ALL_LAWS = DIRECT_LAWS + CELL_LAWS


def probability_within(law, m):
    """P[|z| < m] for m ≥ 0, at mpmath's precision."""
    if m <= 0:
        return mpmath.mpf(0)
    if isinstance(law, Gaussian):
        return mpmath.erf((m - mpmath.mpf(0.5)) / law.sigma / mpmath.sqrt(2))
    slope = mpmath.mpf(law.slope)
    if isinstance(law, Laplace):
        return 1 - 2 * mpmath.exp(-slope * m) / (1 + mpmath.exp(-slope))
    core, x = mpmath.mpf(law.core), m - mpmath.mpf(0.5)
    width, edge = mpmath.sqrt(core / slope), mpmath.exp(-core * slope / 2)
    normal = mpmath.sqrt(2 * mpmath.pi) * width
    whole = normal * mpmath.erf(mpmath.sqrt(core * slope / 2)) + 2 * edge / slope
    if x <= core:
        return normal * mpmath.erf(x / width / mpmath.sqrt(2)) / whole
    return 1 - 2 * edge * mpmath.exp(-slope * (x - core)) / slope / whole


def probability(law, z):
    """P[z], at mpmath's precision less the digits of P[|z| < m] that cancel."""
    z = abs(z)
    ring = probability_within(law, z + 1) - probability_within(law, z)
    return ring if z == 0 else ring / 2


def share(law, start, z):
    """The probability of keeping the place z in the cell that begins at `start`."""
    if z == 0:
        return mpmath.mpf(0.5)
    return probability(law, z) / probability(law, start)
