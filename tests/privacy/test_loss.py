"""The privacy loss as a value."""

import pytest

import hushfade as hf
from hushfade.laws import Huber, Laplace
from hushfade.privacy.loss import Case, Choice, PrivacyLoss, Shifted
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


def test_a_plan_alone_has_the_worst_of_its_cases_and_a_second_plan_adds_one_dominating_pair():
    loss = PrivacyLoss.shifted(NOISE, [[Shift(16, 1)], [Shift(10, 2)]])
    assert hf.composed([loss]) == loss
    assert loss.delta(0.05) == max(case.delta(0.05) for case in loss.cases)
    (case,) = (loss + loss + loss).cases
    assert case.choices == (Choice(loss.cases, 3),)
    assert (loss + loss).epsilon(0.0) == 2 * loss.epsilon(0.0)


def test_the_curve_of_a_choice_is_the_largest_curve_of_its_cases():
    gaussian = Case(0.3)
    for law in (NOISE, Huber(2.0**-7, 200)):
        for shifts in ([[Shift(16, 1)], [Shift(10, 2)]], [[Shift(40, 3)], [Shift(5, 300)]]):
            cases = (*PrivacyLoss.shifted(law, shifts).cases, gaussian)
            for some in (cases[:2], cases, cases[:1], cases[2:]):
                choice = Case(choices=(Choice(some, 1),))
                for epsilon in (0.0, 0.01, 0.06, 0.1, 0.14, 0.5, 1.0, 1.7, 2.4):
                    largest = max(case.delta(epsilon) for case in some)
                    # both are upper bounds, from different grids
                    assert (1.0 - 1e-5) * largest <= choice.delta(epsilon)
                    assert choice.delta(epsilon) <= 1.003 * largest + 1e-5
                assert choice.epsilon(1e-99) >= max(case.epsilon(1e-99) for case in some)


def test_losses_of_different_units_do_not_add_up():
    one, two = (
        hf.plan(hf.SlidingWindow(length=1), hf.Guarantee(1, 0, neighbours)).privacy
        for neighbours in ("add_remove", "replace")
    )
    with pytest.raises(hf.HushfadeError, match="same unit of privacy"):
        _ = one + two
