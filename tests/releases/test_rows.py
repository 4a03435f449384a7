import numpy as np
import pytest

import hushfade as hf
from hushfade.records import Calendar
from hushfade.releases import rows
from hushfade.releases.rows import released, released_live

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLANS = [
    hf.plan(hf.Exponential(half_life=5), ONE, low=0, high=3),
    hf.plan(hf.SlidingWindow(4), ONE, resolution=1, keys=["a", "b", "c"]),
    hf.plan(hf.NoDecay(), ONE, resolution=1, horizon=500, method="normalized"),
]


def totals_of(plan, n=300):
    return np.random.default_rng(1).integers(0, 50, (n, plan.grid.lanes))


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_rows_are_what_the_stream_releases(plan, monkeypatch):
    monkeypatch.setattr(rows, "_PIECE", 64)
    totals, hours = totals_of(plan), Calendar(0, 3600, True, 300)
    found = list(released(plan.start(hf.UnsafeSeededNoise(4)), totals, hours))
    assert len(found) > 3
    values = np.concatenate([piece.values for piece in found])
    expected = plan.start(hf.UnsafeSeededNoise(4)).run(totals * plan.grid.resolution)
    assert np.array_equal(values, expected)
    assert np.concatenate([piece.steps for piece in found]).tolist() == list(range(1, 301))
    stddevs = np.concatenate([piece.stddevs for piece in found])
    assert np.array_equal(stddevs, plan.stddevs(300))
    assert np.concatenate([piece.ends for piece in found])[:2].tolist() == [3600, 7200]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_live_and_whole_give_the_same(plan):
    totals = totals_of(plan, 40)
    whole = list(released(plan.start(hf.UnsafeSeededNoise(4)), totals, None))
    live = list(released_live(plan.start(hf.UnsafeSeededNoise(4)), iter(totals), None))
    assert len(live) == 40
    assert np.array_equal(
        np.concatenate([piece.values for piece in whole]),
        np.concatenate([piece.values for piece in live]),
    )
    assert np.allclose(  # two ways to compute them
        np.concatenate([piece.stddevs for piece in whole]),
        np.concatenate([piece.stddevs for piece in live]),
        rtol=1e-9,
    )


def test_a_stream_that_goes_on_numbers_its_steps_on():
    stream = PLANS[0].start()
    list(released(stream, totals_of(PLANS[0], 5), None))
    (more,) = released(stream, totals_of(PLANS[0], 2), None)
    assert more.steps.tolist() == [6, 7]
    assert list(released(stream, totals_of(PLANS[0], 0), None)) == []
