import math

import numpy as np
import pytest
from scipy import stats

import hushfade as hf
from hushfade.cli import plain_words
from tests.decays import ALL_DECAYS

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
FREE = [decay for decay in ALL_DECAYS if decay.horizon_free]


@pytest.mark.parametrize("decay", FREE, ids=repr)
def test_every_plan_is_explained_in_whole_sentences(decay):
    found = plain_words.explanation(hf.plan(decay, ONE))
    assert len(found) == 7
    for lines in found.values():
        assert lines
        assert all(line.endswith(".") for line in lines)


def test_the_odds_are_those_of_two_normals():
    """The privacy loss is normal: drawn here, not computed by the same formula."""
    mu, epsilon = 1.0, 1.5
    drawn = np.random.default_rng(1).normal(mu, 1.0, 400_000)
    loss = stats.norm.logpdf(drawn, mu) - stats.norm.logpdf(drawn, 0.0)
    sure, guess = plain_words.odds(mu, epsilon, "add_remove")
    told = float(sure.partition("probability of at most ")[2].removesuffix("."))
    assert told == pytest.approx(np.mean(loss > epsilon), abs=0.015)  # two digits, rounded up
    assert told >= stats.norm.cdf(mu / 2 - epsilon / mu)
    right = float(guess.partition("at most ")[2].partition(" times")[0])
    assert right == pytest.approx(100 * np.mean(loss > 0), abs=0.3)  # 4 standard errors
    assert right >= 100 * stats.norm.cdf(mu / 2)
    posterior = math.exp(epsilon) / (1 + math.exp(epsilon))  # 81.757 %
    assert posterior < 0.818
    assert "at most 81.8 % sure" in sure


@pytest.mark.parametrize("high", [1e-3, 1, 50, 1e6])
def test_the_example_of_accuracy_is_within_its_deviation(high):
    plan = hf.plan(hf.SlidingWindow(7), ONE, low=0, high=high)
    line = plain_words.explanation(plan)["How accurate"][0]
    true = float(line.partition("A true ")[2].partition(" ")[0])
    low, _, end = line.partition("show as ")[2].partition(" to ")
    top = end.partition(",")[0]
    half = 1.96 * plan.stddev(1000)
    assert float(top) - true == pytest.approx(half, rel=0.06)  # two digits are told
    assert true - float(low) == pytest.approx(half, rel=0.06)


def test_who_is_protected_follows_the_guarantee():
    many = hf.Guarantee(1, 1e-6, participations=3, separation=5, records_per_step=2)
    who = plain_words.explanation(hf.plan(hf.PowerLaw(1), many))["Who is protected"]
    assert (
        who[0] == "A person with up to 2 records in each of up to 3 steps, at least 5 steps apart."
    )
    replaced = hf.Guarantee(1, 1e-6, "replace")
    values = plain_words.explanation(hf.plan(hf.PowerLaw(1), replaced))
    assert "not hidden that the person has records" in values["Who is protected"][1]
    assert "which of two values" in values["What epsilon means"][1]


def test_people_with_more_records_are_warned_of_once_it_matters():
    warned = "Letting a person have more records"
    many = hf.Guarantee(1, 1e-6, participations=2)
    for guarantee, count in ((ONE, 0), (many, 1)):
        lines = plain_words.explanation(hf.plan(hf.PowerLaw(1), guarantee))["What must not be done"]
        assert sum(line.startswith(warned) for line in lines) == count
