"""hushfade: decaying sums of sensitive streams at every step, for ever, with differential privacy.

import hushfade as hf

pair = hf.factor.square_root(hf.Exponential(half_life=24))
pair.sensitivity().value     # what the noise must hide
pair.errors(1000)            # what it costs at each step, for unit noise
"""

from __future__ import annotations

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
from hushfade.errors import Diverges, HushfadeError, InvalidType, InvalidValue, Unstable
from hushfade.factor import Factorization, Sensitivity

__version__ = "0.1.0"

__all__ = [
    "CustomDecay",
    "Decay",
    "Diverges",
    "Exponential",
    "Factorization",
    "HushfadeError",
    "InvalidType",
    "InvalidValue",
    "Mixture",
    "NoDecay",
    "PowerLaw",
    "Sensitivity",
    "SlidingWindow",
    "Unstable",
    "factor",
    "series",
]
