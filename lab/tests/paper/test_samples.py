"""Many streams of every decay's plan."""

import numpy as np
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay
from lab.paper import samples
from lab.paper.decays import DECAYS
from lab.paper.document import QUICK


def test_the_truth_of_a_count_is_its_running_sum():
    sample = samples.sampled(9, NoDecay(), 32, 32, 300)
    assert_allclose(sample.truth, np.cumsum(samples.totals(32)), rtol=0, atol=1e-12)


def test_streams_have_noise_of_their_own():
    sample, again = (samples.sampled(9, NoDecay(), 32, 32, 300) for _ in range(2))
    other = samples.sampled(10, NoDecay(), 32, 32, 300)
    assert np.array_equal(again.largest, sample.largest)  # the report is repeatable
    assert not np.any(other.largest == sample.largest)
    assert len(np.unique(sample.largest[-1])) == 300


def test_no_two_plans_of_the_report_share_their_noise():
    # one seed gives every plan the same bits, and z_0 is the first error in the plan's unit
    both = [*samples.known(QUICK).values(), *samples.endless(QUICK).values()]
    first = [(x.first[0] - x.truth[0]) / x.plan.noise_stddev for x in both]
    # the plans' grids differ, so that equal bits would give equal z to about 1e-4 only
    assert np.min(np.diff(np.sort(first))) > 1e-4


def test_every_decay_is_run_with_a_horizon_and_the_pictured_ones_without():
    assert set(samples.known(QUICK)) == set(DECAYS)
    assert set(samples.endless(QUICK)) == set(samples.PICTURED) - {"counting"}


def test_an_endless_plan_runs_beyond_every_horizon():
    found = samples.sampled(3, Exponential.from_alpha(2), None, 64, 50)
    assert found.plan.horizon is None
    assert found.releases == 50
