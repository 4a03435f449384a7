"""Findings: a claim, a measurement, and the verdict.  Sizes and randomness of a run."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from hushfade import check
from hushfade.planning.plan import Plan

LEVEL = 1e-10  # a statistical check fails below this p-value
COINCIDENCE = 1e-12  # the largest probability that independent noise looks repeated
BROKEN = "audit"  # the name of the check that fails if another check raises an error


@dataclass(frozen=True)
class Size:
    """Sample sizes.  Larger samples reveal smaller faults and take longer."""

    name: str
    copies: int  # streams per plan, at most
    values: int  # released values of these streams together, at most
    draws: int  # from the sampler, per plan
    starts: int  # streams with fresh noise that must not share a key


TINY = Size("tiny", 1_000, 50_000, 50_000, 500)
QUICK = Size("quick", 12_000, 1_000_000, 500_000, 3_000)
FULL = Size("full", 100_000, 6_000_000, 8_000_000, 200_000)


@dataclass(frozen=True)
class Finding:
    """The result of one check.  `passed` is None for a measurement without a verdict.

    `level` is the probability that the check fails for a correct implementation, at most.
    """

    subject: str
    claim: str
    measurement: str
    passed: bool | None
    level: float = 0.0
    p: float | None = None
    check: str = ""
    plan: str = ""

    @property
    def verdict(self) -> str:
        """'passed', 'FAILED' or 'info'."""
        return "info" if self.passed is None else "passed" if self.passed else "FAILED"

    @property
    def confidence(self) -> str:
        """The p-value, the level, or 'exact'.

        >>> Finding("keyed noise", "the same bytes", "5 values differ", passed=False).confidence
        'exact'
        """
        if self.p is not None:
            return f"p = {self.p:.3g}"
        return f"by chance at most {self.level:g}" if self.level else "exact"


def by_chance(subject: str, claim: str, measurement: str, p: float) -> Finding:
    """The finding of a check with a p-value; p is nan if the noise has no spread at all."""
    p = 0.0 if math.isnan(p) else min(1.0, float(p))
    return Finding(subject, claim, measurement, p >= LEVEL, LEVEL, p)


@dataclass(frozen=True)
class Audit:
    """All findings of one run."""

    size: Size
    seed: int
    plans: Mapping[str, Plan]
    findings: Sequence[Finding]
    seconds: float
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def failed(self) -> list[Finding]:
        """The findings that failed."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def broken(self) -> bool:
        """True if checks raised errors and no check failed otherwise."""
        return bool(self.failed) and all(finding.check == BROKEN for finding in self.failed)

    @property
    def false_alarm(self) -> float:
        """The probability that a correct implementation fails this run: the sum of all levels."""
        return sum(finding.level for finding in self.findings)

    @property
    def smallest(self) -> float:
        """The smallest p-value."""
        return min((f.p for f in self.findings if f.p is not None), default=1.0)


class Chance:
    """Keys and inputs of one run, each used once.  A seed repeats them.

    >>> one, other = Chance(7), Chance(7)
    >>> first = one.key()
    >>> other.key() == first, one.key() == first
    (True, False)
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbits(48) if seed is None else check.count(seed=seed, least=0)
        self._used = 0

    def key(self) -> bytes:
        """A new key of 32 bytes."""
        self._used += 1
        return hashlib.sha256(b"hushfade audit %d %d" % (self.seed, self._used)).digest()

    def inputs(self) -> np.random.Generator:
        """A generator for records and totals, never for noise."""
        return np.random.default_rng(int.from_bytes(self.key(), "big"))
