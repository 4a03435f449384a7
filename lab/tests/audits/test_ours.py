"""The long audit: its pages state what the checks and the seeded bugs showed."""

from hushfade.audit import TINY
from hushfade.audit.findings import Finding as Found
from lab.audits import ours
from lab.audits.effort import QUICK
from tests.audit.seeded_bugs import Bug, every_bug

GOOD = Found("2 persons", "σ μ", "1 times that", passed=True, check="sensitivity")
BAD = Found("law", "its law", "χ² = 900", passed=False, p=1e-30, check="releases")


def test_a_plan_with_a_failed_check_fails_and_states_it():
    line = ours._line("a plan", [GOOD, BAD])
    assert line.verdict == "FAILED"
    assert line.measurement.startswith("1 of 2 checks; releases: law: χ² = 900; 1 times that")
    assert ours._line("a plan", [GOOD]).verdict == "passed"


def test_a_bug_that_no_check_notices_is_not_caught():
    name = "clip after sum, gaussian"
    bug, plan = every_bug()[name]
    assert ours.caught(name, bug, plan, TINY, 1).verdict == "caught"
    assert ours.caught("no bug at all", Bug(), plan, TINY, 1).verdict == "NOT CAUGHT"


def test_the_long_audit_covers_many_plans_and_bugs():
    assert len(ours.many_plans()) > 80
    assert len(every_bug()) > 70
    assert QUICK.seeds >= 10
