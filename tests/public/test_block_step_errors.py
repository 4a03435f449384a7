"""Intervals of plans with block sums: near the exact quantiles, and they cover what they claim."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import CustomDecay, Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow, plan
from hushfade.factors import block_sums
from hushfade.public.error_distribution import SummedError

PURE = Guarantee(epsilon=1, delta=0)
N = 3000
PLANS = {
    "counting": plan(NoDecay(), PURE, horizon=N),
    "counting, whole numbers": plan(NoDecay(), PURE, horizon=N, resolution=1),
    "counting, many blocks": plan(
        NoDecay(), PURE, method=block_sums(NoDecay(), depth=1, period=5), horizon=N
    ),
    "window": plan(SlidingWindow(length=300), PURE),
    "half-life 500": plan(Exponential(half_life=500), PURE),
    "half-life 500, whole numbers": plan(Exponential(half_life=500), PURE, resolution=1),
    "half-life 2": plan(Exponential(half_life=2), PURE, method="blocks"),
    "power ¼": plan(PowerLaw(power=0.25), PURE, horizon=N),
    "list": plan(CustomDecay([1, 0.5, 3, 2]), PURE, method="blocks", horizon=N),
}
STEPS = [1, 2, 5, 31, 33, 64, 100, 255, 257, 700, 1999, N]


def exact(found, step):
    return SummedError(found.law, found.pair.weights_of_noise(step), found.unit)


@pytest.mark.slow
def test_margins_are_at_least_the_exact_ones_and_one_percent_more_at_most():
    # on a coarse grid quantiles jump from atom to atom, by up to 1 % of a deviation here
    for name, found in PLANS.items():
        below = 0.99 if "whole" in name else 0.9999
        for confidence in (0.5, 0.95, 0.999):
            margins = found.margins(N, confidence)
            for step in STEPS:
                wanted = exact(found, step).margin(confidence)
                ratio = margins[step - 1] / wanted
                most = 1.04 if "whole" in name else 1.012
                assert below <= ratio <= most, f"{name}, {confidence}, step {step}: {ratio}"


def test_margins_of_weights_of_one_are_exact():
    for name in ("counting", "counting, whole numbers", "window"):
        found = PLANS[name]
        for step in STEPS:
            wanted = exact(found, step).margin(0.95)
            assert_allclose(found.interval(step)[1], wanted, rtol=1e-9, err_msg=f"{name}, {step}")


def test_margins_do_not_depend_on_what_else_was_asked_for():
    for name, found in PLANS.items():
        again = plan(found.decay, PURE, method=found.pair, horizon=found.horizon,
                     resolution=found.grid.resolution)  # fmt: skip
        whole = found.margins(N, 0.9)
        for step in (N, 40, 700):
            assert again.interval(step, 0.9)[1] == whole[step - 1], f"{name}, step {step}"
        assert again.errors == found.errors


def test_steps_after_the_last_table_have_the_margin_of_their_phase():
    found = PLANS["half-life 500"]
    period = found.pair.schedule.period
    late = (1 << 20) + 1
    steps = np.array([late, late - period])
    stddevs = found.stddevs(late)[steps - 1]
    first, second = found.errors.margins(steps, 0.95, stddevs=stddevs)
    assert_allclose(first, second, rtol=1e-6)


def test_intervals_cover_what_they_claim():
    rng = np.random.default_rng(3)
    for name in ("counting", "half-life 500"):
        found = PLANS[name]
        L, _ = found.pair.matrices(600)
        scale = found.law.stddev / np.sqrt(2.0)
        z = rng.laplace(scale=scale, size=(600, 4000))
        for confidence in (0.5, 0.95):
            inside = np.abs(L @ z * found.unit) <= found.margins(600, confidence)[:, None]
            # 4000 copies: 4 standard errors of their mean are 0.032 and 0.014
            off = np.abs(np.mean(inside, axis=1) - confidence)
            assert np.max(off) < (0.04 if confidence == 0.5 else 0.018), name


@pytest.mark.slow
def test_the_bound_for_all_steps_holds():
    for name, found in PLANS.items():
        for n, failure in ((1, 0.5), (60, 0.3), (500, 0.05)):
            bound = found.error_bound(n, failure)
            tails = [exact(found, step).tail(bound * (1 + 1e-9)) for step in range(1, n + 1)]
            assert sum(tails) <= failure * (1 + 1e-6), f"{name}, {n} steps: {sum(tails)}"
