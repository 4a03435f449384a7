"""Findings: what a check claims, what it measured, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A claim, a measurement, and whether the claim held.

    A control or a seeded bug passes if the check detects it.
    """

    subject: str
    claim: str
    measurement: str
    passed: bool | None  # None: a measurement without a verdict
    is_bug: bool = False

    @property
    def verdict(self) -> str:
        """'passed', 'FAILED', 'caught', 'NOT CAUGHT' or 'info'.

        >>> Finding("half noise", "detected", "by the μ-test", passed=True, is_bug=True).verdict
        'caught'
        """
        if self.passed is None:
            return "info"
        if self.is_bug:
            return "caught" if self.passed else "NOT CAUGHT"
        return "passed" if self.passed else "FAILED"


@dataclass(frozen=True)
class Part:
    """Findings on one subject, with a description of the method."""

    title: str
    sentence: str
    findings: Sequence[Finding]
