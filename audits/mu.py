"""The μ-test of tests/mu.py with many more copies: neighbours are told apart by μ, not more."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade import Decay, Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow

GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
BATCH = 50_000  # copies at a time, as lanes of one stream

# the first record changes, and the steps cover all taps that it meets
PLANS: dict[str, tuple[Decay, dict[str, Any], int]] = {
    "exponential, half-life 8": (Exponential(half_life=8), {}, 64),
    "power 1": (PowerLaw(power=1), {}, 128),
    "window 2": (SlidingWindow(length=2), {}, 64),
    "counting, horizon 64": (NoDecay(), {"horizon": 64}, 64),
}


def part(size: Size) -> Part:
    """The measured μ of four plans for their worst neighbours."""
    mu: Any = import_module("tests.mu")
    privacy: Any = import_module("tests.test_privacy")
    findings = []
    for place, (name, (decay, arguments, steps)) in enumerate(PLANS.items()):
        plan = mu.many(decay, GUARANTEE, BATCH, **arguments)
        taps = plan.pair.taps
        if not taps.support <= steps:
            raise ValueError(f"steps must cover the {taps.support} taps of {name}, got {steps}")
        x, other = privacy.stream_of(steps), privacy.stream_of(steps, (0,))
        first = 100 * place  # no two plans share noise
        batches = [
            mu.measure(plan, x, other, _seeded(mu, first + number))
            for number in range(size.copies // BATCH)
        ]
        measured = pooled(batches)
        finding = Finding(
            name,
            f"μ = {GUARANTEE.mu:.5f}",
            f"μ = {measured.mu:.5f} ± {measured.error:.5f} "
            f"({(measured.mu - GUARANTEE.mu) / measured.error:+.1f} standard errors)",
            bool(measured.agrees(GUARANTEE.mu)),
        )
        findings.append(finding)
        progress(f"μ-test, {name}: {finding.measurement}, {finding.verdict}")
    return Part(
        "μ-test",
        f"{size.copies:,} independent copies of each plan and neighbour.  The shift of the "
        "likelihood-ratio statistic over its standard deviation, ± one standard error; the claim "
        "holds within 5.  The neighbours are the worst: one record more at the first step, "
        "watched for as long as it has an effect.",
        findings,
    )


def pooled(batches: list[Any]) -> Any:
    """The mean of independent measurements of like size, and its standard error."""
    count = len(batches)
    kind: Any = import_module("tests.mu").Measured
    variance = sum(batch.error**2 for batch in batches) / count**2
    return kind(sum(batch.mu for batch in batches) / count, variance**0.5)


def _seeded(mu: Any, number: int) -> Any:
    """The releases of one batch: every batch and every neighbour has a seed of its own."""
    return lambda plan, totals, seed: mu.released(plan, totals, 1000 * number + seed)
