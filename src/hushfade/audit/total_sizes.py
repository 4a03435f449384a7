"""How large totals are tried: as large as can be recovered from releases to the unit.

Releases are float64.  Beyond some size of the totals their rounding would pass for an error.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hushfade.audit.observer import along, gain_of, in_use
from hushfade.planning.plan import Plan

_ROUNDED = 0.01  # of a unit, from the largest total at every step
_EIGHTH = 8  # of the largest total: room for what is added


def one_record(plan: Plan) -> int:
    """A record at its bound, in units, or less where a total has no room for a few."""
    return max(1, min(plan.grid.largest_unit, plan.grid.largest_total // _EIGHTH))


@lru_cache(maxsize=32)
def largest_tried(plan: Plan, steps: int) -> int:
    """The largest total in units, of a run of so many steps, at least that of one record."""
    gain = gain_of(plan, steps)
    last = np.zeros(steps)
    last[-1] = gain.max() / gain[-1] * plan.unit
    undo = along(plan, last)  # what the last number that crossed is made of
    # transforms spread the rounding of the largest release over all steps
    spread = math.log2(steps + 1) * math.sqrt(steps) * float(np.linalg.norm(undo))
    reach = max(float(np.sum(np.abs(undo))), spread)
    peak = plan.grid.resolution / plan.unit * float(np.sum(np.abs(in_use(plan, steps))))
    kept = _ROUNDED / (float(np.finfo(np.float64).eps) * reach * peak)
    return max(one_record(plan), int(min(kept, plan.grid.largest_total // _EIGHTH)))
