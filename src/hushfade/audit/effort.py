"""Size: how much of everything an audit draws."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Size:
    """Counts; more of them show smaller faults, and take longer."""

    name: str
    draws: int  # from the sampler, for each sigma
    releases: int  # of each input in the attack on the grid
    work: int  # values released by one run
    copies: int  # at most, of a plan in one run
    steps: int  # at most, of a run of many copies
    starts: int  # streams with fresh noise that must not share a key
    timed: int  # draws whose time is taken


TINY = Size("tiny", 100_000, 20_000, 100_000, 1_500, 48, 2_000, 2_000)
QUICK = Size("quick", 500_000, 100_000, 400_000, 4_000, 64, 3_000, 10_000)
FULL = Size("full", 40_000_000, 1_000_000, 6_000_000, 50_000, 160, 400_000, 200_000)
MANY = replace(FULL, work=1_000_000, copies=10_000)  # of each, where there are many plans
