"""Finding: a claim, a measurement, and the confidence in the verdict.

A check is exact or statistical.  A statistical check usually has a p-value: the probability that a
correct implementation looks at least this bad.  A check fails a correct implementation with a
probability of about its `level`, and a run with at most the sum of all levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LEVEL = 1e-10  # a statistical check fails below this p-value
COINCIDENCE = 1e-12  # the largest probability that sequences of independent draws coincide
FALSE_ALARM = 1e-6  # the largest false-alarm probability of a complete run


@dataclass(frozen=True)
class Finding:
    """One check of one subject.  `passed` is None for a measurement without a verdict."""

    check: str
    subject: str
    claim: str
    measurement: str
    confidence: str
    passed: bool | None
    level: float = 0.0  # the probability of a false alarm
    p: float | None = None

    @property
    def verdict(self) -> str:
        """'passed', 'FAILED' or 'info'.

        >>> exact("replay", "a second process", "the same bytes", "5 differ", passed=False).verdict
        'FAILED'
        """
        if self.passed is None:
            return "info"
        return "passed" if self.passed else "FAILED"


def exact(check: str, subject: str, claim: str, measurement: str, *, passed: bool) -> Finding:
    """The finding of an exact check."""
    return Finding(check, subject, claim, measurement, "exact", bool(passed))


def distinct(check: str, subject: str, claim: str, measurement: str, *, passed: bool) -> Finding:
    """The finding of a check that sequences of draws differ; they are too long to coincide.

    >>> distinct("fork", "a plan", "other draws", "the same draws", passed=False).confidence
    'by chance at most 1e-12'
    """
    shown = f"by chance at most {COINCIDENCE:g}"
    return Finding(check, subject, claim, measurement, shown, bool(passed), COINCIDENCE)


def by_chance(
    check: str, subject: str, claim: str, measurement: str, p: float, *, within: bool | None = None
) -> Finding:
    """The finding of a check with a p-value; `within` is a second condition at the same level.

    >>> by_chance("sampler", "σ = 3", "its law", "χ² = 31", 0.5).confidence
    'p = 0.5'
    """
    if math.isnan(p):  # 0/0: the draws have no spread, and should have one
        p = 0.0
    shown = f"p = {p:.3g}" if p >= 1e-300 else "p < 1e-300"
    level, second = (LEVEL, True) if within is None else (2.0 * LEVEL, within)
    passed = bool(p >= LEVEL and second)
    return Finding(check, subject, claim, measurement, shown, passed, level, p)


def info(check: str, subject: str, claim: str, measurement: str, confidence: str) -> Finding:
    """A measurement without a verdict."""
    return Finding(check, subject, claim, measurement, confidence, None)
