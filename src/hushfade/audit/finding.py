"""Finding: one claim, what was measured, and how sure that makes.

A check is exact, where nothing is left to chance, or statistical, mostly with a p-value: how often
the right implementation would look at least this bad.  A check accuses the right implementation
with a probability of about its `level`, and a run with at most the sum of all levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LEVEL = 1e-10  # a statistical check fails below this p-value
COINCIDENCE = 1e-12  # a check that two sequences of draws differ fails by chance so often, at most
FALSE_ALARM = 1e-6  # of a whole run, at most


@dataclass(frozen=True)
class Finding:
    """One check of one subject.  `passed` is None where a number is told and nothing is claimed."""

    check: str
    subject: str
    claim: str
    measurement: str
    confidence: str
    passed: bool | None
    level: float = 0.0  # how often it fails by chance
    p: float | None = None

    @property
    def verdict(self) -> str:
        """One word.

        >>> exact("replay", "a second process", "the same bytes", "5 differ", passed=False).verdict
        'FAILED'
        """
        if self.passed is None:
            return "told"
        return "passed" if self.passed else "FAILED"


def exact(check: str, subject: str, claim: str, measurement: str, *, passed: bool) -> Finding:
    """A check that chance has no part in."""
    return Finding(check, subject, claim, measurement, "exact", bool(passed))


def distinct(check: str, subject: str, claim: str, measurement: str, *, passed: bool) -> Finding:
    """A check that sequences of draws differ, which are long enough that chance does not repeat.

    >>> distinct("fork", "a plan", "other draws", "the same draws", passed=False).confidence
    'by chance in 1e-12'
    """
    shown = f"by chance in {COINCIDENCE:g}"
    return Finding(check, subject, claim, measurement, shown, bool(passed), COINCIDENCE)


def by_chance(
    check: str, subject: str, claim: str, measurement: str, p: float, *, within: bool | None = None
) -> Finding:
    """A check with a p-value; `within` is a second condition, at the same level.

    >>> by_chance("sampler", "σ = 3", "its law", "χ² = 31", 0.5).confidence
    'p = 0.5'
    """
    if math.isnan(p):  # 0/0: no spread where there should be one
        p = 0.0
    shown = f"p = {p:.3g}" if p >= 1e-300 else "p < 1e-300"
    level, second = (LEVEL, True) if within is None else (2.0 * LEVEL, within)
    passed = bool(p >= LEVEL and second)
    return Finding(check, subject, claim, measurement, shown, passed, level, p)


def told(check: str, subject: str, claim: str, measurement: str, confidence: str) -> Finding:
    """A number without a verdict."""
    return Finding(check, subject, claim, measurement, confidence, None)
