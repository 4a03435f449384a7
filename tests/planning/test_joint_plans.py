"""Several series under one guarantee."""

import math
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

import hushfade as hf
from hushfade.planning import joint_plans
from tests.public.statistics.all_statistics import STATISTICS

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PURE = hf.Guarantee(epsilon=1, delta=0)
WEEK, DAY = hf.SlidingWindow(length=7), hf.Exponential(half_life=24)


def test_one_series_has_the_plan_of_its_own():
    joint = hf.plan_together([DAY], ONE)
    assert joint.plans[0].digest == hf.plan(DAY, ONE).digest
    assert joint.errors == joint.alone


@pytest.mark.slow
def test_two_short_memories_keep_laplace_noise_and_many_have_gaussian_noise():
    two = hf.plan_together([WEEK] * 2, ONE)
    many = hf.plan_together([WEEK] * 20, ONE)
    assert {made.law.name for made in two.plans} == {"laplace"}
    assert {made.law.name for made in many.plans} == {"gaussian"}
    for joint, most in ((two, 1.0), (many, 0.5)):
        assert joint.privacy.delta(1.0) <= 1e-6 * (1 + 1e-9)
        assert joint.privacy.epsilon(1e-6) >= 0.99  # and spends what it has
        n = len(joint.plans)
        even = hf.plan(WEEK, hf.Guarantee(1 / n, 1e-6 / n))
        assert max(joint.errors) <= most * even.max_stddev(1000)


def test_statistics_share_a_guarantee():
    """Every statistic; errors are in records, like the errors of counts."""
    for neighbours in ("add_remove", "replace"):
        guarantee = hf.Guarantee.from_mu(0.3, delta=1e-6, neighbours=neighbours)
        series = [hf.Series(decay=WEEK, statistic=one) for one in STATISTICS.values()]
        joint = hf.plan_together(series, guarantee)
        assert [made.statistic for made in joint.plans] == list(STATISTICS.values())
        assert joint.privacy.delta(guarantee.epsilon) <= guarantee.delta * (1 + 1e-9)
        by_name = dict(zip(STATISTICS, joint.errors, strict=True))
        assert by_name["mean"] == pytest.approx(by_name["share"], rel=0.02)
        assert by_name["variance"] == pytest.approx(by_name["share"], rel=0.02)
        assert "SlidingWindow(length=7), mean:" in str(joint)


def test_gaussian_plans_share_mu_squared():
    joint = hf.plan_together([DAY, DAY, DAY, DAY], hf.Guarantee.from_mu(0.2))
    mus = [made.guarantee.mu for made in joint.plans]
    assert math.fsum(mu * mu for mu in mus) == pytest.approx(0.04, rel=1e-9)
    assert math.fsum(mu * mu for mu in mus) <= 0.04
    np.testing.assert_allclose(np.array(joint.errors) / joint.alone, 2.0, rtol=1e-6)


def test_joint_plans_do_not_depend_on_the_last_digits_of_a_machine(monkeypatch):
    """Other kernels of a library change errors and bounds by a relative 1e-12."""
    composed, error = joint_plans.composed_epsilon, hf.Series.error
    monkeypatch.setattr(joint_plans, "_SHAPES", (1.0,))
    short, long = hf.CustomDecay([1, 0.5]), hf.Exponential(half_life=4)

    def other(made):  # the errors of one series only, so that the shares of mu² change
        return 1.0 if made.decay == short else 1.0 + 1e-12

    def digests():
        for guarantee in (hf.Guarantee(1, 1e-3), hf.Guarantee.from_mu(0.3)):
            yield [made.digest for made in hf.plan_together([short, long], guarantee).plans]

    here = list(digests())
    monkeypatch.setattr(joint_plans, "composed_epsilon", lambda *a: (1.0 + 1e-12) * composed(*a))
    monkeypatch.setattr(hf.Series, "error", lambda one, made: other(made) * error(one, made))
    assert list(digests()) == here


@pytest.mark.slow
def test_a_weight_buys_accuracy():
    joint = hf.plan_together([WEEK, WEEK], ONE, weights=[1, 8])
    assert joint.errors[1] < 0.6 * joint.errors[0]
    assert joint.privacy.delta(1.0) <= 1e-6


