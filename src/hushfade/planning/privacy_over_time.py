"""What a record has revealed some steps after it arrived.

A record shifts the noise of its own step and of later ones, as long as the taps reach.  Noise on
the inputs reveals everything at once.  The square root reveals more with every step.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hushfade.factors.block_factors import BlockSums
from hushfade.factors.taps import IntegerTaps
from hushfade.laws import Gaussian
from hushfade.planning import noise_scale, shifts
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounding import root_up

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def loss_at_age(plan: Plan, steps: int) -> PrivacyLoss:
    """The loss of one record that `steps` releases include."""
    single = replace(plan.guarantee, participations=1, separation=1)
    pair, grid = plan.pair, plan.grid
    if isinstance(pair, BlockSums):  # one sum per level, and one sum per step
        levels = min(steps, pair.squared_sensitivity())
        cases = [
            shifts.merged(lanes, [(1, levels)], 1) for lanes in shifts.changes(single, grid, 1)
        ]
        loss = PrivacyLoss.shifted(plan.law, cases)
    else:
        young = replace(pair, taps=_first(pair.taps, steps))
        if isinstance(plan.law, Gaussian):
            squared = noise_scale.squared_sensitivity(single, grid, young)
            loss = PrivacyLoss.gaussian(root_up(Fraction(squared) / Fraction(plan.law.sigma) ** 2))
        else:
            loss = PrivacyLoss.shifted(plan.law, shifts.cases(single, grid, young))
    return replace(loss, relation=single.relation)


def _first(taps: IntegerTaps, steps: int) -> IntegerTaps:
    """The taps of the first steps."""
    starts = taps.jumps[:-1][taps.jumps[:-1] < steps]
    ends = np.append(starts, min(steps, taps.support))
    return IntegerTaps.of_pieces(ends, taps.values[: len(starts)], taps.bits)
