"""A search for epsilon at a delta that evaluates the loss only a few times."""

from __future__ import annotations

import math

from hushfade.privacy.loss import PrivacyLoss

_NEAR = 2e-3  # the relative accuracy of epsilon


def epsilon_of_loss(loss: PrivacyLoss, delta: float, guess: float) -> float:
    """An upper bound on the loss's epsilon at delta, at most 0.2 % above the smallest.

    `loss.epsilon` is more accurate, but slower for plans with a long memory.

    >>> round(epsilon_of_loss(PrivacyLoss.gaussian(0.2), 1e-6, 1.0), 2)
    0.83
    """
    largest = loss.epsilon(0.0)
    if delta == 0:
        return largest
    low, high, below, above = 0.0, math.inf, 0.0, 0.0
    point = guess
    while high - low > _NEAR * high or high == math.inf:
        excess = math.log(max(loss.delta(point), 1e-320) / delta)
        accepted = excess <= 0.0
        if accepted:
            high, above = point, excess
        else:
            low, below = point, excess
        if high == math.inf or low == 0.0:
            point *= 0.7 if accepted else 1.4
            if high < 1e-9:
                break
            continue
        secant = low + (high - low) * below / (below - above)
        point = secant + (-0.4 if accepted else 0.4) * _NEAR * high
        if not low < point < high:
            point = (low + high) / 2.0
    return min(high, largest)
