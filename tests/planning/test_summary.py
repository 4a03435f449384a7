"""Printed plans: the mechanism, why it was chosen, and its noise."""

from __future__ import annotations

from hushfade import Exponential, Guarantee, NoDecay, Share, SlidingWindow, plan
from hushfade.planning import summary
from hushfade.planning.mechanism_names import choice, mechanism_name
from hushfade.planning.plan import Plan

ONE = Guarantee(epsilon=1, delta=1e-6)
PURE = Guarantee(epsilon=1, delta=0)
WEEK, DAY = SlidingWindow(length=7), Exponential(half_life=24)


def plans() -> list[Plan]:
    """A plan of every method and law."""
    return [
        plan(WEEK, ONE),
        plan(WEEK, PURE, resolution=1),
        plan(DAY, ONE, method="blend"),
        plan(DAY, ONE, method="input", law="huber"),
        plan(DAY, ONE, method="square_root"),
        plan(DAY, ONE, method="normalized", horizon=100),
        plan(NoDecay(), ONE),
    ]


def test_every_plan_names_its_mechanism_and_its_law():
    for made in plans():
        printed = str(made)
        assert mechanism_name(made.method, made.law.name) in printed
        noise = dict(summary.rows(made))["noise"]
        assert noise.lower().startswith(made.law.name), noise


def test_only_gaussian_plans_show_mu_and_rho():
    for made in plans():
        gaussian = made.law.name == "gaussian"
        assert ("privacy" in dict(summary.rows(made))) == gaussian, made
        assert ("mu = " in str(made)) == gaussian, made


def test_a_plan_that_was_read_back_prints_the_same():
    for made in plans():
        assert str(Plan.from_json(made.to_json())) == str(made)


def test_the_choice_states_how_much_worse_the_paper_is():
    sentence = choice(plan(WEEK, ONE, resolution=1))
    assert "Laplace noise on the inputs, which has the smallest error of the 3" in sentence
    # 7.513 over 3.590
    assert "Gaussian noise on the square root (the paper) has 109 % more error." in sentence


def test_a_method_that_was_asked_for_is_not_called_the_best():
    assert "No other mechanism was compared" in choice(plan(DAY, ONE, method="square_root"))


def test_pure_plans_state_the_single_step_bound():
    attained = summary.sentences(plan(WEEK, PURE, resolution=1))[-1]
    assert attained.endswith("This plan attains this bound."), attained
    missed = summary.sentences(plan(WEEK, PURE))[-1]
    assert "below 1.384 for real-valued records" in missed
    assert "This plan has 1.415 at step 1." in missed


def test_a_plan_with_a_statistic_states_the_error_of_the_statistic_and_of_each_sum():
    made = plan(WEEK, ONE, statistic=Share())
    rows = dict(summary.rows(made))
    assert "error" not in rows
    assert "error of a sum" in rows
    assert rows["all steps"].endswith("for any one noisy sum")
    assert "true share" in str(made)
    assert "true sum" not in str(made)
