"""Timing: does the time of a draw, or of a step, tell its noise?  Told, not judged.

The time of the host is outside the guarantee, and a machine that does other things besides moves
these numbers.  So they are told without a verdict: the rank correlation of time and magnitude, with
how often chance alone would give as much.
"""

from __future__ import annotations

import math
from time import perf_counter_ns

import numpy as np

from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, told
from hushfade.audit.observer import crossed
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.crossing.sampling_tables import table
from hushfade.planning.plan import Plan

CHECK = "timing"

_LEAST = 100  # steps that say anything


def timing(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Single draws against their magnitude, and live steps against the noise released by them."""
    plan = subject.plan(plan)
    found = [_told(f"{name}, a draw alone", *_draws(subject, plan, size.timed, chance))]
    steps = min(size.timed // 4, (1 << 20) // plan.grid.lanes, plan.horizon or size.timed)
    if steps >= _LEAST:
        found.append(_told(f"{name}, a live step", *_steps(subject, plan, steps, chance)))
    return found


def _draws(subject: Subject, plan: Plan, count: int, chance: Chance) -> tuple[Column, Column]:
    drawer, law = subject.bound(chance.noise(), b""), table(plan.law)
    times, values = np.empty(count), np.empty(count)
    for i in range(count):
        start = perf_counter_ns()
        z = drawer.draws(law, i, 1, 1)
        times[i] = perf_counter_ns() - start
        values[i] = z[0, 0]
    return times, np.abs(values)


def _steps(subject: Subject, plan: Plan, count: int, chance: Chance) -> tuple[Column, Column]:
    stream, lanes = subject.start(plan, chance.noise()), plan.grid.lanes
    total = 0.0 if plan.grid.scalar else np.zeros(lanes)
    times, values = np.empty(count), np.empty((count, lanes))
    for i in range(count):
        start = perf_counter_ns()
        release = stream.step_total(total)
        times[i] = perf_counter_ns() - start
        values[i] = release.value
    return times, np.abs(crossed(plan, values))[:, 0]


def _told(subject: str, times: Column, sizes: Column) -> Finding:
    from scipy.stats import rankdata, spearmanr

    if np.ptp(sizes) == 0.0 or np.ptp(times) == 0.0:
        return told(CHECK, subject, "outside the guarantee", "all alike", "no verdict")
    found = spearmanr(times, sizes)
    ranks = rankdata(sizes, method="ordinal")  # many draws may be zero
    low, high = (np.median(times[part]) for part in _quarters(ranks))
    reach = 1.96 / math.sqrt(len(times))
    return told(
        CHECK,
        subject,
        "outside the guarantee",
        f"rank correlation {found.statistic:+.4f} ± {reach:.4f}; median {low:.0f} ns for the "
        f"smallest quarter, {high:.0f} ns for the largest, {len(times):,} times",
        f"p = {found.pvalue:.2g}, no verdict",
    )


def _quarters(ranks: Column) -> tuple[Signed, Signed]:
    """Where the smallest and the largest quarter are."""
    n = len(ranks)
    return np.flatnonzero(ranks <= n / 4), np.flatnonzero(ranks > 3 * n / 4)
