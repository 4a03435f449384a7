"""The margins of combinations of lanes, against the exact distribution of the combination."""

import numpy as np

import hushfade as hf
from hushfade.public.error_distribution import error_distribution
from hushfade.public.statistics.lane_margins import lane_margins


def test_margins_are_at_least_the_exact_ones_and_hardly_more():
    rng = np.random.default_rng(1)
    for decay, law in [
        (hf.SlidingWindow(length=7), "laplace"),
        (hf.Exponential(half_life=24), "huber"),
    ]:
        plan = hf.plan(decay, hf.Guarantee(1, 1e-6), statistic=hf.Mean(low=0, high=1), law=law)
        for step in (1, 3, 30):
            for confidence in (0.5, 0.9, 0.95, 0.999):
                made = lane_margins(
                    plan.errors, np.array([step]), plan.stddevs(step)[-1:], confidence, 1.0
                )
                for _ in range(4):
                    weights = rng.uniform(-1, 1, rng.integers(1, 6))
                    left = plan.pair.left(step)
                    combined = np.concatenate([weight * left for weight in weights])
                    exact = error_distribution(plan.law, combined, plan.unit).margin(confidence)
                    margin = float(made.of(weights[None, :])[0])
                    # interpolation is within 1 %; outside of 80 % to 99 % more is added
                    most = 1.02 if 0.8 <= confidence <= 0.99 else 1.06
                    assert exact * (1 - 1e-3) <= margin <= exact * most, (law, step, confidence)


def test_margins_of_gaussian_noise_are_normal():
    plan = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=hf.Share(), law="gaussian"
    )
    made = lane_margins(plan.errors, np.array([7]), plan.stddevs(7)[-1:], 0.95, 1.0)
    margin = made.of(np.array([[3.0, -4.0]]))
    assert abs(float(margin[0]) - 5 * 1.959964 * plan.stddev(7)) < 1e-5
