"""The page of results tells what the audit found."""

import pytest

from audits import own, report
from audits.bugs import bugs, sought
from audits.mutations import MUTANTS
from audits.seeds import audited
from hushfade.audit import TINY, Audit, audit
from hushfade.audit.finding import by_chance, exact
from tests.audit.bugs import BUGS, SINGLE, Bug, Seeded

GOOD = exact("sensitivity", "one / plan, a record more, first step", "μ", "1 μ", passed=True)
BAD = exact("sensitivity", "two / plan, a record more, first step", "μ", "2 μ", passed=False)
RARE = by_chance("sampler", "σ = 3", "its law", "χ² = 9", 0.01)


def test_every_plan_and_every_check_has_a_line_with_its_verdict():
    found = Audit(TINY, 1, {"one / plan": SINGLE, "two / plan": SINGLE}, (GOOD, BAD, RARE), 1.0)
    checks, plans, sampler, *_ = own.told(found)
    assert [(f.subject, f.verdict) for f in checks.findings] == [
        ("sensitivity", "FAILED"), ("sampler", "passed"),
    ]  # fmt: skip
    assert [(f.subject, f.verdict) for f in plans.findings] == [
        ("one / plan", "passed"), ("two / plan", "FAILED"),
    ]  # fmt: skip
    assert "1 of 1 checks" in plans.findings[0].measurement
    assert "2 μ" in plans.findings[1].measurement
    assert "p = 0.01" in sampler.findings[0].measurement


def test_what_is_told_without_a_verdict_counts_for_nothing():
    found = audit({"a plan": SINGLE}, size=TINY, seed=1, subject=Seeded())
    parts = own.told(found)
    timing = next(part for part in parts if part.title == "Timing")
    assert {finding.verdict for finding in timing.findings} == {"told"}
    judged = [f for part in parts for f in part.findings if f.passed is not None]
    assert f"{len(judged)} of {len(judged)} checks passed" in report.summary(parts)
    assert "| told |" in report.page(parts)


@pytest.mark.parametrize(
    ("title", "listed"),
    [("Seeded bugs", set(bugs())), ("Mutants", set(MUTANTS))],
    ids=["bugs", "mutants"],
)
def test_the_committed_page_has_every_bug_and_every_mutant_as_caught(title, listed):
    text = (report.RESULTS / "audit.md").read_text(encoding="utf-8")
    section = text.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    assert {row[0] for row in rows if row[-1] == "caught"} == listed  # else run make audit


def test_a_bug_that_no_check_notices_is_not_caught():
    assert sought("half noise", BUGS["half noise"]).verdict == "caught"
    assert sought("no bug at all", Bug(Seeded(), SINGLE)).verdict == "NOT CAUGHT"


def test_an_audit_with_a_seed_gives_its_p_values():
    ps, failed, exact_ones = audited(1000)
    assert failed == 0
    assert len(ps) > 10
    assert exact_ones > 10
    assert min(ps) > 1e-10  # fresh noise has no seed: fails by chance in fewer than 1e-6
