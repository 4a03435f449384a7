import math

import numpy as np
import pytest
from scipy import stats

import hushfade as hf
from hushfade.cli import plain_words
from hushfade.cli.attacker_odds import larger_loss, odds
from hushfade.cli.protected_unit import ProtectedUnit
from hushfade.planning.epochs import Epochs
from hushfade.privacy.epsilon_search import epsilon_of_loss
from hushfade.privacy.loss import PrivacyLoss
from tests.decays import ALL_DECAYS

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
RECORD = ProtectedUnit(ONE.relation)


def explanation(plan, *, person=False):
    return plain_words.explanation(Epochs.one(plan), person)


FREE = [decay for decay in ALL_DECAYS if decay.horizon_free]


@pytest.mark.parametrize("decay", FREE, ids=repr)
def test_every_plan_is_explained_in_whole_sentences(decay):
    found = explanation(hf.plan(decay, ONE))
    assert len(found) == 9
    for lines in found.values():
        assert lines
        assert all(line.endswith(".") for line in lines)


def test_a_statistic_is_explained_by_its_noisy_sums():
    ratio = hf.Ratio(numerator=1, denominator=2, most=1)
    for statistic, most in ((hf.Mean(low=0, high=9), "1"), (ratio, "at most 2")):
        made = hf.plan(hf.SlidingWindow(length=7), ONE, statistic=statistic)
        text = " ".join(line for lines in explanation(made).values() for line in lines)
        assert f"A record adds {most} in total to these sums" in text
        assert "true sum" not in text


def test_the_odds_are_those_of_two_normals():
    """The privacy loss is normal: drawn here, not computed by the same formula."""
    mu, epsilon = 1.0, 1.5
    drawn = np.random.default_rng(1).normal(mu, 1.0, 400_000)
    loss = stats.norm.logpdf(drawn, mu) - stats.norm.logpdf(drawn, 0.0)
    sure, guess, _ = odds(PrivacyLoss.gaussian(mu), epsilon, RECORD)
    told = float(sure.partition("probability of at most ")[2].removesuffix("."))
    assert told == pytest.approx(np.mean(loss > epsilon), abs=0.015)  # two digits, rounded up
    assert told >= stats.norm.cdf(mu / 2 - epsilon / mu)
    right = float(guess.partition("at most ")[2].partition(" times")[0])
    assert right == pytest.approx(100 * np.mean(loss > 0), abs=0.3)  # 4 standard errors
    assert right >= 100 * stats.norm.cdf(mu / 2)
    posterior = math.exp(epsilon) / (1 + math.exp(epsilon))  # 81.757 %
    assert posterior < 0.818
    assert "at most 81.8 % sure" in sure


def test_the_odds_of_other_laws_bound_a_loss_that_is_drawn():
    """Laplace's law: the loss is at most epsilon.  Huber's: compared with draws of the loss."""
    week = hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 0), resolution=1)
    assert larger_loss(week.privacy, 1.0) == 0.0
    sure, guess, _ = odds(week.privacy, 1.0, RECORD)
    assert sure.endswith("at most 73.2 % sure.")
    # the best guess is right with probability 1 / (1 + q), q = e^-1: 73.106 %
    assert "at most 73.2 times" in guess
    day = hf.plan(hf.Exponential(half_life=60), ONE)
    assert day.law.name == "huber"
    generator = np.random.default_rng(3)
    ((law, shifts),) = day.privacy.cases[0].shifted
    loss = np.zeros(20_000)
    edges = law.core * np.linspace(-30, 30, 200_001)
    cumulative = law.below(edges)
    for size, times in shifts:
        for _ in range(times):
            z = np.round(np.interp(generator.random(len(loss)), cumulative, edges))
            loss += law.log_probability(z) - law.log_probability(z - size)
    for epsilon in (0.2, 0.4):
        share = float(np.mean(loss > epsilon))
        # 4 standard errors of the share
        assert larger_loss(day.privacy, epsilon) >= share - 4 * math.sqrt(share / len(loss))


def test_an_epsilon_that_is_searched_holds_and_is_near_the_smallest():
    for loss in (
        PrivacyLoss.gaussian(0.3),
        hf.plan(hf.Exponential(half_life=24), ONE, method="blend").privacy,
        hf.plan(hf.SlidingWindow(7), ONE).privacy,
    ):
        for guess in (0.05, 1.0, 30.0):
            found = epsilon_of_loss(loss, 1e-6, guess)
            assert loss.delta(found) <= 1e-6
            assert loss.epsilon(1e-6) * (1 - 1e-5) <= found <= loss.epsilon(1e-6) * 1.0021


