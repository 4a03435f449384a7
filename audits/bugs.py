"""The seeded bugs of tests/test_privacy.py: the μ-test must notice each of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade import Exponential

PLANTED = (Exponential(half_life=8), 60)  # the decay and the steps of the table of bugs
OTHERS = (Exponential(half_life=2), 40)


def part(size: Size) -> Part:
    """Every bug with the μ that it leaks, after the same mechanism without a bug."""
    mu: Any = import_module("tests.mu")
    privacy: Any = import_module("tests.test_privacy")
    findings: list[Finding] = []
    for finding in [*_planted(mu, privacy), *_others(mu, privacy), _reused(mu, privacy)]:
        findings.append(finding)
        progress(f"bug, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part(
        "Seeded bugs",
        f"Mechanisms that break their promise, {mu.COPIES:,} copies each.  A bug is caught when "
        "its μ lies more than 5 standard errors above the promised one.",
        findings,
    )


def _planted(mu: Any, privacy: Any) -> list[Finding]:
    """Half noise and the like, each put into one plan."""
    decay, n = PLANTED
    found = mu.many(decay, privacy.ONE, mu.COPIES, resolution=1.0)
    x, other = privacy.stream_of(n), privacy.stream_of(n, (0,))
    promised = privacy.ONE.mu
    sound = mu.measure(found, x, other)
    clean = Finding(
        "control: no bug", f"μ ≤ {promised:.3f}", _shown(sound), not sound.above(promised)
    )
    return [
        clean,
        *(
            _caught(name, mu.measure(found, x, other, bug), promised)
            for name, bug in privacy.BUGS.items()
        ),
    ]


def _others(mu: Any, privacy: Any) -> list[Finding]:
    """Bugs with neighbours of their own."""
    decay, n = OTHERS
    one, swap = privacy.ONE.mu, privacy.SWAP.mu
    stream_of = privacy.stream_of
    signed = mu.many(decay, privacy.ONE, low=-1, high=1)
    found = mu.many(decay, privacy.ONE)
    empty = np.zeros(n)
    empty[5:] = 3.0
    filled = empty.copy()
    filled[0] = 1.0
    neighbours = mu.measure(signed, stream_of(n, (0,), -1.0), stream_of(n, (0,), 1.0))
    twice = mu.measure(found, stream_of(n), stream_of(n, (0, 4)))
    skipped = mu.measure(found, empty, filled, privacy.skip_empty)
    return [
        _caught("wrong neighbours", neighbours, swap),
        _caught("ignored participation", twice, one),
        _caught("noise skipped on empty steps", skipped, one),
    ]


def _reused(mu: Any, privacy: Any) -> Finding:
    """Two inputs under one key: the releases differ by the inputs' difference and nothing else."""
    decay, n = OTHERS
    found = mu.many(decay, privacy.ONE)
    changed = privacy.same_noise(found, privacy.stream_of(n, (0,)), 1)
    difference = (changed - privacy.same_noise(found, privacy.stream_of(n), 2))[0]
    mean, spread = float(np.mean(difference)), float(np.std(difference))
    return Finding(
        "reused keys",
        f"μ of the two releases' difference above {privacy.ONE.mu:.3f}",
        f"shift {mean:.3f}, standard deviation {spread:.0e}: "
        + (f"μ = {mean / spread:.0e}" if spread > 0 else "μ is infinite"),
        mean > 100.0 * privacy.ONE.mu * spread,
        is_bug=True,
    )


def _caught(name: str, measured: Any, promised: float) -> Finding:
    return Finding(
        name, f"μ above {promised:.3f}", _shown(measured), measured.above(promised), is_bug=True
    )


def _shown(measured: Any) -> str:
    return f"μ = {measured.mu:.3f} ± {measured.error:.3f}"
