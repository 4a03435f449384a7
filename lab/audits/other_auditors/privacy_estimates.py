"""privacy-estimates: epsilon from the error rates of an attack (Zanella-Béguelin et al.).

The script omits the library's own method, `joint-beta`.  That method integrates the density of the
two rates to within 0.005, which is useless at a level like 1e-7, and with this many copies it
misses the density.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lab.audits.other_auditors.protocol import Given, Method, answer

estimates: Any = import_module("privacy_estimates")


def by(method: str) -> Method:
    """The lower bound by one of its methods."""

    def bound(scores: Given) -> float:
        hits = int(np.count_nonzero(scores.present > scores.threshold))
        false = int(np.count_nonzero(scores.absent > scores.threshold))
        counts = estimates.AttackResults(
            TP=hits, FN=len(scores.present) - hits, FP=false, TN=len(scores.absent) - false
        )
        found: float = estimates.compute_eps_lo(
            count=counts, delta=scores.delta, alpha=scores.level, method=method
        )
        return found

    return bound


if __name__ == "__main__":
    answer({"Clopper-Pearson": by("beta"), "Jeffreys": by("jeffreys")}, ["privacy-estimates"])