@pytest.mark.parametrize("law", ["laplace", "huber"])
def test_other_laws_state_what_a_changed_record_costs(law):
    method = "input" if law == "laplace" else "blend"
    plan = hf.plan(
        hf.SlidingWindow(64), ONE, low=-1, high=1, keys=["a", "b"], method=method, law=law
    )
    explained = explanation(plan)
    del explained["Privacy loss over time"]  # which begins with less than epsilon
    lines = " ".join(line for part in explained.values() for line in part)
    assert "a weaker guarantee than one record: epsilon = 2 at delta" in lines
    epsilons = [float(part.split()[0].rstrip(".,")) for part in lines.split("epsilon = ")[1:]]
    # twice the shift has twice the loss; at the same delta Huber noise needs a little more
    most = 2.0 if law == "laplace" else 2.1
    assert all(1 <= epsilon <= most for epsilon in epsilons), epsilons
    assert "mu =" not in lines


@pytest.mark.parametrize("high", [1e-3, 1, 50, 1e6])
def test_the_example_of_accuracy_is_within_its_deviation(high):
    plan = hf.plan(hf.SlidingWindow(7), ONE, low=0, high=high)
    line = explanation(plan)["How accurate"][0]
    true = float(line.partition("A true sum of ")[2].partition(" ")[0])
    low, _, end = line.partition("between ")[2].partition(" and ")
    top = end.partition(",")[0]
    half = plan.interval(1000)[1]
    assert half * 0.999999 <= float(top) - true <= half * 1.1  # two digits, rounded outwards
    assert half * 0.999999 <= true - float(low) <= half * 1.1


def test_who_is_protected_follows_the_guarantee():
    many = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=3, apart=5, records_per_step=2))
    who = explanation(hf.plan(hf.PowerLaw(1), many))["Who is protected"]
    assert (
        who[0]
        == "A person with at most 2 records per step, in at most 3 steps that are at least 5 "
        "steps apart."
    )
    assert who[1].startswith("hushfade assumes, and does not check, that no person has more")
    assert who[2].startswith("hushfade enforces limits per person where it knows")
    kept = explanation(hf.plan(hf.PowerLaw(1), many), person=True)["Who is protected"]
    assert not any("does not check" in line for line in kept)
    replaced = hf.Guarantee(1, 1e-6, "replace")
    values = explanation(hf.plan(hf.PowerLaw(1), replaced))
    assert "does not hide whether the record exists" in values["Who is protected"][2]
    assert "which of two values" in values["What epsilon means"][1]


@pytest.mark.parametrize(
    ("records", "value", "key"),
    [
        ({"low": 0, "high": 1}, 1.0, None),
        ({"low": -1, "high": 1}, 2.0, None),
        ({"low": -1, "high": 3}, 4 / 3, None),
        ({"low": 2, "high": 4}, 0.5, None),
        ({"low": 0, "high": 1, "keys": ["a", "b"]}, 1.0, math.sqrt(2)),
        ({"width": 3, "norm": 2}, 2.0, None),
    ],
)
def test_under_add_remove_it_is_said_what_a_changed_record_costs(records, value, key):
    """Each printed epsilon holds for the shift, in multiples of the planned one, and barely so."""
    made = {"resolution": 2.0**-10, "method": "square_root"}
    plan = hf.plan(hf.SlidingWindow(3), ONE, **made, **records)
    lines = explanation(plan)["Who is protected"]
    moved = {
        "The guarantee is for adding or removing records. Changing a value": value,
        "Moving a record to another key changes two series": key,
        "Moving a record to another step is also one removal plus one addition": 2.0,
        "Two records together have a weaker guarantee than one record": 2.0,
    }
    for words, shift in moved.items():
        printed = [line for line in lines if line.startswith(words)]
        assert len(printed) == (shift is not None)
        for line in printed:
            epsilon = float(line.partition("epsilon = ")[2].partition(" ")[0])
            exact = hf.epsilon_of(shift * ONE.mu, ONE.delta)
            assert exact * (1 - 1e-9) <= epsilon <= exact * 1.002
    if "norm" not in records:  # the same shift as where records are replaced
        low, high = records["low"], records["high"]
        replaced = hf.Guarantee(1, 1e-6, "replace")
        assert replaced.change(low, high) / ONE.change(low, high) == pytest.approx(value)


def test_where_records_are_replaced_a_changed_one_is_what_is_protected():
    plan = hf.plan(hf.SlidingWindow(3), hf.Guarantee(1, 1e-6, "replace"), keys=["a", "b"])
    lines = explanation(plan)["Who is protected"]
    assert not any("removal" in line or "another key" in line for line in lines)


def test_people_with_more_records_are_warned_of_once_it_matters():
    warned = "Counting more records per person"
    many = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=2))
    for guarantee, count in ((ONE, 0), (many, 1)):
        lines = explanation(hf.plan(hf.PowerLaw(1), guarantee))["What must not be done"]
        assert sum(line.startswith(warned) for line in lines) == count
