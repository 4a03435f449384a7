"""Keyed noise near other keyed noise, streams that start, correlations: each check on its own."""

from dataclasses import replace

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, KeyedNoise, NoDecay, plan
from hushfade.audit import TINY
from hushfade.audit.correlations import either_side, independence, repeated, unlikely
from hushfade.audit.independence import _larger, _near, _near_plans, bindings, fork, starts
from hushfade.audit.observer import wide
from hushfade.audit.randomness import Chance
from hushfade.audit.replay import fresh, keyed
from hushfade.laws import Gaussian
from hushfade.planning import plan_file
from tests.audit.subjects import ENDING, KEYED, OTHER_LAWS, SINGLE, InProcess

ONE = Guarantee(1, 1e-6)
VECTORS = plan(Exponential(half_life=3), ONE, width=3, norm=1.0)
LAST = plan(NoDecay(), ONE, horizon=1)
LAW = Gaussian(900.0)
PLANS = {
    **OTHER_LAWS,
    "single": SINGLE,
    "keys": KEYED,
    "ending": ENDING,
    "vectors": VECTORS,
    "one step": LAST,
}


def failed(findings):
    return [finding.subject for finding in findings if finding.passed is False]


@pytest.mark.parametrize("found", PLANS.values(), ids=PLANS)
def test_the_right_one_is_not_accused(found):
    subject = InProcess()
    assert failed(bindings(subject, found, "a plan", Chance(1))) == []
    assert failed(starts(subject, found, TINY)) == []
    assert failed(fork(subject, found, "a plan")) == []
    assert failed(keyed(subject, found, "a plan", Chance(1))) == []
    assert failed(fresh(subject, found, "a plan", Chance(1))) == []


def test_near_bindings_are_some_two_hundred_and_none_comes_twice():
    told = [(at, each._key, each.stream, each.epoch) for at, each in _near(Chance(1).key())]
    assert len(set(told)) == len(told) > 200
    key = Chance(1).key()
    assert {(0, key, "n1", 0), (0, key, "n", 10), (1, key, "n", 0)} < set(told)
    assert {bytes(a ^ b for a, b in zip(key, other, strict=True)).count(0)
            for _, other, _, _ in told} == {31, 32}  # fmt: skip


@pytest.mark.parametrize("found", PLANS.values(), ids=PLANS)
def test_a_plan_twice_as_large_is_another_plan_with_the_same_noise_in_units(found):
    for each in (found, wide(found, 3)):
        assert _larger(each).digest != each.digest
        assert _larger(each).law == each.law
        assert _larger(each).grid.lanes == each.grid.lanes


@pytest.mark.parametrize("found", PLANS.values(), ids=PLANS)
def test_near_plans_are_all_others(found):
    digests = [each.digest for each in _near_plans(found)]
    assert len(set(digests)) == len(digests) > 10


def test_noise_that_is_bound_to_half_a_plan_is_noticed(monkeypatch):
    def half(document, hashed=plan_file._hashed):
        return hashed({k: v for k, v in document.items() if k not in {"decay", "guarantee"}})

    assert failed(bindings(InProcess(), SINGLE, "a plan", Chance(1))) == []
    monkeypatch.setattr(plan_file, "_hashed", half)
    found = replace(SINGLE)  # its digest is not known yet
    assert failed(bindings(InProcess(), found, "a plan", Chance(1))) == ["a plan, near plans"]


def test_a_state_that_does_not_know_its_epoch_is_noticed(monkeypatch):
    forgetful = property(lambda noise: {"kind": "keyed", "stream": noise.stream})
    monkeypatch.setattr(KeyedNoise, "identity", forgetful)
    assert failed(keyed(InProcess(), SINGLE, "a plan", Chance(1))) == [
        "a plan, loaded with other noise"
    ]


def draws(*shape):
    rng = np.random.default_rng(6)
    return [np.rint(rng.normal(size=shape) * 900).astype(np.int64) for _ in range(2)]


def correlated(parts):
    return failed(independence("noise", "z", LAW, parts))


def test_noise_without_correlation_is_not_accused():
    for shape in [(9000, 1), (2000, 10), (1, 900), (2, 700), (300, 80)]:
        assert correlated(draws(*shape)) == []


@pytest.mark.parametrize("lag", [1, 100, 2500, 7000])
def test_a_correlation_at_any_lag_is_seen(lag):
    parts = [z + np.roll(z, lag, axis=0) for z in draws(9000, 1)]
    assert correlated(parts) == ["z, steps"]


@pytest.mark.parametrize(("one", "other"), [(0, 1), (2, 9), (0, 63), (17, 40)])
def test_a_correlation_of_any_two_keys_is_seen(one, other):
    parts = draws(2000, 64)
    for z in parts:
        z[:, other] = -z[:, one]
    assert correlated(parts) == ["z, keys"]


def test_noise_that_is_nothing_has_no_p_value_but_zero():
    assert either_side(np.array([0.5, np.nan])) == 0.0
    nothing = [np.zeros((4000, 3), dtype=np.int64)]
    assert correlated(nothing) == ["z, steps", "z, keys"]


def test_a_run_that_comes_again_is_seen_at_any_distance_and_in_another_part():
    one, two = draws(3000, 1)
    assert repeated("noise", "z", LAW, [one, two]).passed
    two[1234:1244] = one[77:87]
    assert unlikely(LAW, 6000) <= 10
    assert not repeated("noise", "z", LAW, [one, two]).passed


def test_too_few_steps_for_a_run_of_draws_have_no_verdict():
    found = repeated("noise", "z", LAW, draws(3, 1000))
    assert found.passed is None
    assert found.measurement == "not tested: too few steps"
    assert found.level == 0.0
