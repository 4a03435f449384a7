"""hushfade: decaying sums of sensitive streams at every step, for ever, with differential privacy.

import hushfade as hf

plan = hf.plan(hf.Exponential(half_life=24), hf.Guarantee(epsilon=1, delta=1e-6), low=0, high=1)
print(plan)                        # how private, how accurate, how near the optimum
release = plan.start().step([0.3, 1, 0.7])
hf.compare(plan.decay, plan.guarantee, horizon=1000)      # beside every other mechanism
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hushfade import factor, series
from hushfade.decay import (
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
from hushfade.factor import Factorization, Sensitivity
from hushfade.guarantee import (
    Guarantee,
    classical_noise_multiplier,
    composed_mu,
    delta_of,
    epsilon_of,
)
from hushfade.noise import FreshNoise, KeyedNoise, UnsafeSeededNoise
from hushfade.plan import Plan, plan
from hushfade.release import Release
from hushfade.stream import Stream

if TYPE_CHECKING:
    from hushfade import compact, convolve, events, report, rivals, theory
    from hushfade.correlated import CorrelatedNoise
    from hushfade.rivals import Comparison, compare

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "CorrelatedNoise",
    "CustomDecay",
    "Decay",
    "Diverges",
    "Exponential",
    "Factorization",
    "FreshNoise",
    "Guarantee",
    "HushfadeError",
    "InvalidType",
    "InvalidValue",
    "KeyedNoise",
    "Malformed",
    "Mixture",
    "NoDecay",
    "Plan",
    "PowerLaw",
    "Refused",
    "Release",
    "Sensitivity",
    "SlidingWindow",
    "Stream",
    "UnsafeSeededNoise",
    "Unstable",
    "classical_noise_multiplier",
    "compact",
    "compare",
    "composed_mu",
    "convolve",
    "delta_of",
    "epsilon_of",
    "events",
    "factor",
    "plan",
    "report",
    "rivals",
    "series",
    "theory",
]

_LATER = {  # loaded when first asked for: importing the package stays quick
    "Comparison": "hushfade.rivals",
    "CorrelatedNoise": "hushfade.correlated",
    "compare": "hushfade.rivals",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in ("compact", "convolve", "events", "report", "rivals", "theory"):
        return import_module(f"hushfade.{name}")
    raise AttributeError(f"module 'hushfade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
