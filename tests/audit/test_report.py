import json
import re
from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest

from hushfade.audit import QUICK, Audit, report
from hushfade.audit.finding import COINCIDENCE, LEVEL, by_chance, distinct, exact, info
from tests.audit.subjects import SINGLE

SAME = exact("replay", "a plan", "the same bytes", "0 differ", passed=True)
OTHER = exact("replay", "a | plan", "the same bytes", "3 differ", passed=False)
LIKELY = by_chance("sampler", "σ = 3", "its law", "χ² = 20", 0.4)
RARE = by_chance("sampler", "σ = 9", "its law", "χ² = 30", 0.002)
APART = distinct("fork", "a plan", "other draws", "other draws", passed=True)
TIMED = info("timing", "a plan", "nothing", "5 ns", "none")
GOOD = Audit(QUICK, 7, {"a plan": SINGLE}, (SAME, LIKELY, RARE, APART, TIMED), 1.0)
BAD = Audit(QUICK, 7, {"a plan": SINGLE}, (SAME, OTHER), 1.0)


def test_the_summary_counts_every_verdict():
    assert report.summary(GOOD) == "5 checks: 4 passed, 0 failed, 1 without a verdict."
    assert report.summary(BAD) == "2 checks: 1 passed, 1 failed."


def test_the_false_alarm_rate_is_the_sum_of_the_levels():
    assert GOOD.false_alarm == 2 * LEVEL + COINCIDENCE
    assert f"of about {2 * LEVEL:.1g}" in report.confidence(GOOD)
    assert "Another 1 look for repeated draws" in report.confidence(GOOD)
    assert "0.002" in report.confidence(GOOD)


def test_the_statement_says_what_failed_and_how_to_repeat_it():
    assert "replay" in report.statement(BAD)
    assert "Seed 7" in report.statement(BAD)
    assert report.statement(GOOD).startswith("On this machine and for these plans")


def test_a_check_that_broke_down_shows_nothing_and_accuses_nobody():
    broken = exact("audit", "a plan: records", "the check completes", "MemoryError", passed=False)
    said = report.statement(Audit(QUICK, 7, {"a plan": SINGLE}, (SAME, broken), 1.0))
    assert said.startswith("Some checks did not complete and show nothing: a plan: records.")
    assert "Do not publish" not in said


def test_a_failure_beside_a_breakdown_is_a_failure():
    broken = exact("audit", "a plan: records", "the check completes", "MemoryError", passed=False)
    found = Audit(QUICK, 7, {"a plan": SINGLE}, (OTHER, broken), 1.0)
    assert not found.broken
    assert "Do not publish" in report.statement(found)


def test_a_line_has_the_worst_of_its_check():
    found = {line.check: line for line in report.lines((*GOOD.findings, OTHER))}
    assert found["sampler"].example is RARE
    assert found["replay"].example is OTHER
    assert (found["replay"].count, found["replay"].failed) == (2, 1)
    assert found["timing"].smallest is None


def test_a_measurement_without_a_verdict_does_not_count_as_passed():
    few = info("replay", "a plan", "the same bytes", "not looked at", "none")
    assert [line.passed for line in report.lines((SAME, few))] == ["1 of 1, 1 info"]
    assert [line.passed for line in report.lines((few,))] == ["info"]
    assert [line.passed for line in report.lines((SAME, OTHER))] == ["1 of 2"]


def test_the_document_is_json_with_every_finding():
    found = json.loads(json.dumps(report.document(BAD), allow_nan=False))
    assert found["passed"] is False
    assert found["plans"][0]["digest"] == SINGLE.digest.hex()
    assert datetime.fromisoformat(found["began"]).utcoffset() == timedelta(0)
    assert [finding["verdict"] for finding in found["findings"]] == ["passed", "FAILED"]


def test_the_markdown_has_every_finding_and_no_broken_table():
    text = report.markdown(BAD)
    assert "a \\| plan" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}


@pytest.mark.parametrize(("found", "marked"), [(GOOD, "holds"), (BAD, "false")])
def test_the_page_needs_no_other_and_marks_verdicts(found, marked):
    text = report.html(found)
    assert f'<td class="{marked}">' in text
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r'(src|href)="(?!#|data:)', text)


def test_every_check_has_its_sentence():
    assert all(sentence.endswith(".") for sentence in report.CHECKS.values())


HOSTILE = [
    "<img src=x onerror=alert(1)>.json",
    "a\n\n<script>alert(1)</script>\n\nb",
    "[a](https://example.org) ![b](https://example.org/b.png) <https://example.org>",
    "`a` *b* _c_ &lt;b&gt; \\<i> \\",
    "a | b \\| <u>c</u>\u2028# d",
]


class Read(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_as_it_is_and_is_no_part_of_the_page(name):
    findings = [
        exact("replay", f"{name}, bytes", "the same bytes", "0 differ", passed=True),
        exact("audit", name, "the check completes", "MemoryError", passed=False),
    ]
    text = report.html(Audit(QUICK, 7, {name: SINGLE}, findings, 1.0))
    usual = report.html(GOOD)
    found = Read(text)
    assert found.tags == Read(usual).tags
    assert found.text.count(" ".join(name.split())) == 7  # title, heading, verdict, plan, 3 rows
