"""Standard deviations by step, block after block."""

from contextlib import suppress

import numpy as np
from numpy.testing import assert_allclose

from hushfade import Exponential, Guarantee, plan
from hushfade.numerics.blocks import AHEAD
from hushfade.public.deviations import Deviations

PLAN = plan(Exponential(half_life=2), Guarantee(epsilon=1, delta=1e-6))


def interrupted(*_):
    raise KeyboardInterrupt


def test_blocks_continue_each_other():
    deviations = Deviations(PLAN)
    blocks = [deviations.of(k * AHEAD, AHEAD) for k in range(4)]
    # a running sum of squares against one that numpy adds up pairwise
    assert_allclose(np.concatenate(blocks), PLAN.stddevs(4 * AHEAD), rtol=1e-9)


def test_an_interrupted_computation_starts_over(monkeypatch):
    for before in range(4):
        expected = Deviations(PLAN).of(before * AHEAD, 3)
        deviations = Deviations(PLAN)
        for k in range(before):
            deviations.of(k * AHEAD, AHEAD)
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(np, "sqrt", interrupted)  # the last that a block computes
            deviations.of(before * AHEAD, 3)
        assert deviations.of(before * AHEAD, 3) == expected, before
