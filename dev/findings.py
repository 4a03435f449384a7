"""Findings: what a check claims, what it measured, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether the claim held.

    A control or a seeded bug claims to be caught: it passes when the audit notices it.
    """

    subject: str
    claim: str
    measurement: str
    passed: bool | None  # None: a measurement without a verdict
    is_bug: bool = False

    @property
    def verdict(self) -> str:
        """One or two words.

        >>> Finding("half noise", "noticed", "by the μ-test", passed=True, is_bug=True).verdict
        'caught'
        """
        if self.passed is None:
            return "info"
        if self.is_bug:
            return "caught" if self.passed else "NOT CAUGHT"
        return "passed" if self.passed else "FAILED"


@dataclass(frozen=True)
class Part:
    """Findings on one subject, with a sentence that explains how they were made."""

    title: str
    sentence: str
    findings: Sequence[Finding]