def test_pure_privacy_adds_up():
    joint = hf.plan_together([WEEK, DAY], hf.Guarantee(1, 0))
    assert {made.law.name for made in joint.plans} == {"laplace"}
    assert 0.998 <= joint.privacy.epsilon(0) <= 1.0


@pytest.mark.slow
def test_a_series_has_its_own_records():
    series = [
        hf.Series(decay=WEEK, low=-1, high=3, resolution=1),
        hf.Series(decay=DAY, keys=("a",)),
    ]
    joint = hf.plan_together(series, ONE)
    assert joint.plans[0].grid.low == -1
    assert joint.plans[1].keys == ("a",)
    text = str(joint)
    assert text.startswith(ONE.sentence())
    assert "1. SlidingWindow(length=7)" in text


def test_series_may_have_steps_of_different_lengths():
    hourly = hf.Series(decay=DAY, every="1h", name="hourly")
    daily = hf.Series(decay=WEEK, every=timedelta(days=1))
    joint = hf.plan_together([hourly, daily], PURE)
    assert [made.every for made in joint.plans] == ["1h", "1d"]
    assert joint.errors == hf.plan_together([DAY, WEEK], PURE).errors
    assert joint.privacy.epsilon(0) <= 1
    text = str(joint)
    assert "1. hourly, Exponential(half_life=24.0) every 1h: " in text
    assert "2. SlidingWindow(length=7) every 1d: " in text


def test_limits_per_person_count_in_steps_of_one_length():
    hourly = hf.Series(decay=DAY, every="1h")
    for limit in (hf.Person(steps=2), hf.Person(records_per_step=2)):
        person = hf.Guarantee(1, 1e-6, protects=limit)
        for other in (hf.Series(decay=WEEK, every="1d"), hf.Series(decay=WEEK)):
            with pytest.raises(hf.HushfadeError, match="every must be the same for all series"):
                hf.plan_together([hourly, other], person)
        pure = replace(person, delta=0)
        joint = hf.plan_together([hourly, hf.Series(decay=WEEK, every="60min")], pure)
        assert joint.privacy.epsilon(0) <= 1


def test_equal_series_are_planned_once(monkeypatch):
    planned = []

    def counted(series, guarantee, method="best", law=None):
        planned.append((guarantee, law))
        return original(series, guarantee, method, law)

    original = hf.Series.plan
    monkeypatch.setattr(hf.Series, "plan", counted)
    hf.plan_together([hf.Series(decay=WEEK, name=str(place)) for place in range(20)], ONE)
    assert len(planned) == len(set(planned))


@pytest.mark.slow
def test_series_whose_records_change_a_value_or_a_key_share_a_guarantee():
    # replaced records with keys and bounds around 0 have two worst cases per series
    several = [
        hf.Series(decay=hf.SlidingWindow(length=length), low=-0.7, keys=("a", "b"))
        for length in (1, 2, 3)
    ]
    joint = hf.plan_together(several, hf.Guarantee(4, 1e-3, "replace"))
    assert all(len(made.privacy.cases) == 2 for made in joint.plans)
    assert joint.privacy.delta(4.0) <= 1e-3
    assert len(joint.privacy.cases) == 1
    pure = hf.plan_together(several, hf.Guarantee(1, 0, "replace"))
    assert math.fsum(made.privacy.epsilon(0) for made in pure.plans) <= 1 + 1e-12


def test_errors_name_the_series():
    for name, shown in ((None, "2"), ("daily", "'daily'")):
        wrong = hf.Series(decay=WEEK, resolution=3, name=name)
        with pytest.raises(hf.HushfadeError, match=f"^series {shown}: resolution must be"):
            hf.plan_together([WEEK, wrong], ONE)


@pytest.mark.parametrize(
    ("series", "weights", "message"),
    [
        ([], None, "series must have 1 to 100 entries"),
        ([WEEK, "day"], None, "series must be Series or decays"),
        ([WEEK], [1, 2], "weights must have one entry per series"),
        ([WEEK], [0.0], "weights must be > 0"),
    ],
)
def test_what_cannot_be_planned_is_refused(series, weights, message):
    with pytest.raises(hf.HushfadeError, match=message):
        hf.plan_together(series, ONE, weights=weights)
