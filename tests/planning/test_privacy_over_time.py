"""What a record has revealed at some age, and a stream after some steps."""

import itertools
import math
import re
from functools import cache

import numpy as np
import pytest

import hushfade as hf
from hushfade.planning import privacy_over_time
from hushfade.privacy.calibration import epsilon_of
from hushfade.privacy.loss_distribution import Losses
from hushfade.privacy.rounded_losses import Shift

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
DAY = hf.Exponential(half_life=24)
PURE = hf.Guarantee(1, 0)
THREE = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=3, apart=5))


# every law and method; keys, vectors, replaced records, several steps of a person
@cache
def plans():
    return [
        hf.plan(DAY, ONE),
        hf.plan(DAY, ONE, method="square_root"),
        hf.plan(DAY, ONE, law="laplace"),
        hf.plan(DAY, PURE),
        hf.plan(hf.NoDecay(), PURE, horizon=300, method="blocks"),
        hf.plan(hf.NoDecay(), ONE, horizon=40, method="normalized"),
        hf.plan(hf.NoDecay(), ONE, method="unbounded"),
        hf.plan(hf.NoDecay(), ONE, horizon=1),
        hf.plan(DAY, hf.Guarantee(1, 1e-6, "replace"), keys=["a", "b"], low=-1),
        hf.plan(DAY, ONE, width=3, norm=2.5),
        hf.plan(DAY, hf.Guarantee(1, 1e-6, protects=hf.Person(records_per_step=3))),
        hf.plan(DAY, THREE, method="square_root"),
        hf.plan(DAY, THREE, method="input"),
        hf.plan(hf.NoDecay(), THREE, horizon=40, method="normalized", resolution=1),
        hf.plan(hf.CustomDecay([1, 0.9, 0.95, 0.2]), THREE, method="square_root"),
    ]


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
    persons = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=5))
    for plan in (hf.plan(DAY, persons), hf.plan(hf.PowerLaw(power=0.5), ONE, horizon=500)):
        ages = [plan.privacy_at_age(age).epsilon(1e-6) for age in (1, 2, 10, 100, 500)]
        assert ages == sorted(ages)
        assert ages[-1] <= plan.privacy.epsilon(1e-6) * (1 + 1e-9)
        assert plan.privacy_at_age(1).relation[1] == 1


def test_an_age_may_end_where_taps_are_zero():
    gaps = hf.factors.from_right(hf.NoDecay(), [1.0, 0.0, 0.0, 0.5])
    plan = hf.plan(hf.NoDecay(), ONE, method=gaps, horizon=100)
    for age, energy in ((1, 1.0), (2, 1.0), (3, 1.0), (4, 1.25)):
        mu = ONE.mu * math.sqrt(energy / 1.25)
        found = plan.privacy_at_age(age).epsilon(1e-6)
        assert found == pytest.approx(epsilon_of(mu, 1e-6), rel=1e-9), age


@pytest.mark.slow
def test_a_stream_has_revealed_nothing_at_first_then_more_and_in_the_end_its_plan_s_loss():
    for plan in plans():
        delta = plan.guarantee.delta
        whole = plan.privacy.epsilon(delta)
        assert plan.privacy_after(0).epsilon(delta) == 0.0
        assert plan.privacy_after(0).delta(0.0) == 0.0
        steps = [n for n in (0, 1, 2, 6, 30, 400) if n <= (plan.horizon or n)]
        losses = [plan.privacy_after(n) for n in steps]
        epsilons = [loss.epsilon(delta) for loss in losses]
        for earlier, later in itertools.pairwise([*epsilons, whole]):
            # an epsilon is inverted within 1e-6
            assert earlier <= later * (1 + 2e-6), (plan, epsilons)
        assert all(loss.relation == plan.guarantee.relation for loss in losses)
        end = plan.horizon or 10**7
        assert plan.privacy_after(end).epsilon(delta) == pytest.approx(whole, rel=1e-9)


def test_one_record_after_some_steps_is_the_record_of_step_1():
    for plan in plans():
        if plan.guarantee.protects.steps == 1 and plan.pair.gain is None:
            delta = plan.guarantee.delta
            for n in (1, 30):
                steps = min(n, plan.horizon or n)
                found, record = plan.privacy_after(steps), plan.privacy_at_age(steps)
                assert found.epsilon(delta) <= record.epsilon(delta) * (1 + 2e-6)
                if plan.method != "blocks":  # whose later sums have more levels
                    assert found.epsilon(delta) == pytest.approx(record.epsilon(delta), rel=2e-6)


