"""The standard deviation of a plan's noise, in grid units, from integers alone.

    σ² = change² ‖R̃‖² / μ²

change² and ‖R̃‖² are integers in grid units and μ is a float64, so σ² is a fraction.  σ is its root,
rounded up to 48 bits.  Every machine gets the same σ, so it belongs to a plan's identity.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hushfade.errors import InvalidValue
from hushfade.factors.factorization import IntegerFactorization
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid

_BITS = 48
_ROUNDING = Fraction(1, 10**9)  # of sigma, by which 0.1.0 may have rounded it up


def required_variance(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> Fraction:
    """The least σ² in grid units that gives the guarantee.

    Guarantee: σ = ‖R̃ Δx‖ / μ for the largest change Δx of one person's records is μ-Gaussian
    differential privacy for the series R̃x + z, also if later records depend on earlier releases
    (Denisov et al. 2022).
    """
    if grid.norm is None:
        low, high = grid.low_unit, grid.high_unit
        change = guarantee.squared_change(low, high, keyed=grid.keys is not None)
    else:
        change = guarantee.squared_vector_change(grid.norm_unit)
    sensitivity = pair.squared_sensitivity(
        participations=guarantee.participations, separation=guarantee.separation
    )
    return Fraction(change * sensitivity) / Fraction(guarantee.mu) ** 2


def root_above(square: Fraction) -> float:
    """The least number of at most 48 bits whose square is at least `square`.

    >>> root_above(Fraction(9)), root_above(Fraction(2)) ** 2 > 2
    (3.0, True)
    """
    exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    places = _BITS + 1 - exponent  # 48 bits or a few more
    while True:
        scaled = square * Fraction(4) ** places
        root = math.isqrt(math.ceil(scaled) - 1) + 1
        if root.bit_length() <= _BITS:
            return math.ldexp(root, -places)
        places -= 1


def check_version_1(
    sigma: float, guarantee: Guarantee, grid: Grid, pair: IntegerFactorization
) -> None:
    """Raise unless σ is what 0.1.0 computed: at least what is required, and 1e-9 more at most.

    0.1.0 rounded σ up by 1e-12.  For repeated participation within more than 2^24 steps it took the
    sensitivity of an endless stream.
    """
    required = required_variance(guarantee, grid, pair)
    most = required
    if pair.gain is None and (pair.horizon or 0) > 1 << 24:
        most = required_variance(guarantee, grid, replace(pair, horizon=None))
    if not (sigma > 0 and required <= Fraction(sigma) ** 2 <= most * (1 + _ROUNDING) ** 2):
        raise InvalidValue("sigma must be the noise that the plan's guarantee requires")
