"""Effort: how much a full and a quick audit draw."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The number of draws for each kind of check."""

    draws: int  # per sigma
    copies: int  # per plan in the μ-test
    releases: int  # per input in the attack on floats
    seeds: int = 250  # under which the unchanged code is audited


FULL = Size(draws=40_000_000, copies=400_000, releases=1_000_000)
# The control with a wrong σ needs 4·10^6 draws to stand out from chance.
QUICK = Size(draws=4_000_000, copies=50_000, releases=100_000, seeds=10)
