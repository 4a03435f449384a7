"""hushfade: decaying sums of sensitive streams at every step, for ever, with differential privacy.

import hushfade as hf

pair = hf.factor.square_root(hf.Exponential(half_life=24))
pair.sensitivity().value     # what the noise must hide
pair.errors(1000)            # what it costs at each step, for unit noise
"""

from __future__ import annotations

from hushfade import compact, factor, series, theory
from hushfade.decay import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.errors import Diverges, HushfadeError, InvalidType, InvalidValue, Refused, Unstable
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
from hushfade.rivals import Comparison, compare
from hushfade.stream import Stream

__version__ = "0.1.0"

__all__ = [
    "Comparison",
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
    "delta_of",
    "epsilon_of",
    "factor",
    "plan",
    "series",
    "theory",
]
