"""The page of results states what the audit found."""

import pytest

from hushfade.audit import TINY, Audit, audit
from hushfade.audit.finding import by_chance, exact
from lab import findings_page
from lab.audits import full_audit
from lab.audits.bug_search import searched
from lab.audits.false_alarms import audited
from lab.audits.mutants import RIGHT
from lab.audits.mutations import MUTANTS
from lab.audits.seeded_bugs import SEEDED_BUGS
from lab.audits.seeded_bugs.subjects import SINGLE, Bug, Seeded
from lab.paths import RESULTS

GOOD = exact("sensitivity", "one / plan, an added record, first step", "μ", "1 μ", passed=True)
BAD = exact("sensitivity", "two / plan, an added record, first step", "μ", "2 μ", passed=False)
RARE = by_chance("sampler", "σ = 3", "its law", "χ² = 9", 0.01)


def test_every_plan_and_every_check_has_a_line_with_its_verdict():
    found = Audit(TINY, 1, {"one / plan": SINGLE, "two / plan": SINGLE}, (GOOD, BAD, RARE), 1.0)
    checks, plans, sampler, *_ = full_audit.parts_of(found)
    assert [(f.subject, f.verdict) for f in checks.findings] == [
        ("sensitivity", "FAILED"), ("sampler", "passed"),
    ]  # fmt: skip
    assert [(f.subject, f.verdict) for f in plans.findings] == [
        ("one / plan", "passed"), ("two / plan", "FAILED"),
    ]  # fmt: skip
    assert "1 of 1 checks" in plans.findings[0].measurement
    assert "2 μ" in plans.findings[1].measurement
    assert "p = 0.01" in sampler.findings[0].measurement


def test_measurements_without_a_verdict_count_for_nothing():
    found = audit({"a plan": SINGLE}, size=TINY, seed=1, subject=Seeded())
    parts = full_audit.parts_of(found)
    timing = next(part for part in parts if part.title == "Timing")
    assert {finding.verdict for finding in timing.findings} == {"info"}
    judged = [f for part in parts for f in part.findings if f.passed is not None]
    assert f"{len(judged)} of {len(judged)} checks passed" in findings_page.summary(parts)
    assert "| info |" in findings_page.page(parts)


LISTS = {"Seeded bugs": set(SEEDED_BUGS), "Mutants": set(MUTANTS)}


def verdicts(title):
    """The verdicts of a section of the committed page, by name."""
    text = (RESULTS / "audit.md").read_text(encoding="utf-8")
    section = text.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    return {row[0]: row[-1] for row in rows[2:] if row[0] != RIGHT}


@pytest.mark.parametrize("title", LISTS)
def test_the_committed_page_names_bugs_and_mutants_that_exist_and_all_are_caught(title):
    page = verdicts(title)
    assert len(page) > 60
    assert set(page) <= LISTS[title]
    assert set(page.values()) == {"caught"}


@pytest.mark.long  # a new mutant is on the page after the next `make audit`, which takes an hour
@pytest.mark.parametrize("title", LISTS)
def test_the_committed_page_has_every_bug_and_every_mutant(title):
    assert set(verdicts(title)) == LISTS[title]  # else run make audit


def test_a_bug_that_no_check_notices_is_not_caught():
    assert searched("half noise", SEEDED_BUGS["half noise"]).verdict == "caught"
    assert searched("no bug at all", Bug(Seeded(), SINGLE)).verdict == "NOT CAUGHT"


def test_an_audit_with_a_seed_gives_its_p_values():
    ps, failed, exact_ones = audited(1000)
    assert failed == 0
    assert len(ps) > 10
    assert exact_ones > 10
    assert min(ps) > 1e-10  # fresh noise has no seed: fails by chance in fewer than 1e-6
