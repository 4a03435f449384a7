"""The findings of an audit or a soak as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from lab import machine
from lab.findings import Finding, Part
from lab.paths import RESULTS

FOREWORD = """\
Written by `{command}` on {day}.  Machine: {machine}.

Each check has a claim, a measurement and a verdict; *info* marks a measurement without a verdict.
A control or a seeded bug breaks a protection on purpose, to show that the check detects it.

**{summary}**"""


def summary(parts: Sequence[Part]) -> str:
    """The number of checks that passed, and of bugs that the checks caught."""
    findings = [finding for part in parts for finding in part.findings]
    judged = [finding for finding in findings if finding.passed is not None]
    checks = [finding.passed is True for finding in judged if not finding.is_bug]
    bugs = [finding.passed is True for finding in judged if finding.is_bug]
    caught = f", bugs caught {sum(bugs)} of {len(bugs)}" if bugs else ""
    return f"{sum(checks)} of {len(checks)} checks passed{caught}"


def page(parts: Sequence[Part], *, title: str = "Audit", command: str = "make audit") -> str:
    """The complete report."""
    foreword = FOREWORD.format(
        command=command, day=date.today(), machine=machine.described(), summary=summary(parts)
    )
    return "\n\n".join([f"# {title}", foreword, *map(_markdown, parts)]) + "\n"


def write(text: str, name: str) -> None:
    """Write the page to docs/results."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def _markdown(part: Part) -> str:
    lines = ["| check | claim | measurement | verdict |", "| --- | --- | --- | --- |"]
    lines += [_row(finding) for finding in part.findings]
    return f"## {part.title}\n\n{part.sentence}\n\n" + "\n".join(lines)


def _row(finding: Finding) -> str:
    cells = (finding.subject, finding.claim, finding.measurement, finding.verdict)
    return f"| {' | '.join(cells)} |"
