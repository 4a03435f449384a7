"""The privacy loss of several plans that are fixed together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from hushfade.planning.plan import Plan
from hushfade.privacy.loss import composed

MOST = 100  # the largest number of plans
MOST_CASES = 64  # combinations of worst cases for which losses are computed


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


def worst_cases(plans: Sequence[Plan]) -> int:
    """The number of combinations of the plans' worst cases; equal plans are interchangeable."""
    several = Counter(made.privacy for made in plans)
    return math.prod(
        math.comb(times + len(loss.cases) - 1, times) for loss, times in several.items()
    )
