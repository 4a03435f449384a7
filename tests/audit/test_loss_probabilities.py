"""The audit's own privacy losses: closed forms, sampling, and the accountant's upper bound."""

import math
from collections import Counter

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, Person, SlidingWindow, plan
from hushfade.audit.exact_shifts import shift_cases
from hushfade.audit.loss_probabilities import Losses
from hushfade.audit.noise_probabilities import energy
from hushfade.laws import Huber, Laplace
from tests.audit.subjects import HUBER, MOVED

OFTEN = Guarantee(1, 1e-5, protects=Person(steps=10, apart=2))
PLANS = {
    "blend": HUBER,
    "keys": MOVED,
    "counting": plan(NoDecay(), Guarantee(1, 1e-6), horizon=256, method="blend"),
    "small delta": plan(Exponential(half_life=60), Guarantee(1, 1e-9), method="blend"),
    "often": plan(SlidingWindow(length=7), OFTEN, law="huber"),
}


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 1.9])
def test_delta_of_one_shift_of_laplace_noise_is_known(epsilon):
    # P[ℓ > t] = 1 - e^((t - 2)/2)/2, for a slope that is small
    found = Losses(Laplace(1e-4), {20_000: 1})
    assert found.delta(epsilon) == pytest.approx(-math.expm1((epsilon - 2.0) / 2.0), rel=1e-4)
    assert found.delta(2.0) == 0.0


def test_counts_are_enumerated():
    # slope 1, shift 2: losses 2, 0, -2
    law = Laplace(1.0)
    z = np.arange(-60, 61)
    p = np.exp(law.log_probability(z))
    losses = np.abs(z - 2) - np.abs(z)
    found = Losses(law, {2: 1})
    for epsilon in (0.0, 0.3, 1.2):
        exactly = np.sum(p * np.maximum(-np.expm1(epsilon - losses), 0.0))
        assert found.delta(epsilon) == pytest.approx(exactly, rel=1e-4)
    assert found.moments(0.0)[1] == pytest.approx(np.sum(p * losses), rel=1e-12)
    assert found.above(np.array([1.0]))[0] == pytest.approx(np.sum(p[losses > 1]), rel=1e-9)


@pytest.mark.parametrize("found", PLANS.values(), ids=PLANS)
def test_the_accountant_is_above_and_near(found):
    losses = [Losses(found.law, case) for case in shift_cases(found)]
    for share in (0.0, 0.3, 0.6, 1.0):
        epsilon = share * found.guarantee.epsilon
        ours = max(each.delta(epsilon) for each in losses)
        assert 0.98 < ours / found.privacy.delta(epsilon) < 1.0002, epsilon


def test_importance_sampling_agrees():
    # z from p(z)^5 p(z - d)^-4, by its distribution on a fine grid; 10^5 samples err by about 13 %
    rng, tilt = np.random.default_rng(5), 4.0
    (case,) = shift_cases(HUBER)
    total, weight = np.zeros(100_000), np.zeros(100_000)
    for d, times in case.items():
        x = np.linspace(-40.0, 40.0, 40_001) * HUBER.law.stddev
        loss = energy(HUBER.law, x - d) - energy(HUBER.law, x)
        plain = np.exp(-energy(HUBER.law, x))
        tilted = plain * np.exp(tilt * loss)
        mass = math.log(np.sum(tilted) / np.sum(plain))
        cumulative = np.cumsum(tilted) / np.sum(tilted)
        for _ in range(times):
            drawn = loss[np.searchsorted(cumulative, rng.random(len(total)))]
            total += drawn
            weight += mass - tilt * drawn
    stick = np.exp(weight) * np.maximum(-np.expm1(1.0 - total), 0.0)
    error = np.std(stick) / math.sqrt(len(stick))
    assert abs(np.mean(stick) - Losses(HUBER.law, case).delta(1.0)) < 5 * error
    assert error < 2e-7


def test_p_values_of_right_samples_are_ordinary_and_of_wrong_ones_small():
    law, rng = Huber(0.01, 100), np.random.default_rng(8)
    losses = Losses(law, Counter({150: 2, 40: 3}))
    points, masses = losses.distribution
    masses = np.maximum(masses, 0.0)
    sample = points[np.searchsorted(np.cumsum(masses), rng.random(4000) * masses.sum())]
    assert losses.mean_p(sample) > 1e-3
    assert losses.mean_p(sample + 0.3) < 1e-12
    expected = losses.delta(0.5)
    stick = float(np.mean(np.maximum(-np.expm1(0.5 - sample), 0.0)))
    assert losses.delta_p(0.5, expected, stick, 4000) > 1e-3
    assert losses.delta_p(0.5, expected, 1.5 * stick, 4000) < 1e-10
