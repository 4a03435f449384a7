"""JAX Privacy: its auditor for the scores of canaries.

A key with its coin is a canary, so one run of the stream audits all of them.  The script omits the
bound of Steinke et al. (2023) for epsilon and delta: with m canaries its p-value is never below
about m·delta, which is above the level here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lab.audits.other_auditors.protocol import Given, answer

auditing: Any = import_module("jax_privacy.auditing")


def clopper_pearson(scores: Given) -> float:
    """Jagielski et al. (2020), at the threshold given."""
    bound: float = _auditor(scores).epsilon_clopper_pearson(
        scores.level,
        scores.delta,
        one_sided=False,
        threshold_strategy=auditing.Explicit(scores.threshold),
    )
    return bound


def one_run(scores: Given) -> float:
    """Mahloujifar et al. (2024), for Gaussian trade-offs, at the threshold given."""
    bound: float = _auditor(scores).epsilon_one_run_fdp(
        scores.level, scores.delta, threshold_strategy=auditing.Explicit(scores.threshold)
    )
    return bound


def gaussian(scores: Given) -> float:
    """Nasr et al. (2023): mu over all thresholds, as epsilon."""
    bound: float = _auditor(scores).epsilon_from_gdp(scores.level, scores.delta)
    return bound


def _auditor(scores: Given) -> Any:
    return auditing.CanaryScoreAuditor(scores.present, scores.absent)


if __name__ == "__main__":
    answer(
        {
            "Clopper-Pearson": clopper_pearson,
            "one run, f-DP": one_run,
            "Gaussian DP": gaussian,
        },
        ["jax-privacy"],
    )
