"""hushfade: differentially private decaying sums of sensitive streams, at every step, indefinitely.

import hushfade as hf

plan = hf.plan(hf.Exponential(half_life=24), hf.Guarantee(epsilon=1, delta=1e-6), low=0, high=1)
print(plan)                        # its privacy, its accuracy, and its distance from the optimum
release = plan.start().step([0.3, 1, 0.7])
hf.compare(plan.decay, plan.guarantee, horizon=1000)      # the errors of all mechanisms
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hushfade.decays import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.errors import (
    Diverges,
    HushfadeError,
    InvalidType,
    InvalidValue,
    Malformed,
    Refused,
    Unstable,
)
from hushfade.factors.factorization import Factorization
from hushfade.factors.sensitivity import Sensitivity
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.privacy.guarantee import (
    Guarantee,
    classical_noise_multiplier,
    composed_mu,
    delta_of,
    epsilon_of,
)
from hushfade.privacy.loss import PrivacyLoss, composed
from hushfade.privacy.unit import Person, Record
from hushfade.public.release import Release

if TYPE_CHECKING:
    from hushfade import (  # noqa: F401
        audit,
        factors,
        frames,
        plots,
        serve,
        spark,
        store,
        theory,
        training,
    )
    from hushfade.baselines import Comparison, compare
    from hushfade.crossing.key_file import KeyFile
    from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, UnsafeSeededNoise
    from hushfade.planning.joint_plans import JointPlan, plan_together
    from hushfade.planning.plan import Plan
    from hushfade.planning.planner import plan
    from hushfade.planning.series import Series
    from hushfade.public.statistics import (
        Count,
        Histogram,
        Mean,
        Quantiles,
        Ratio,
        Share,
        Sum,
        Variance,
    )
    from hushfade.stream.stream import Stream
    from hushfade.training.correlated_noise import CorrelatedNoise

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "CorrelatedNoise",
    "Count",
    "CustomDecay",
    "Decay",
    "Diverges",
    "Exponential",
    "Factorization",
    "FreshNoise",
    "Gaussian",
    "Guarantee",
    "Histogram",
    "Huber",
    "HushfadeError",
    "InvalidType",
    "InvalidValue",
    "JointPlan",
    "KeyFile",
    "KeyedNoise",
    "Laplace",
    "Malformed",
    "Mean",
    "Mixture",
    "NoDecay",
    "Person",
    "Plan",
    "PowerLaw",
    "PrivacyLoss",
    "Quantiles",
    "Ratio",
    "Record",
    "Refused",
    "Release",
    "Sensitivity",
    "Series",
    "Share",
    "SlidingWindow",
    "Stream",
    "Sum",
    "UnsafeSeededNoise",
    "Unstable",
    "Variance",
    "classical_noise_multiplier",
    "compare",
    "composed",
    "composed_mu",
    "delta_of",
    "epsilon_of",
    "factors",
    "plan",
    "plan_together",
    "plots",
    "theory",
]

# Loaded on first use, so that importing hushfade stays fast.
_NOISE, _STATISTICS = "hushfade.crossing.noise_sources", "hushfade.public.statistics"
_LATER = {
    "Count": _STATISTICS,
    "FreshNoise": _NOISE,
    "Histogram": _STATISTICS,
    "KeyedNoise": _NOISE,
    "Mean": _STATISTICS,
    "Plan": "hushfade.planning.plan",
    "Quantiles": _STATISTICS,
    "Ratio": _STATISTICS,
    "Share": _STATISTICS,
    "Sum": _STATISTICS,
    "UnsafeSeededNoise": _NOISE,
    "Variance": _STATISTICS,
    "Comparison": "hushfade.baselines",
    "CorrelatedNoise": "hushfade.training.correlated_noise",
    "JointPlan": "hushfade.planning.joint_plans",
    "KeyFile": "hushfade.crossing.key_file",
    "Series": "hushfade.planning.series",
    "Stream": "hushfade.stream.stream",
    "compare": "hushfade.baselines",
    "plan": "hushfade.planning.planner",
    "plan_together": "hushfade.planning.joint_plans",
}
_MODULES = {
    "audit", "baselines", "factors", "frames", "planning", "plots", "privacy",
    "records", "serve", "spark", "store", "theory", "training",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _MODULES:
        return import_module(f"hushfade.{name}")
    raise AttributeError(f"module 'hushfade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
