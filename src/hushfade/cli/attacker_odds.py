"""What an attacker who sees all published values can learn about one unit of privacy.

The best guess between neighbouring streams with prior 1/2 is right with probability
(1 + delta(0)) / 2.  The posterior exceeds e^epsilon / (1 + e^epsilon) if the privacy loss L exceeds
epsilon.  For Gaussian noise both have closed forms (Dong, Roth, Su 2022):

    Φ(mu/2)  and  Φ(mu/2 - epsilon/mu)

For other laws delta(e) = E (1 - exp(e - L))_+ ≥ (1 - exp(e - epsilon)) P[L > epsilon], e < epsilon,
which bounds P[L > epsilon].  It is 0 if the loss is at most epsilon, as for delta = 0.
"""

from __future__ import annotations

import math

from hushfade.cli.protected_unit import ProtectedUnit
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounding import rounded_up

_SAFE = 1.0 + 1e-12  # more than the rounding of scipy's functions
_ABOVE = 1.25  # times epsilon: the loss that the attacker exceeds with about delta
_SHARES = (0.8, 0.9, 0.95)  # of epsilon, at which delta bounds the probability of a larger loss


def posterior(epsilon: float) -> float:
    """The largest posterior of a fact with prior 1/2: e^epsilon / (1 + e^epsilon).

    >>> round(posterior(math.log(3)), 12)
    0.75
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def larger_loss(loss: PrivacyLoss, epsilon: float) -> float:
    """An upper bound on the probability that the privacy loss exceeds epsilon.

    >>> round(larger_loss(PrivacyLoss.gaussian(1.0), 2.0), 4)  # Φ(-1.5)
    0.0668
    """
    from scipy.special import ndtr

    if all(case.gaussian for case in loss.cases):
        mu = max(case.mu for case in loss.cases)
        return min(1.0, _SAFE * float(ndtr(mu / 2 - epsilon / mu)))
    if loss.epsilon(0.0) <= epsilon:
        return 0.0
    bounds = [
        loss.delta(share * epsilon) / -math.expm1((share - 1.0) * epsilon) for share in _SHARES
    ]
    return min(1.0, _SAFE * min(bounds))


def odds(loss: PrivacyLoss, epsilon: float, unit: ProtectedUnit, rest: float = 0.0) -> list[str]:
    """Sentences: how certain an attacker can become, how often a guess is right, and about whom.

    `rest` is a probability that the loss does not cover.  Then (epsilon, rest) says little about a
    loss slightly above epsilon, so the first sentence is about a larger one.
    """
    if rest > 0.0:
        level = _ABOVE * epsilon
        more = min(1.0, _SAFE * (loss.delta(epsilon) + rest) / -math.expm1(epsilon - level))
    else:
        level, more = epsilon, larger_loss(loss, epsilon)
    guessed = min(1.0, loss.delta(0.0) + rest)
    sure, right = _SAFE * posterior(level), _SAFE * (1.0 + guessed) / 2.0
    except_for = (
        f", except with a probability of at most {rounded_up(more, 2)}" if more > 0.0 else ""
    )
    beyond = unit.beyond()
    return [
        f"Suppose an attacker knows all other records, and starts out 50 % sure {unit.fact()}. "
        "After seeing all values that are ever published, the attacker is at most "
        f"{rounded_up(100 * sure, 3)} % sure{except_for}.",
        f"If the attacker has to guess {unit.guess()}, the guess is right at most "
        f"{rounded_up(100 * right, 3)} times in 100. A blind guess is right 50 times in 100.",
        *([] if beyond is None else [beyond]),
    ]
