"""Values at which two ways to round might differ, and what each must become."""

import math

import numpy as np

GRIDS = {
    "a share": {"low": 0.0, "high": 1.0},
    "coarse, below zero": {"low": -0.5, "high": 2.0, "resolution": 0.25},
    "integers beyond 2^53 inside the bounds": {"low": -(2.0**60), "high": 2.0**62},
    "subnormal": {"low": 0.0, "high": 2.0**-1040},
    "as far as float64 goes": {"low": -1e300, "high": 1e305},
}
RANDOM = 40
BIG = 2**70


def expected(grid, values):
    """By hand: the nearest float64, clipped, rounded half up."""
    clipped = (min(max(float(value), grid.low), grid.high) for value in values)
    return [math.floor(x / grid.resolution + 0.5) for x in clipped]


def floats(grid, rng):
    """At the bounds, half way between units, subnormal, huge, at random; and their neighbours."""
    low, high, resolution = grid.low, grid.high, grid.resolution
    units = rng.integers(grid.low_unit, grid.high_unit, RANDOM)
    halves = (units + 0.5) * resolution
    chosen = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.7e308, -1.7e308, low, high, resolution]
    inside = low + (high - low) * rng.random(RANDOM)
    bits = rng.integers(0, 2**64, RANDOM, dtype=np.uint64).view(np.float64)
    finite = bits[np.isfinite(bits)]
    values = np.concatenate([chosen, halves, inside, finite])
    with np.errstate(under="ignore"):
        nearby = [np.nextafter(values, side) for side in (-1e308, 1e308)]
    return np.concatenate([values, *nearby]).tolist()


def integers(rng):
    """Families of integers that one column can hold: 64 bits, unsigned, of any size."""
    signed = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**54 + 2, 2**60 + 129, 2**63 - 1, -(2**63)]
    unsigned = [2**63, 2**63 + 1025, 2**64 - 1]
    return {
        "signed": signed + rng.integers(-(2**63), 2**63 - 1, RANDOM).tolist(),
        "unsigned": unsigned + rng.integers(0, 2**64, RANDOM, dtype=np.uint64).tolist(),
        "large": [BIG, -BIG, BIG + 1, 2**61 + 2**8 + 1, 10**37, -(10**37), 0],
        "huge": [10**299, -(10**299), 2**100, 3],
    }
