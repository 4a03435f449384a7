"""Size: the sample sizes of an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Size:
    """Sample sizes.  Larger samples reveal smaller faults and take longer."""

    name: str
    draws: int  # from the sampler, for each law
    releases: int  # of each input in the precision attack
    work: int  # values released by one run
    copies: int  # the largest number of copies of a plan in one run
    steps: int  # the largest number of steps in a run of many copies
    starts: int  # streams with fresh noise that must not share a key
    timed: int  # draws whose time is measured


TINY = Size("tiny", 100_000, 20_000, 100_000, 1_500, 48, 2_000, 2_000)
QUICK = Size("quick", 500_000, 100_000, 400_000, 4_000, 64, 3_000, 10_000)
FULL = Size("full", 40_000_000, 1_000_000, 6_000_000, 50_000, 160, 400_000, 200_000)
MANY = replace(FULL, work=1_000_000, copies=10_000)  # per plan, for the list of all kinds
