"""The privacy loss as a value."""

import pytest

import hushfade as hf
from hushfade.laws import Laplace
from hushfade.privacy.loss import Case, PrivacyLoss, Shifted
from hushfade.privacy.loss_distribution import Losses
from hushfade.privacy.rounded_losses import Shift

NOISE = Laplace(slope=2.0**-7)


def test_equal_laws_and_shifts_are_counted_once():
    loss = PrivacyLoss.shifted(NOISE, [[Shift(16, 1), Shift(8, 2)]])
    (case,) = (loss + loss + loss).cases
    assert case == Case(0.0, (Shifted(NOISE, (Shift(8, 6), Shift(16, 3))),))
    apart = Losses([(NOISE, [Shift(16, 1), Shift(8, 2)])] * 3)
    # both are upper bounds on grids of the same fineness, 2 % of a deviation
    assert case.losses.delta(0.3) == pytest.approx(apart.delta(0.3), rel=1e-3)
    assert case.losses.largest == apart.largest


def test_two_cases_of_equal_plans_have_three_sums():
    loss = PrivacyLoss.shifted(NOISE, [[Shift(16, 1)], [Shift(10, 2)]])
    assert len((loss + loss).cases) == 3
    assert (loss + loss).epsilon(1e-6) == max(case.epsilon(1e-6) for case in (loss + loss).cases)


def test_losses_of_different_units_do_not_add_up():
    one, two = (
        hf.plan(hf.SlidingWindow(length=1), hf.Guarantee(1, 0, neighbours)).privacy
        for neighbours in ("add_remove", "replace")
    )
    with pytest.raises(hf.HushfadeError, match="same unit of privacy"):
        _ = one + two
