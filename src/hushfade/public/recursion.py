"""The recursion of a decay as arrays for the compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushfade.check import Column, Signed
from hushfade.decays import Decay, Recursion

TOGETHER = 8  # this many poles or more are summed in groups; zero weights fill the last group


class Parts(NamedTuple):
    """A recursion as the compiled loops read it."""

    windows: Signed
    fades: Column
    pole_weights: Column
    window_weights: Column
    listed: Column


def grouped(decay: Decay) -> Recursion:
    """The decay's recursion with poles in whole groups."""
    found = decay.recursion()
    missing = -len(found.fades) % TOGETHER if len(found.fades) >= TOGETHER else 0
    return found._replace(
        fades=found.fades + (1.0,) * missing, pole_weights=found.pole_weights + (0.0,) * missing
    )


def parts_of(decay: Decay, unit: float = 1.0) -> Parts:
    """The decay's recursion as arrays, for u in multiples of `unit`."""
    found = grouped(decay)
    return Parts(
        np.array(found.windows, dtype=np.int64),
        np.array(found.fades, dtype=np.float64),
        np.array(found.pole_weights, dtype=np.float64) * unit,
        np.array(found.window_weights, dtype=np.float64) * unit,
        np.array(found.listed, dtype=np.float64) * unit,
    )
