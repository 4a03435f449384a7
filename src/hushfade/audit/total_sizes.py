"""The largest totals that the audit tries: larger ones could not be recovered to the unit.

Releases are float64.  With larger totals the rounding of the releases would look like an error.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hushfade.audit.observer import along, gain_of, in_use
from hushfade.planning.plan import Plan

_ROUNDED = 0.01  # rounding error in units, if every step has the largest total
_EIGHTH = 8  # use 1/8 of the largest total, to leave room for added records


def one_record(plan: Plan) -> int:
    """A record at its bound, in units; smaller if a total has no room for a few records."""
    return max(1, min(plan.grid.largest_unit, plan.grid.largest_total // _EIGHTH))


@lru_cache(maxsize=32)
def largest_tried(plan: Plan, steps: int) -> int:
    """The largest total, in units, for a run of `steps` steps; at least one record."""
    gain = gain_of(plan, steps)
    last = np.zeros(steps)
    last[-1] = gain.max() / gain[-1] * plan.unit
    undo = along(plan, last)  # the weights of releases in the last number that crossed
    # an FFT spreads the rounding error of the largest release over all steps
    spread = math.log2(steps + 1) * math.sqrt(steps) * float(np.linalg.norm(undo))
    reach = max(float(np.sum(np.abs(undo))), spread)
    peak = plan.grid.resolution / plan.unit * float(np.sum(np.abs(in_use(plan, steps))))
    kept = _ROUNDED / (float(np.finfo(np.float64).eps) * reach * peak)
    return max(one_record(plan), int(min(kept, plan.grid.largest_total // _EIGHTH)))
