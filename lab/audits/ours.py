"""The audit of hushfade: many plans, the seeded bugs that it must detect, and false alarms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

from hushfade import audit as room
from hushfade.audit.findings import BROKEN, LEVEL, Chance
from hushfade.audit.findings import Finding as Found
from hushfade.audit.review import checked, usual_plans
from lab.audits.effort import FULL, Size
from lab.findings import Finding, Part
from lab.progress import progress
from tests.audit import plans
from tests.audit.seeded_bugs import Bug, every_bug

_WORKERS = 2
_FIRST = 1000  # the first seed
_MANY = room.Size("many", 10_000, 1_000_000, 1_000_000, 3_000)  # for each of many plans


@lru_cache(maxsize=1)
def many_plans() -> dict[str, Any]:
    """Every plan that the audit of this page covers."""
    return {**usual_plans(), **dict(plans.statistics()), **dict(plans.units()),
            **dict(plans.mechanisms())}  # fmt: skip


def parts(size: Size) -> Iterator[Part]:
    """Checks on many plans, seeded bugs, and false alarms."""
    few = room.FULL if size == FULL else room.TINY
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        yield _plans(pool, "Usual plans", list(usual_plans()), few)
        yield _plans(pool, "Plans", list(many_plans()), _MANY if size == FULL else room.TINY)
        yield _bugs(pool, room.QUICK if size == FULL else room.TINY)
        yield _alarms(pool, size.seeds)


def _plans(pool: Any, title: str, names: list[str], size: room.Size) -> Part:
    jobs = [(name, size, Chance().seed) for name in names]
    findings = [_line(name, found) for name, found in _each(pool, one_plan, jobs, title)]
    sentence = f"Every check on each plan, in the {size.name} size."
    return Part(title, sentence, findings)


def _line(name: str, found: list[Found]) -> Finding:
    """One plan: its failed checks, its worst person, and its smallest p-value."""
    failed = [
        f"{one.check}: {one.subject}: {one.measurement}" for one in found if one.passed is False
    ]
    info = sum(one.passed is None for one in found)
    ps = [one.p for one in found if one.p is not None]
    worst = next((one.measurement for one in found if one.check == "sensitivity"), "")
    shown = [f"{len(found) - len(failed) - info} of {len(found) - info} checks", *failed, worst]
    shown.append(f"smallest p = {min(ps, default=1.0):.2g} of {len(ps)}")
    return Finding(name, "every check", "; ".join(shown), not failed)


def one_plan(job: tuple[str, room.Size, int]) -> tuple[str, list[Found]]:
    """The findings on one plan."""
    name, size, seed = job
    subject = room.Subject() if size == room.FULL else Bug()  # a second process takes seconds
    found = room.audit({name: many_plans()[name]}, size=size, seed=seed, subject=subject)
    return name, list(found.findings)


def _bugs(pool: Any, size: room.Size) -> Part:
    findings = list(_each(pool, searched, [(name, size) for name in every_bug()], "bugs"))
    caught = sum(finding.passed is True for finding in findings)
    sentence = (
        "Implementations with one deliberate bug each, none of which is in the package itself. The "
        f"audit runs in the {size.name} size on one plan that the bug breaks. A check that raises "
        f"an error does not count. **Seeded bugs caught {caught} of {len(findings)}.**"
    )
    return Part("Seeded bugs", sentence, findings)


@lru_cache(maxsize=1)
def _every_bug() -> dict[str, Any]:
    return every_bug()


def searched(job: tuple[str, room.Size]) -> Finding:
    """The checks that detect one seeded bug."""
    name, size = job
    bug, plan = _every_bug()[name]
    return caught(name, bug, plan, size)


def caught(name: str, bug: Bug, plan: Any, size: room.Size, seed: int | None = None) -> Finding:
    """The finding that a check fails on the bug."""
    with bug.patched():
        found = list(checked(bug, {"a plan": plan}, size, Chance(seed), lambda *watched: None))
    failed = [one for one in found if one.passed is False and one.check != BROKEN]
    shown = ", ".join(dict.fromkeys(f"{one.check}: {one.subject}" for one in failed)) or "none"
    return Finding(name, "a check fails", shown, bool(failed), is_bug=True)


def _alarms(pool: Any, seeds: int) -> Part:
    names = list(usual_plans())
    jobs = [(names[seed % len(names)], room.TINY, _FIRST + seed) for seed in range(seeds)]
    runs = [found for _, found in _each(pool, one_plan, jobs, "seeds")]
    ps = sorted(one.p for found in runs for one in found if one.p is not None)
    failed = sum(one.passed is False for found in runs for one in found)
    findings = [
        Finding("false alarms", f"none in {seeds} audits", f"{failed} checks failed", not failed),
        Finding(
            "smallest p-value", f"above {LEVEL:g}", f"{ps[0]:.2g} of {len(ps):,}", ps[0] > LEVEL
        ),
    ]
    for level in (0.1, 0.01):
        share, error = sum(p < level for p in ps) / len(ps), (level / len(ps)) ** 0.5
        claim = f"at most about {level:.0%}"
        within = share < level + 6.0 * error
        findings.append(Finding(f"p-values below {level:g}", claim, f"{share:.2%}", within))
    return Part("The right implementation", "The tiny size with other seeds.", findings)


def _each(pool: Any, work: Callable[[Any], Any], jobs: list[Any], what: str) -> Iterator[Any]:
    for number, found in enumerate(pool.map(work, jobs), 1):
        if number % 10 == 0:
            progress(f"{what}: {number} of {len(jobs)}")
        yield found
