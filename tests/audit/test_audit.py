"""The audit passes hushfade, and detects every seeded bug for every law.

A statistical check fails a correct implementation below p = 1e-10, and a run with a probability
below 1e-6.  Seeds fix inputs and keys; fresh noise has none.
"""

import numpy as np
import pytest

import hushfade as hf
from hushfade.audit import TINY, Audit, Finding, Subject, audit
from hushfade.audit.findings import BROKEN, Chance, by_chance
from hushfade.audit.review import CHECKS, MOST, checked, usual_plans
from hushfade.errors import InvalidValue
from tests.audit import plans
from tests.audit.seeded_bugs import EACH_LAW, GAUSSIAN, LAWS, Bug, every_bug, plan

SEED = 5
BUGS = every_bug()


def failures(found):
    return [
        f"{one.check}: {one.subject}: {one.measurement}" for one in found if one.passed is False
    ]


def test_it_passes_plans_of_every_law_with_a_second_process():
    seen = []
    found = audit(size=TINY, seed=SEED, watch=lambda done, of, doing: seen.append((done, of)))
    assert failures(found.findings) == []
    assert {plan.law.name for plan in found.plans.values()} == {"gaussian", "laplace", "huber"}
    assert found.false_alarm < 1e-6
    assert {one.check for one in found.findings} == set(CHECKS)
    assert seen[0] == (0, 42)
    assert seen[-1] == (42, 42)


@pytest.mark.parametrize("kind", ["statistics", "units"])
def test_it_passes_every_statistic_and_every_unit(kind):
    for name, made in getattr(plans, kind)():
        found = audit({name: made}, size=TINY, seed=SEED, subject=Bug())
        assert failures(found.findings) == [], name


@pytest.mark.long
def test_it_passes_every_decay_relation_method_and_law():
    for name, made in plans.mechanisms():
        found = audit({name: made}, size=TINY, seed=SEED, subject=Bug())
        assert failures(found.findings) == [], name


def test_the_bugs_cover_what_the_audit_promises_for_each_law():
    assert set(LAWS) == {"gaussian", "laplace", "huber"}
    assert len(BUGS) == len(LAWS) * len(EACH_LAW) + len(GAUSSIAN)
    for law in LAWS:
        assert plan(law).law.name == law
        several = plan(law).pair.squared_sensitivity() > 1  # else R could be forgotten
        assert several or plan(law).taps.support > 1


@pytest.mark.parametrize("law", LAWS)
def test_every_seeded_bug_is_caught_by_a_check_that_completes(law):
    missed = []
    for name, (bug, made) in BUGS.items():
        if not name.endswith(law):
            continue
        with bug.patched():
            found = checked(bug, {"a plan": made}, TINY, Chance(SEED), lambda *watched: None)
            if not any(one.passed is False and one.check != BROKEN for one in found):
                missed.append(name)
    assert missed == []


def test_a_subject_without_a_bug_is_not_accused():
    for law in LAWS:
        found = audit({law: plan(law)}, size=TINY, seed=SEED, subject=Bug())
        assert failures(found.findings) == []


# The check that must detect a bug, whatever else does.
EXPECTED = {
    "noise 5 % too small": "sampler",
    "norm of R ignored": "sensitivity",
    "person counted as a record": "sensitivity",
    "wrong neighbours": "sensitivity",
    "resampling on replay": "replay",
    "clip after sum": "records",
    "off by one step: counted in the next step too": "private half",
    "key reuse: the same noise for two streams": "replay",
    "releases carry a bit of the totals": "private half",
    "older states accepted": "replay",
    "accountant a tenth too small": "claims",
}


def test_each_check_detects_the_bugs_that_it_is_for():
    for name, check in EXPECTED.items():
        bug, made = BUGS[f"{name}, gaussian"]
        with bug.patched():
            found = checked(bug, {"a plan": made}, TINY, Chance(SEED), lambda *watched: None)
            assert check in {one.check for one in found if one.passed is False}, name


def test_a_step_without_noise_is_found_by_the_likelihood_ratio():
    bug, made = BUGS["first step without noise, laplace"]
    found = checked(bug, {"a plan": made}, TINY, Chance(SEED), lambda *watched: None)
    assert {"mean loss", "events"} <= {one.subject for one in found if one.passed is False}


def test_a_seed_repeats_the_exact_measurements():
    made = {"a plan": plan("gaussian")}
    once, again = (audit(made, size=TINY, seed=9, subject=Bug()) for _ in range(2))
    assert [one.measurement for one in once.findings if one.check == "sampler"] == [
        one.measurement for one in again.findings if one.check == "sampler"
    ]
    assert once.seed == again.seed == 9


def test_a_check_that_raises_an_error_fails_without_its_message():
    class Broken(Subject):
        def draws(self, *given):
            raise MemoryError("z = 4711")

    found = audit({"a plan": plan("gaussian")}, size=TINY, seed=SEED, subject=Broken())
    assert found.broken
    assert {one.check for one in found.failed} == {BROKEN}
    assert "MemoryError in test_audit.py" in found.failed[0].measurement
    assert "4711" not in str(found.failed)


def test_too_many_plans_and_no_plans_are_refused():
    made = plan("gaussian")
    with pytest.raises(InvalidValue, match="must be 1 to 100"):
        audit({})
    with pytest.raises(InvalidValue, match="got 101"):
        audit({str(place): made for place in range(MOST + 1)})


def test_a_hundred_plans_have_a_false_alarm_rate_below_one_in_a_million():
    found = audit({"mean": usual_plans()["Huber, mean"]}, size=TINY, seed=SEED, subject=Bug())
    assert MOST * found.false_alarm < 1e-6


def test_verdicts_and_rates_of_a_run():
    good, rare = Finding("a", "b", "c", passed=True), by_chance("a", "b", "c", 0.5)
    bad, none = by_chance("a", "b", "c", np.nan), Finding("a", "b", "c", passed=None)
    assert [one.verdict for one in (good, rare, bad, none)] == [
        "passed",
        "passed",
        "FAILED",
        "info",
    ]
    assert [one.confidence for one in (good, rare, bad)] == ["exact", "p = 0.5", "p = 0"]
    found = Audit(TINY, 1, {}, (good, rare, bad, none), 0.1)
    assert found.failed == [bad]
    assert not found.broken
    assert found.smallest == 0.0
    assert found.false_alarm == pytest.approx(2e-10)


def test_a_subject_of_ones_own_needs_one_method():
    class HalfNoise(Subject):
        def start(self, plan, noise):
            stream = plan.start(noise)
            stream._engine.law = hf.crossing.sampling_tables.table(hf.laws.Gaussian(plan.sigma / 2))
            return stream

        elsewhere = Bug.elsewhere

    found = audit({"a plan": plan("gaussian")}, size=TINY, seed=SEED, subject=HalfNoise())
    # loaded streams have the right noise, so they differ
    assert {one.check for one in found.failed} == {"releases", "replay"}
