"""One plan and one column for the tests of all kinds of frames."""

import numpy as np

from hushfade import Exponential, Guarantee, UnsafeSeededNoise, plan

PLAN = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), low=-1, high=2)
DESCRIBED = {"half_life": 5, "epsilon": 1, "delta": 1e-6, "low": -1, "high": 2}
SEEDED = UnsafeSeededNoise(3)
RECORDS = np.random.default_rng(8).normal(0.5, 1.5, size=40)  # some beyond each bound
KEYS = ["b", "a", "never"]


def expected(records):
    """By the stream itself: clipped and on the grid, then run."""
    return PLAN.start(SEEDED).run(PLAN.quantise(np.asarray(records, dtype=float)))
