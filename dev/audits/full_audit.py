"""hushfade's own audit at full length, as parts of the page: by check, and by plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dev.audits.effort import FULL, Size
from dev.findings import Finding, Part
from dev.progress import progress
from hushfade import audit as room
from hushfade.audit import Audit, report
from hushfade.audit.finding import Finding as Found

_LARGEST = ("heaviest", "another key", "first")  # words for the change with the largest effect


def parts(size: Size) -> list[Part]:
    """Every check on plans of all kinds."""
    done: Audit = room.audit(size=room.FULL if size == FULL else room.QUICK, watch=_watch)
    progress(f"{report.summary(done)} {done.seconds:.0f} s")
    return parts_of(done)


def parts_of(done: Audit) -> list[Part]:
    """A line for each check, a line for each plan, and in full what concerns no single plan."""
    return [_checks(done), _plans(done), *_listed(done)]


def _watch(done: int, of: int, doing: str) -> None:
    if done % 25 == 0:
        progress(f"{done} of {of}: {doing}")


def _checks(done: Audit) -> Part:
    """One line for each check."""
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
    """One line for each plan: the exact shift, the measured μ, the scale of the noise."""
    findings = []
    for plan in done.plans:
        mine = [found for found in done.findings if found.subject.split(", ")[0] == plan]
        ps = [found.p for found in mine if found.p is not None]
        failed = sum(found.passed is False for found in mine)
        shown = "; ".join(
            [
                f"{len(mine) - failed} of {len(mine)} checks",
                f"smallest p = {min(ps, default=1.0):.2g}",
                *_told(mine, "sensitivity", _LARGEST),
                *(f"μ {text}" for text in _told(mine, "μ-test", _LARGEST)),
                *(f"loss {text}" for text in _told(mine, "likelihood ratio", ("mean loss",))),
                *(f"noise {text}" for text in _told(mine, "noise in releases", ("scale",))),
            ]
        )
        findings.append(Finding(plan, "every check", shown, failed == 0))
    return Part(
        "Plans",
        "Every decay, both relations of neighbours, every method and law, and keys, vectors, "
        "several records besides. For each the change with the largest effect: its exact size, "
        "and the measured μ or the mean loss under both streams, ± one standard error; then the "
        "noise's standard deviation against the stated.",
        findings,
    )


def _told(findings: Sequence[Found], check: str, words: Sequence[str]) -> Iterator[str]:
    """The measurement of the first finding of the check with one of the words, by rank."""
    for word in words:
        for found in findings:
            if found.check == check and word in found.subject:
                yield found.measurement
                return


def _listed(done: Audit) -> Iterator[Part]:
    """What concerns no single plan, in full."""
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
