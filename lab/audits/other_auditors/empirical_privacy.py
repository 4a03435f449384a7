"""TensorFlow Empirical Privacy: bounds on ln(P / P') at a threshold, for tests of models.

The bounds are for delta = 0.  If P' is far above delta, as at the given thresholds, the difference
is negligible.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lab.audits.other_auditors.protocol import Given, Method, answer

bounds: Any = import_module("tensorflow_privacy.privacy.privacy_tests.epsilon_lower_bound")


def by(method: Any) -> Method:
    """The lower bound by one of its methods; two ratios are looked at, each at half the level."""

    def bound(scores: Given) -> float:
        found = bounds.EpsilonLowerBound(
            scores.present,
            scores.absent,
            alpha=scores.level / 2,
            two_sided_threshold=False,
            thresholds=np.array([scores.threshold]),
        )
        return max(0.0, float(found.compute_epsilon_lower_bound(method, k=1)[0]))

    return bound


if __name__ == "__main__":
    kinds = bounds.BoundMethod
    answer(
        {
            "Clopper-Pearson": by(kinds.CLOPPER_PEARSON),
            "Katz": by(kinds.KATZ_LOG),
            "Bailey": by(kinds.BAILEY),
            "inverse sinh": by(kinds.INV_SINH),
        },
        ["tensorflow-empirical-privacy"],
    )
