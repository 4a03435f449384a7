"""The search for seeded bugs: the audit must detect each of them."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from hushfade.audit import QUICK
from hushfade.audit.randomness import Chance
from hushfade.audit.review import BROKEN, checked
from lab.audits.effort import Size
from lab.audits.seeded_bugs import SEEDED_BUGS, Bug
from lab.findings import Finding, Part
from lab.progress import progress

_WORKERS = 2


def part(size: Size) -> Part:
    """Every bug, with the checks that detected it."""
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        findings = list(pool.map(_named, SEEDED_BUGS))
    caught = sum(finding.passed is True for finding in findings)
    return Part(
        "Seeded bugs",
        "Mechanisms with one deliberate bug each, none of which is in the package itself. The "
        "quick form of the audit runs on one plan that the bug breaks; for seeds of 32 bits it "
        "starts as many streams as the full form. The second process runs the same wrong code. "
        f"**Seeded bugs caught {caught} of {len(findings)}.**",
        findings,
    )


def _named(name: str) -> Finding:
    return searched(name, SEEDED_BUGS[name])


def searched(name: str, bug: Bug) -> Finding:
    """The checks that fail on the bug; a check that raises an error does not count."""
    extent = replace(QUICK, starts=max(QUICK.starts, bug.size.starts))
    results = list(checked(bug.subject, {"a plan": bug.plan}, extent, Chance()))
    failed = [each for each in results if each.passed is False and each.check != BROKEN]
    checks = list(dict.fromkeys(each.check for each in failed))
    shown = (
        f"{len(failed)} of {len(results)} checks fail: {', '.join(checks)}" if failed else "none"
    )
    finding = Finding(name, "a check fails", shown, bool(failed), is_bug=True)
    progress(f"bug, {name}: {finding.measurement}, {finding.verdict}")
    return finding
