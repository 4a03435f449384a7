"""Timing: does the duration of a draw or a step depend on its noise?

The guarantee does not cover execution times, and other load on the machine changes these numbers.
So the audit reports them without a verdict: the rank correlation of duration and magnitude, and
its p-value.
"""

from __future__ import annotations

import math
from time import perf_counter_ns

import numpy as np

from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, info
from hushfade.audit.observer import crossed
from hushfade.audit.randomness import Chance
from hushfade.audit.released_lanes import lanes_of
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.crossing.sampling_tables import table
from hushfade.planning.plan import Plan

CHECK = "timing"

_LEAST = 100  # steps; fewer give no useful correlation


def timing(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """The correlations of time and noise magnitude, for single draws and for live steps."""
    plan = subject.plan(plan)
    found = [_correlated(f"{name}, single draw", *_draws(subject, plan, size.timed, chance))]
    steps = min(size.timed // 4, (1 << 20) // plan.grid.lanes, plan.horizon or size.timed)
    if steps >= _LEAST:
        found.append(_correlated(f"{name}, live step", *_steps(subject, plan, steps, chance)))
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
        values[i] = lanes_of(release)
    return times, np.abs(crossed(plan, values))[:, 0]


def _correlated(subject: str, times: Column, sizes: Column) -> Finding:
    from scipy.stats import rankdata, spearmanr

    if np.ptp(sizes) == 0.0 or np.ptp(times) == 0.0:
        return info(CHECK, subject, "outside the guarantee", "all values are equal", "no verdict")
    found = spearmanr(times, sizes)
    ranks = rankdata(sizes, method="ordinal")  # many draws may be zero
    low, high = (np.median(times[part]) for part in _quarters(ranks))
    reach = 1.96 / math.sqrt(len(times))
    return info(
        CHECK,
        subject,
        "outside the guarantee",
        f"rank correlation {found.statistic:+.4f} ± {reach:.4f}; median {low:.0f} ns for the "
        f"smallest quarter, {high:.0f} ns for the largest; {len(times):,} measurements",
        f"p = {found.pvalue:.2g}, no verdict",
    )


def _quarters(ranks: Column) -> tuple[Signed, Signed]:
    """The indices of the smallest and the largest quarter."""
    n = len(ranks)
    return np.flatnonzero(ranks <= n / 4), np.flatnonzero(ranks > 3 * n / 4)
