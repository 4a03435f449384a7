"""The seeded bugs of tests/audit: the audit must notice each of them."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade.audit import QUICK
from hushfade.audit.randomness import Chance
from hushfade.audit.review import BROKEN, checked

_WORKERS = 2
_LISTS = {"bugs": "BUGS", "bugs_noise": "NOISE_BUGS", "bugs_records": "BUGS"}


def part(size: Size) -> Part:
    """Every bug with the checks that noticed it."""
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        findings = list(pool.map(_named, bugs()))
    caught = sum(finding.passed is True for finding in findings)
    return Part(
        "Seeded bugs",
        "Mechanisms with one thing wrong, which are in the tests only. The quick form of the audit "
        "on one plan each, which the bug breaks; for seeds of 32 bits with as many starts as the "
        "full form has. What the second process does is done by the same wrong code. **Seeded bugs "
        f"caught {caught} of {len(findings)}.**",
        findings,
    )


def bugs() -> dict[str, Any]:
    """All of them by name."""
    found: dict[str, Any] = {}
    for name, named in _LISTS.items():
        found |= getattr(import_module(f"tests.audit.{name}"), named)
    return found


def _named(name: str) -> Finding:
    return sought(name, bugs()[name])


def sought(name: str, bug: Any) -> Finding:
    """Which checks fail on it; one that breaks down has noticed nothing."""
    extent = replace(QUICK, starts=max(QUICK.starts, bug.size.starts))
    found = list(checked(bug.subject, {"a plan": bug.plan}, extent, Chance()))
    failed = [each for each in found if each.passed is False and each.check != BROKEN]
    checks = list(dict.fromkeys(each.check for each in failed))
    shown = f"{len(failed)} of {len(found)} checks fail: {', '.join(checks)}" if failed else "none"
    finding = Finding(name, "a check fails", shown, bool(failed), is_bug=True)
    progress(f"bug, {name}: {finding.measurement}, {finding.verdict}")
    return finding
