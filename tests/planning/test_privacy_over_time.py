"""What a record has revealed at some age."""

import math

import numpy as np
import pytest

import hushfade as hf
from hushfade.privacy.calibration import epsilon_of
from hushfade.privacy.loss_distribution import Losses
from hushfade.privacy.rounded_losses import Shift

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
DAY = hf.Exponential(half_life=24)


def test_gaussian_noise_reveals_the_taps_that_have_been_used():
    plan = hf.plan(DAY, ONE, method="square_root")
    taps = plan.taps.integers.astype(float)
    for age in (1, 2, 7, 50, len(taps), 10**6):
        share = math.sqrt(np.sum(taps[:age] ** 2) / np.sum(taps**2))
        found = plan.privacy_at_age(age).epsilon(1e-6)
        assert found == pytest.approx(epsilon_of(ONE.mu * share, 1e-6), rel=1e-9)
    assert plan.privacy_at_age(10**6).epsilon(1e-6) <= plan.privacy.epsilon(1e-6)


def test_a_gain_counts_at_the_worst_first_step():
    plan = hf.plan(hf.NoDecay(), ONE, horizon=40, method="normalized")
    right = plan.pair.matrices(40)[1] * 2.0**plan.pair.places
    for age in (1, 3, 40):
        columns = [np.sum(right[t : t + age, t] ** 2) for t in range(40)]
        mu = math.sqrt(max(columns)) * plan.grid.high_unit / plan.sigma
        found = plan.privacy_at_age(age).epsilon(1e-6)
        assert found == pytest.approx(epsilon_of(mu, 1e-6), rel=1e-9)


def test_huber_noise_reveals_the_first_taps():
    plan = hf.plan(DAY, ONE)
    assert plan.law.name == "huber"
    for age in (1, 5, 30):
        shifts = [Shift(plan.grid.high_unit * int(tap), 1) for tap in plan.taps.integers[:age]]
        expected = Losses([(plan.law, shifts)]).epsilon(1e-6)
        assert plan.privacy_at_age(age).epsilon(1e-6) == pytest.approx(expected, rel=1e-3)


def test_noise_on_the_inputs_reveals_all_at_once_and_block_sums_a_level_per_step():
    week = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 0))
    assert week.privacy_at_age(1).epsilon(0) == week.privacy.epsilon(0) == 1.0
    blocks = hf.plan(hf.NoDecay(), hf.Guarantee(1, 0), horizon=300, method="blocks")
    levels = blocks.pair.squared_sensitivity()
    for age in (1, levels, 300):
        expected = min(age, levels) / levels
        assert blocks.privacy_at_age(age).epsilon(0) == pytest.approx(expected, rel=1e-12)


def test_it_is_about_one_record_and_never_falls():
    persons = hf.Guarantee(1, 1e-6, participations=5)
    for plan in (hf.plan(DAY, persons), hf.plan(hf.PowerLaw(power=0.5), ONE, horizon=500)):
        ages = [plan.privacy_at_age(age).epsilon(1e-6) for age in (1, 2, 10, 100, 500)]
        assert ages == sorted(ages)
        assert ages[-1] <= plan.privacy.epsilon(1e-6) * (1 + 1e-9)
        assert plan.privacy_at_age(1).relation[1] == 1


@pytest.mark.parametrize("steps", [0, -1, 1.5, "2", True])
def test_an_age_is_a_number_of_releases(steps):
    with pytest.raises(hf.HushfadeError, match="steps must be an integer"):
        hf.plan(DAY, ONE).privacy_at_age(steps)
