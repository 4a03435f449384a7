"""hushfade's own audit at full length, as parts of the page: per check and per plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hushfade import audit as room
from hushfade.audit import Audit, report
from hushfade.audit.finding import Finding as Found
from lab.audits.effort import FULL, Size
from lab.findings import Finding, Part
from lab.progress import progress

_LARGEST = ("heaviest", "another key", "first")  # words for the change with the largest effect


def parts(size: Size) -> list[Part]:
    """The parts of the page, from every check on plans of all kinds."""
    done: Audit = room.audit(size=room.FULL if size == FULL else room.QUICK, watch=_watch)
    progress(f"{report.summary(done)} {done.seconds:.0f} s")
    return parts_of(done)


def parts_of(done: Audit) -> list[Part]:
    """One line per check, one line per plan, and all findings of checks that concern no plan."""
    return [_checks(done), _plans(done), *_general(done)]


def _watch(done: int, of: int, doing: str) -> None:
    if done % 25 == 0:
        progress(f"{done} of {of}: {doing}")


def _checks(done: Audit) -> Part:
    """One line per check."""
    findings = []
    for line in report.lines(done.findings):
        if not line.count:
            continue
        p = "" if line.smallest is None else f"; smallest p = {line.smallest:.2g}"
        shown = f"{line.passed}{p}"
        findings.append(Finding(line.check, report.CHECKS[line.check], shown, line.failed == 0))
    sentence = (
        f"`hushfade audit --{done.size.name}` on {len(done.plans)} plans, seed {done.seed}, "
        f"{done.seconds:.0f} s. {report.summary(done)} {report.confidence(done)} "
        f"{report.statement(done)}"
    )
    return Part("Checks", sentence, findings)


def _plans(done: Audit) -> Part:
    """One line per plan: the exact shift, the measured μ or mean loss, the scale of the noise."""
    findings = []
    for plan in done.plans:
        mine = [found for found in done.findings if found.subject.split(", ")[0] == plan]
        ps = [found.p for found in mine if found.p is not None]
        failed = sum(found.passed is False for found in mine)
        shown = "; ".join(
            [
                f"{len(mine) - failed} of {len(mine)} checks",
                f"smallest p = {min(ps, default=1.0):.2g}",
                *_first(mine, "sensitivity", _LARGEST),
                *(f"μ {text}" for text in _first(mine, "μ-test", _LARGEST)),
                *(f"loss {text}" for text in _first(mine, "likelihood ratio", ("mean loss",))),
                *(f"noise {text}" for text in _first(mine, "noise in releases", ("scale",))),
            ]
        )
        findings.append(Finding(plan, "every check", shown, failed == 0))
    return Part(
        "Plans",
        "The plans cover every decay, both neighbouring relations, every method and law, and keys, "
        "vectors and several records per person. Each line shows the change with the largest "
        "effect: its exact size, and the measured μ or the mean loss under both streams, ± one "
        "standard error. It ends with the measured standard deviation of the noise, relative to "
        "the stated one.",
        findings,
    )


def _first(findings: Sequence[Found], check: str, words: Sequence[str]) -> Iterator[str]:
    """The measurement of the check's first finding that contains a word; earlier words win."""
    for word in words:
        for found in findings:
            if found.check == check and word in found.subject:
                yield found.measurement
                return


def _general(done: Audit) -> Iterator[Part]:
    """All findings of the checks that concern no single plan."""
    titles = {
        "sampler": "Sampler",
        "precision attack": "Precision attack",
        "fresh keys": "Fresh keys",
        "timing": "Timing",
    }
    for check, title in titles.items():
        found = [finding for finding in done.findings if finding.check == check]
        rows = [
            Finding(each.subject, each.claim, f"{each.measurement}; {each.confidence}", each.passed)
            for each in found
        ]
        yield Part(title, report.CHECKS[check], rows)
