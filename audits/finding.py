"""Finding: one check as it stands in the report."""

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
    passed: bool | None  # None: told without a verdict
    is_bug: bool = False

    @property
    def verdict(self) -> str:
        """One or two words.

        >>> Finding("half noise", "noticed", "by the μ-test", passed=True, is_bug=True).verdict
        'caught'
        """
        if self.passed is None:
            return "told"
        if self.is_bug:
            return "caught" if self.passed else "NOT CAUGHT"
        return "passed" if self.passed else "FAILED"


@dataclass(frozen=True)
class Part:
    """Findings about one thing, with a sentence on how they were made."""

    title: str
    sentence: str
    findings: Sequence[Finding]


@dataclass(frozen=True)
class Size:
    """How much of everything is drawn."""

    draws: int  # for each sigma
    copies: int  # of each plan in the μ-test
    releases: int  # of each input in the float attack
    seeds: int = 250  # with which the right implementation is audited


FULL = Size(draws=40_000_000, copies=400_000, releases=1_000_000)
# 4·10^6 draws are what the control of a wrong σ needs to be clear of chance
QUICK = Size(draws=4_000_000, copies=50_000, releases=100_000, seeds=10)
