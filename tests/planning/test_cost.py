import gc
import tracemalloc

import numpy as np
import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    UnsafeSeededNoise,
    plan,
)
from hushfade.crossing import memory
from hushfade.crossing.sampling_tables import table
from hushfade.public.left_product import left_of
from tests.made_when_used import MadeWhenUsed
from tests.planning.test_plan import ONE, PLANS

LARGE = MadeWhenUsed(
    {
        "exponential": lambda: plan(
            Exponential(half_life=24), ONE, keys=[str(key) for key in range(3000)]
        ),
        "window": lambda: plan(SlidingWindow(length=7), ONE, width=5000, norm=1.0),
        "power": lambda: plan(PowerLaw(power=1), ONE, keys=[str(key) for key in range(700)]),
        "counting": lambda: plan(NoDecay(), ONE, horizon=1 << 14),
        "counting, gain": lambda: plan(
            NoDecay(), ONE, horizon=1 << 12, method="normalized", resolution=2.0**-6
        ),
        "custom": lambda: plan(CustomDecay(np.exp(-np.arange(500) / 90).tolist()), ONE),
    }
)


FIXED = 5e6  # the table and the draws made ahead


def test_the_arrays_are_within_the_stated_memory():
    for found in (*PLANS, *LARGE.values()):
        left = left_of(found)
        arrays = (*memory.blank(found), *left.jumps, *left.parts, *left.quotients, *left.sums)
        held = sum(getattr(part, "nbytes", 0) for part in arrays)
        assert held <= found.cost.memory <= 1.5 * held + FIXED, found.decay


@pytest.mark.parametrize("name", LARGE)
def test_a_stream_never_exceeds_the_stated_memory(name):
    found = LARGE[name]
    lanes = found.grid.lanes
    n = 40 if lanes > 1 else min(200_000, (found.horizon or 2**62) - 10)
    totals = np.ones((n, lanes)) if lanes > 1 else np.ones(n)
    first = found.start(UnsafeSeededNoise(1))  # loads what is loaded once
    first.run(totals)
    first.step_total(totals[0])
    del first
    table.cache_clear()
    gc.collect()
    tracemalloc.start()
    stream = found.start(UnsafeSeededNoise(1))
    stream.step_total(totals[0])
    returned = 2 * getattr(totals, "nbytes", 0)  # and read as integers
    stream.run(totals)
    for row in totals[:5]:
        stream.step_total(row)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= found.cost.memory + returned
    assert found.cost.memory <= 1.5 * peak + FIXED


def test_counting_to_a_million_needs_less_than_64_megabytes():
    found = plan(NoDecay(), ONE, horizon=1 << 20)
    held = found.cost.memory + found.pair.taps.integers.nbytes
    assert held <= 64e6


def test_the_cost_is_what_the_kernels_do():
    found = plan(Exponential(half_life=24), ONE, keys=["a", "b"])
    assert found.cost.lanes == 2
    assert found.cost.work == 2 * found.jumps + 2
    assert found.cost.totals == found.pair.taps.support + 1  # the past, and the step being taken
    # memory grows by the rings and sums of a key: totals and u, v, c twice, one pole
    more = plan(Exponential(half_life=24), ONE, keys=["a", "b", "c"])
    support = found.pair.taps.support
    assert more.cost.memory - found.cost.memory <= 8 * (2 * (support + 1) + 4) + 96
    assert 0 < found.cost.block_seconds < found.cost.live_seconds
