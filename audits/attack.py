"""The float attack: low bits of a release that only one of two inputs can have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy import stats

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade import Guarantee, NoDecay, plan
from hushfade.check import Column

BATCH = 100_000
BITS = 3
INPUTS = (0.0, 1.0)


def part(size: Size) -> Part:
    """The attack on releases and on float64 noise."""
    findings = [*_releases(size.releases), *_floats(size.releases)]
    for finding in findings:
        progress(f"attack, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part(
        "Float attack",
        f"{size.releases:,} releases of x = 0 and as many of x = 1.  The event: the value has bits "
        "below the grid, which certifies x = 0 where float64 noise is added.  The control is "
        "x + N(0, 1) in float64 with the grid 2^-53.",
        findings,
    )


def _releases(count: int) -> list[Finding]:
    """One step of counting, in units of its grid: whole numbers, with even low bits."""
    mu: Any = import_module("tests.mu")
    found = plan(
        NoDecay(),
        Guarantee(epsilon=1, delta=1e-6),
        horizon=1,
        keys=[str(key) for key in range(BATCH)],
    )
    events = [0, 0]
    patterns = np.zeros((2, 1 << BITS), dtype=np.int64)
    for number in range(count // BATCH):
        for which, x in enumerate(INPUTS):
            units: Column = mu.released(found, [x], 2 * number + which)[0] / found.unit
            whole = np.rint(units)
            events[which] += int(np.count_nonzero(units != whole))
            low = whole.astype(np.int64) & ((1 << BITS) - 1)
            patterns[which] += np.bincount(low, minlength=1 << BITS)
    p = float(stats.chi2_contingency(patterns).pvalue)
    return [
        Finding(
            "releases off the grid",
            "0 for both inputs",
            f"{events[0]} for x = 0, {events[1]} for x = 1",
            events == [0, 0],
        ),
        Finding(
            f"low {BITS} bits of the releases",
            "alike for both inputs, p > 0.001",
            f"p = {p:.3f}",
            p > 0.001,
        ),
    ]


def _floats(count: int) -> list[Finding]:
    """The same event for noise that is added in float64."""
    noise = np.random.default_rng(1).normal(size=count)
    shares = [int(np.count_nonzero(np.ldexp(x + noise, 53) % 1.0)) / count for x in INPUTS]
    return [
        Finding(
            "control: float64 noise",
            "the event certifies x = 0 in over 20 % of releases",
            f"{shares[0]:.1%} for x = 0, {shares[1]:.1%} for x = 1",
            shares[0] > 0.2 and shares[1] == 0.0,
        )
    ]
