import pytest

from hushfade import Exponential, Guarantee, InvalidValue, NoDecay, plan
from hushfade.audit import TINY, audit, report
from hushfade.audit.finding import FALSE_ALARM
from hushfade.audit.randomness import Chance
from hushfade.audit.review import BROKEN, MOST, checked
from tests.audit.subjects import InProcess

PLAN = {"a plan": plan(Exponential(half_life=3), Guarantee(1, 1e-6))}


def statistics(found):
    fresh = {"fresh noise twice", "fresh noise", "default noise"}  # the seed has no part in it
    return [
        finding
        for finding in found.findings
        if finding.passed is not None and not fresh & set(finding.subject.split(", "))
    ]


@pytest.fixture(scope="module")
def audited():
    """An audit, and the progress it reported."""
    progress = []
    found = audit(
        PLAN,
        size=TINY,
        seed=3,
        subject=InProcess(),
        watch=lambda done, of, doing: progress.append((done, of)),
    )
    return found, progress


def test_a_seed_repeats_an_audit(audited):
    one, again = audited[0], audit(PLAN, size=TINY, seed=3, subject=InProcess())
    assert statistics(one) == statistics(again)
    other = audit(PLAN, size=TINY, seed=4, subject=InProcess())
    assert [f.p for f in statistics(other)] != [f.p for f in statistics(one)]


def test_without_a_seed_every_audit_draws_anew():
    assert Chance().seed != Chance().seed


def test_progress_is_told_from_the_first_job_to_the_last(audited):
    _, seen = audited
    total = seen[0][1]
    assert seen == [(done, total) for done in range(total + 1)]


def test_a_check_that_breaks_down_has_failed_and_its_message_is_not_told():
    class Broken(InProcess):
        def start(self, plan, noise):
            raise ValueError("the noise was 987654")

    findings = list(checked(Broken(), PLAN, TINY, Chance(1)))
    broken = [finding for finding in findings if finding.check == BROKEN]
    assert broken
    assert not any(finding.passed for finding in broken)
    assert "987654" not in repr(findings)


def test_every_check_has_a_place_in_the_report(audited):
    found, _ = audited
    assert {finding.check for finding in found.findings} < set(report.CHECKS)


def test_the_levels_of_one_plan_are_below_its_share():
    # every kind of change: two kinds, at four places
    swapped = Guarantee(1, 1e-6, neighbours="replace")
    most = plan(NoDecay(), swapped, horizon=200, method="normalized", keys=["a", "b", "c"])
    found = audit({"a plan": most}, size=TINY, seed=3, subject=InProcess())
    assert FALSE_ALARM / MOST / 2 < found.false_alarm <= FALSE_ALARM / MOST


def test_too_many_plans_are_refused_before_anything_runs():
    seen = []
    many = {str(number): PLAN["a plan"] for number in range(MOST + 1)}
    with pytest.raises(InvalidValue, match=r"plans must be at most 80 .* got 81"):
        audit(many, size=TINY, watch=lambda *told: seen.append(told))
    assert seen == []


def test_no_plan_is_refused():
    with pytest.raises(InvalidValue, match="plans must not be empty"):
        audit({})
