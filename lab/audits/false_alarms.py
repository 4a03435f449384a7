"""False alarms: the audit of the unchanged code under many seeds, and its smallest p-values."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from hushfade.audit import TINY, Subject
from hushfade.audit.cases import few
from hushfade.audit.finding import LEVEL
from hushfade.audit.randomness import Chance
from hushfade.audit.review import checked
from hushfade.audit.second_process import single
from hushfade.check import Column, Matrix
from hushfade.crossing.noise_sources import KeyedNoise
from hushfade.planning.plan import Plan
from lab.audits.effort import Size
from lab.findings import Finding, Part
from lab.progress import progress

WORKERS = 2
FIRST = 1000  # the first seed


class Here(Subject):
    """hushfade without a second process: its check is exact, so it has no false alarms."""

    def elsewhere(self, plan: Plan, key: bytes, stream: str, totals: Matrix) -> Column:
        return single(plan, plan.start(KeyedNoise(key, stream=stream)), totals)


def part(size: Size) -> Part:
    """`size.seeds` reduced audits, each of one of eight plans."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        runs = list(_watched(pool.map(audited, range(FIRST, FIRST + size.seeds))))
    ps = sorted(p for ps, _, _ in runs for p in ps)
    failed = sum(failed for _, failed, _ in runs)
    exact = sum(exact for _, _, exact in runs)
    findings = [
        Finding(
            "false alarms",
            f"none in {size.seeds} audits",
            f"{failed} of {exact + len(ps):,} checks failed",
            failed == 0,
        ),
        Finding(
            "the smallest p-value",
            f"above {LEVEL:g}; the smallest of {len(ps):,} is about {1 / len(ps):.1g}",
            f"{ps[0]:.2g}",
            ps[0] >= LEVEL,
        ),
        *(
            Finding(
                f"p-values below {level:g}",
                f"at most about {level:.0%} of {len(ps):,}",
                f"{sum(p < level for p in ps) / len(ps):.2%}",
                sum(p < level for p in ps) < level * len(ps) + 6 * (level * len(ps)) ** 0.5,
            )
            for level in (0.1, 0.01)
        ),
    ]
    return Part(
        "The right implementation",
        f"The reduced form of the audit with the seeds {FIRST} to {FIRST + size.seeds - 1}, in "
        "turn on eight plans. Checks that combine many numbers by the union bound mostly have "
        "large p-values, so small p-values are rarer than their level.",
        findings,
    )


def audited(seed: int) -> tuple[list[float], int, int]:
    """The p-values of one audit, how many checks failed, and how many had no p-value."""
    plans = list(few().items())
    found = list(checked(Here(), dict([plans[seed % len(plans)]]), TINY, Chance(seed)))
    ps = [each.p for each in found if each.p is not None]
    return ps, sum(each.passed is False for each in found), len(found) - len(ps)


def _watched(
    runs: Iterator[tuple[list[float], int, int]],
) -> Iterator[tuple[list[float], int, int]]:
    for number, run in enumerate(runs, 1):
        if number % 25 == 0:
            progress(f"seeds: {number} audits")
        yield run
