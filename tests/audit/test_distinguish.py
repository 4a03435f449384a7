import math

import numpy as np
import pytest
from scipy.stats import binomtest

from hushfade import Exponential, Guarantee, plan
from hushfade.audit import TINY
from hushfade.audit.distinguish import (
    EPSILON,
    distinguish,
    epsilon_below,
    largest_bound,
    shift_of,
)
from hushfade.audit.finding import LEVEL
from hushfade.audit.randomness import Chance
from hushfade.privacy.guarantee import delta_of
from tests.audit.subjects import InProcess


def test_the_bound_of_epsilon_is_that_of_clopper_and_pearson():
    a, b = np.repeat([0.0, 2.0], [900, 100]), np.repeat([0.0, 2.0], [700, 300])
    least = binomtest(300, 1000).proportion_ci(0.95, method="exact").low
    most = binomtest(100, 1000).proportion_ci(0.95, method="exact").high
    found = epsilon_below(a, b, 0.01, 0.05, thresholds=(1.0,))
    assert found == pytest.approx(math.log((least - 0.01) / most), rel=1e-9)


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
def test_the_bound_stays_below_the_epsilon_of_gaussian_noise(mu):
    # one of a million: a level of 1e-6, at a seed that is fixed
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=200_000), rng.normal(mu, size=200_000)
    for epsilon in (0.2, 1.0, 4.0):
        delta = max(delta_of(mu, epsilon), 1e-12)
        assert epsilon_below(a, b, delta, 1e-6) <= epsilon


def test_the_bound_is_near_for_a_large_shift():
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=400_000), rng.normal(3.0, size=400_000)
    assert epsilon_below(a, b, 1e-6, 1e-6) > 5.0


def test_nothing_seen_bounds_nothing():
    assert epsilon_below(np.zeros(50), np.zeros(50), 1e-6, 0.05) == 0.0


def test_the_shift_of_two_samples_is_found_within_its_error():
    rng = np.random.default_rng(8)
    found = shift_of(rng.normal(size=50_000), rng.normal(0.3, size=50_000))
    assert abs(found.mu - 0.3) < 5 * found.error
    assert found.error == pytest.approx(math.sqrt(2 / 50_000), rel=0.02)


def test_samples_without_spread_are_infinitely_far_apart():
    assert shift_of(np.zeros(9), np.ones(9)).mu == math.inf


def test_no_counts_give_more_than_those_without_noise():
    most = largest_bound(1000, 2000, 1e-6, LEVEL)
    rng = np.random.default_rng(8)
    for mu in (1.0, 3.0, 8.0, 40.0):
        a, b = rng.normal(size=1000), rng.normal(mu, size=2000)
        assert epsilon_below(a, b, 1e-6, LEVEL) <= most
    assert most == epsilon_below(np.full(1000, -9.0), np.full(2000, 9.0), 1e-6, LEVEL)


@pytest.mark.parametrize(("epsilon", "judged"), [(1, True), (8, False)])
def test_an_epsilon_that_so_few_copies_cannot_exceed_is_told(epsilon, judged):
    found = plan(Exponential(half_life=3), Guarantee(epsilon, 1e-6), method="square_root")
    findings = distinguish(InProcess(), found, "a plan", TINY, Chance(3))
    below = [finding for finding in findings if finding.check == EPSILON]
    assert {finding.passed for finding in below} == {True if judged else None}
    assert all(("cannot show more than" in f.measurement) is not judged for f in below)
    assert {finding.level for finding in below} == {LEVEL if judged else 0.0}
