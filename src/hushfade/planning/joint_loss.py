"""The privacy loss of several plans that are fixed together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from hushfade.planning.plan import Plan
from hushfade.privacy.loss import composed

MOST = 100  # the largest number of plans


def composed_epsilon(plans: Sequence[Plan], delta: float) -> float:
    """An upper bound on the epsilon of all plans together."""
    if delta > 0.0:
        return composed(made.privacy for made in plans).epsilon(delta)
    parts = [made.privacy.epsilon(0.0) for made in plans]  # pure epsilons add up
    if math.inf in parts:
        return math.inf
    total = sum(map(Fraction, parts))
    nearest = float(total)
    return nearest if Fraction(nearest) >= total else math.nextafter(nearest, math.inf)