def test_after_some_steps_the_loss_is_that_of_the_worst_steps_of_a_person():
    """All ways to place up to three participations, in the dense right factor."""
    for plan in plans():
        if plan.guarantee.protects.steps == 1 or plan.law.name != "gaussian":
            continue
        for n in (1, 5, 6, 11, 14):
            right = plan.pair.matrices(n)[1] * 2.0**plan.pair.places * plan.grid.high_unit
            worst = max(
                np.linalg.norm(sum(right[:, s] for s in places))
                for k in (1, 2, 3)
                for places in itertools.combinations(range(n), k)
                if all(b - a >= 5 for a, b in itertools.pairwise(places))
            )
            (case,) = plan.privacy_after(n).cases
            assert case.mu >= worst / plan.sigma * (1 - 1e-12)
            taps = plan.taps.integers[:n]
            if plan.pair.gain is None and np.all(np.diff(taps) <= 0):
                assert case.mu == pytest.approx(worst / plan.sigma, rel=1e-12)


def test_noise_on_the_inputs_and_on_blocks_by_hand():
    person = hf.plan(DAY, hf.Guarantee(3, 0, protects=hf.Person(steps=3, apart=5)), method="input")
    for n, epsilon in ((1, 1), (5, 1), (6, 2), (10, 2), (11, 3), (500, 3)):
        assert person.privacy_after(n).epsilon(0) == pytest.approx(epsilon, rel=1e-9)
    blocks = plans()[4]
    right = blocks.pair.matrices(300)[1]
    for n in (1, 2, 10, 50, 299, 300):
        sums = right[:n].sum(axis=0).max()  # of the record that is in most of the first n
        expected = float(sums) / blocks.pair.squared_sensitivity()
        found = blocks.privacy_after(n).epsilon(0)
        assert found >= expected * (1 - 1e-9), n
        assert found <= blocks.privacy_at_age(n).epsilon(0), n


def test_the_sentences_hold_and_are_rounded_up():
    for plan in plans():
        guarantee = plan.guarantee
        rows = privacy_over_time.milestones(plan)
        assert rows[0].releases == 1
        assert rows[-1].releases == privacy_over_time.last_age(plan)
        for releases, epsilon in rows:
            # the sharp bound is inverted within 1e-6, the printed one within 0.2 %
            exact = plan.privacy_at_age(releases).epsilon(guarantee.delta)
            assert epsilon >= min(exact, guarantee.epsilon) * (1 - 2e-6), plan
            assert epsilon <= guarantee.epsilon
        text = " ".join(privacy_over_time.sentences(plan))
        numbers = re.findall(r"(?:epsilon =|at most) ([0-9.]*[0-9])", text)
        assert len(numbers) == len(rows) + (guarantee.protects.steps > 1)
        for number in map(float, numbers):
            assert any(e <= number <= e * 1.001 for _, e in (*rows, (0, guarantee.epsilon))), text
        assert ("together" in text) == (guarantee.protects.steps > 1)


def test_sentences_by_hand():
    square_root, inputs = plans()[1], plans()[3]
    assert privacy_over_time.sentences(square_root) == [
        "A record reveals at most epsilon = 0.7267 at delta = 0.000001 in the release of its own "
        "step.",
        "It has revealed at most 0.9461 after 9 releases, and at most 1 after 89 releases.",
        "Later releases reveal nothing more about it.",
    ]
    assert privacy_over_time.sentences(inputs)[0] == (
        "The whole privacy loss of a record, epsilon = 1, is spent in the release of its own step."
    )


@pytest.mark.parametrize("steps", [-1, 41, 1.5, "2", True])
def test_steps_are_within_the_horizon(steps):
    with pytest.raises(hf.HushfadeError, match="steps must be an integer"):
        hf.plan(hf.NoDecay(), ONE, horizon=40).privacy_after(steps)


@pytest.mark.parametrize("steps", [0, -1, 1.5, "2", True])
def test_an_age_is_a_number_of_releases(steps):
    with pytest.raises(hf.HushfadeError, match="steps must be an integer"):
        hf.plan(DAY, ONE).privacy_at_age(steps)
