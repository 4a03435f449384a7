"""The quick computations of a plan have the values of the slow ones."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hushfade as hf
from hushfade.factors import factorization, limit_norms, power_series, root_series
from hushfade.factors.block_factors import BlockErrors, BlockSchedule, BlockSums, largest_variance
from hushfade.laws import Huber
from hushfade.privacy import loss_distribution, repeated_losses
from hushfade.privacy.loss_distribution import Losses
from hushfade.privacy.rounded_losses import Shift


def test_the_energy_of_a_long_window_is_the_mean_of_its_symbol():
    for length in (64, 255, 1000):
        pi = math.pi
        edges = np.log(pi) - np.log(2.0) * np.arange(0.0, 60.0)
        edges = np.unique(np.append(edges, np.log(hf.SlidingWindow(length=length).knots())))
        body = limit_norms._adaptive(hf.SlidingWindow(length=length), edges)
        # 1e-12: what the quadrature promises
        assert_allclose(limit_norms._long_window(length).value, body.value / pi, rtol=1e-12)


def test_the_left_factor_of_a_blend_has_a_closed_form_for_counting_and_exponentials():
    n = 5000
    for decay in (hf.NoDecay(), hf.Exponential(half_life=700)):
        for c in (1 / 24, 0.5, 1.0):
            pair = factorization.blend(decay, c)
            product = power_series.multiply(pair.left(n), pair.right(n))
            assert_allclose(product, decay.weights(n), rtol=1e-11, err_msg=f"{decay!r}, c = {c}")
    assert len(root_series.blended_left(0.5, 7)) == 7


def test_repeating_in_rounds_bounds_the_loss_as_tightly_as_at_once(monkeypatch):
    law = Huber(2.0**-12, 6000)
    shifts = [Shift(2000, 1), Shift(90, 300), Shift(11, 20_001), Shift(3, 150_000)]
    quick = Losses([(law, shifts)]).delta(1.0)
    monkeypatch.setattr(repeated_losses, "MANY", 1 << 40)
    slow = Losses([(law, shifts)]).delta(1.0)
    assert 1e-12 < slow < 1e-2  # neither is trivial
    assert_allclose(quick, slow, rtol=5e-3)  # rounding adds up to 2e-4 of the variance
    assert quick > (1.0 - 1e-4) * slow


def test_rounding_between_rounds_is_bounded():
    law = Huber(2.0**-12, 6000)
    taps = loss_distribution.block(law, [Shift(40, 70_000)], 0.03)
    for tilt in (0.0, 1.0, 6.0):
        groups, rounding = repeated_losses.repeated(taps, tilt)
        assert len(rounding) == 2
        for added in rounding:
            assert 0.0 < added.missing < 1e-6
            # the mass grows by no more than the bound on E e^(tilt · loss), and never shrinks
            assert -1e-9 <= math.log(added.size) <= added.growth(tilt) * (1.0 + 1e-6) + 1e-9
        assert sum(len(one.step) for one in groups) == 3  # 70 000 = 64 (64 · 17 + 5) + 48


def test_block_sums_over_a_window_have_the_errors_of_their_weights():
    for length, depth, period in ((10, 2, 7), (9, 1, 9), (50, 3, 20), (7, 2, 9)):
        decay, schedule = hf.SlidingWindow(length=length), BlockSchedule(depth, period)
        errors = BlockErrors(decay, schedule)
        quick = np.concatenate([errors.next(5)[0], errors.next(120)[0]])
        slow = [np.sum(BlockSums(decay, schedule).weights_of_noise(t) ** 2) for t in range(1, 126)]
        assert_allclose(quick, slow, err_msg=f"{length}, {schedule}")
        assert largest_variance(decay, schedule, 125, 1000) == max(slow)


def test_the_loss_of_many_keyed_series_without_delta_is_the_sum_of_their_epsilons():
    guarantee = hf.Guarantee(epsilon=1, delta=0, neighbours="replace")
    series = [
        hf.Series(decay=hf.SlidingWindow(length=5 + i), keys=("a", "b"), low=-1, high=1 + i % 3)
        for i in range(14)
    ]
    joint = hf.plan_together(series, guarantee)
    assert all(len(made.privacy.cases) > 1 for made in joint.plans)
    total = math.fsum(made.privacy.epsilon(0.0) for made in joint.plans)
    assert joint.privacy.epsilon(0.0) == pytest.approx(total, rel=1e-12)
    assert total <= 1.0
