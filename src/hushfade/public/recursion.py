"""A decay as a recursion: s = M u in constant memory, step by step.

    poles      e_i ← e_i - q_i e_i + u,  s += w_i e_i      NoDecay (q = 0), Exponential, PowerLaw
    windows    s += weight · (sum of the last length u)
    listed     s += Σ_k f_k u_{t-k}                   CustomDecay

The recursion is exact except for the power law, (k+1)^-c = Γ(c)⁻¹ ∫ s^(c-1) e^-(k+1)s ds.  The
trapezoidal rule in log s turns it into a sum of about 100 exponentials with relative error ≤ 1e-10
up to lag 2^34.  A pole p is stored as q = 1 - p, because float64 could not represent the half-life
of a p within 1e-16 of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Signed
from hushfade.decay import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.errors import InvalidType
from hushfade.factors.exponentials import power_sum

TOGETHER = 8  # this many poles or more are summed in groups; zero weights fill the last group

_FARTHEST, _RELATIVE = 1 << 34, 1e-10  # the largest lag of a power law, and the relative error


class Parts(NamedTuple):
    """A recursion as the compiled loops read it."""

    windows: Signed
    fades: Column
    pole_weights: Column
    window_weights: Column
    listed: Column


@dataclass
class Recursion:
    """The parts of s = M u."""

    fades: list[float] = field(default_factory=list)  # q = 1 - pole
    pole_weights: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    window_weights: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    relative_error: float = 0.0  # of the weights

    @property
    def memory(self) -> int:
        """The number of past u that it needs in addition to its sums."""
        return max([0, len(self.listed), *(length + 1 for length in self.windows)])

    def parts(self, unit: float = 1.0) -> Parts:
        """The recursion as arrays, for u in multiples of `unit`."""
        return Parts(
            np.array(self.windows, dtype=np.int64),
            np.array(self.fades, dtype=np.float64),
            np.array(self.pole_weights, dtype=np.float64) * unit,
            np.array(self.window_weights, dtype=np.float64) * unit,
            np.array(self.listed, dtype=np.float64) * unit,
        )


def recursion(decay: Decay) -> Recursion:
    """The recursion of a built-in decay."""
    found = Recursion()
    _add(found, 1.0, decay)
    if len(found.fades) >= TOGETHER:
        missing = -len(found.fades) % TOGETHER
        found.fades.extend([1.0] * missing)
        found.pole_weights.extend([0.0] * missing)
    return found


def _add(to: Recursion, weight: float, decay: Decay) -> None:
    match decay:
        case NoDecay():
            to.fades.append(0.0)
            to.pole_weights.append(weight)
        case Exponential():
            to.fades.append(-math.expm1(-math.log(2.0) / decay.half_life))
            to.pole_weights.append(weight)
        case PowerLaw() if decay.power > 10:  # below 1e-20 within a hundred steps
            _list(to, weight, decay.weights(100).tolist())
            to.relative_error = max(to.relative_error, 1e-20)  # of the first weight
        case PowerLaw():
            fades, weights = _power_law(decay.power)
            to.fades.extend(fades)
            to.pole_weights.extend(weight * w for w in weights)
            to.relative_error = max(to.relative_error, _RELATIVE)
        case SlidingWindow():
            to.windows.append(decay.length)
            to.window_weights.append(weight)
        case CustomDecay():
            _list(to, weight, decay.values)
        case Mixture():
            for inner, part in decay.parts:
                _add(to, weight * inner, part)
        case _:
            raise InvalidType(
                "a stream needs a built-in decay",
                got=type(decay).__name__,
                remedy="list its weights in a CustomDecay",
            )


def _list(to: Recursion, weight: float, values: Sequence[float]) -> None:
    to.listed.extend([0.0] * (len(values) - len(to.listed)))
    for k, f in enumerate(values):
        to.listed[k] += weight * f


def _power_law(c: float) -> tuple[list[float], list[float]]:
    """The fades 1 - e^-s and weights w e^-s of (k+1)^-c = Σ w e^(-(k+1) s), to 1e-10 up to 2^34."""
    weights, rates = power_sum(c, _FARTHEST, _RELATIVE)
    return (-np.expm1(-rates)).tolist(), (weights * np.exp(-rates)).tolist()
