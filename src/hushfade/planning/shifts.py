"""The shifts of the noise that one person's records cause at each step, case by case.

Given the history, the noisy values of two neighbouring streams differ at lag n by at most
(change of the total) · |r̃_n| units.  For a log-concave law the privacy loss grows with the shift,
so the worst case is the largest shift at every lag (docs/explanation/noise-law-theorem.md).
"""

from __future__ import annotations

from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounded_losses import Shift
from hushfade.private.grid import Grid

_REMEDY = "use the law 'gaussian', which covers this case"


def cases(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> list[list[Shift]]:
    """The shifts of each case, in units of the noise grid.

    One record changes one lane.  Under `replace` it may also move from one key to another, which
    changes two lanes.  k records in different steps give k independent sets of shifts if their taps
    do not overlap.  With block sums, a record is in one sum per level, and shifts each of them by
    its whole change.

    Cases without a proof are rejected: gains, vectors, overlapping taps of several records, and
    several records of one step spread over keys.
    """
    if pair.gain is not None:
        raise InvalidValue(
            "law must be gaussian if each step has a gain, as with the method 'normalized'",
            remedy=_REMEDY,
        )
    if grid.norm is not None:
        raise InvalidValue("law must be gaussian for vectors", remedy=_REMEDY)
    if gaussian_alone(guarantee, grid):
        raise InvalidValue("law must be gaussian for several records per step with keys",
            remedy=_REMEDY,
        )  # fmt: skip
    times = repetitions(guarantee, pair.horizon)
    if isinstance(pair, BlockSums):
        if times > 1:
            raise InvalidValue(
                "protects must cover one step of a person for block sums: two records may be in "
                "one block",
                remedy="use the method 'input', or the law 'gaussian'",
            )
        levels = pair.squared_sensitivity()
        return [merged(lanes, [(1, levels)], 1) for lanes in changes(guarantee, grid, times)]
    steps, support = pair.horizon or pair.taps.support, pair.taps.support
    if times > 1 and guarantee.protects.apart < min(support, steps):
        raise InvalidValue(
            "law must be gaussian for several records of one person that are closer together than "
            f"the reach of the taps ({min(support, steps)} steps)",
            remedy="use the method 'input', or the law 'gaussian'",
        )
    pieces: dict[int, int] = {}
    left = min(steps, support)
    for value, length in zip(*pair.taps.pieces, strict=True):
        used = min(length, left)
        if used > 0 and value:
            pieces[abs(value)] = pieces.get(abs(value), 0) + used
        left -= used
    return [
        merged(lanes, sorted(pieces.items()), times) for lanes in changes(guarantee, grid, times)
    ]


def merged(lanes: tuple[int, ...], taps: list[tuple[int, int]], times: int) -> list[Shift]:
    """The shifts that result if lanes change by `lanes` and the taps have these sizes and counts.

    >>> merged((3, 3), [(1, 2), (5, 1)], times=4)
    [Shift(size=3, times=16), Shift(size=15, times=8)]
    """
    counts: dict[int, int] = {}
    for change in lanes:
        for size, count in taps:
            counts[change * size] = counts.get(change * size, 0) + times * count
    return [Shift(size, count) for size, count in counts.items()]


def changes(guarantee: Guarantee, grid: Grid, times: int) -> list[tuple[int, ...]]:
    """The changes of the lanes, for each way in which one person's records change a step's totals.

    Under `replace` with keys, a record changes its value or moves to another key.  If a person has
    records in several steps, each record may do either, and the choice may depend on earlier
    releases.  Neither way is worse than the other for every ε, so the result is then one change
    that covers both.
    """
    most, (low, high) = guarantee.protects.records_per_step, grid.lane_units
    if grid.statistic is not None:
        return [statistic_change(guarantee, grid)]
    largest = most * max(abs(low), abs(high))
    if guarantee.neighbours == "add_remove":
        return [(largest,)]
    apart = most * (high - low)
    if grid.keys is None:
        return [(apart,)]
    if apart <= largest:
        return [(largest, largest)]
    return [(apart,), (largest, largest)] if times == 1 else [(apart, largest)]


def statistic_change(guarantee: Guarantee, grid: Grid) -> tuple[int, ...]:
    """The change that covers every way in which one person's records of one step change lanes.

    The records of one person add up to `most` wholes per level, spread over the lanes in any way.
    All of it in one lane is the worst: noise with a log-concave law reveals no more if a shift is
    divided among several lanes (docs/decisions/0031).  Under `replace` as much is taken away as is
    added, which is twice that change, in two lanes.
    """
    assert grid.statistic is not None
    lanes = (1 if guarantee.neighbours == "add_remove" else 2) * grid.statistic.levels
    return (guarantee.protects.records_per_step * grid.lane_units[1],) * lanes


def squared_change(guarantee: Guarantee, grid: Grid) -> int:
    """The square of the largest ℓ2 change of the totals of one step, in units."""
    if grid.statistic is not None:  # lanes w ≥ 0 of a given sum are longest with one entry
        return sum(size * size for size in statistic_change(guarantee, grid))
    if grid.norm is not None:
        return guarantee.squared_vector_change(grid.norm_unit)
    return guarantee.squared_change(*grid.lane_units, keyed=grid.keys is not None)


def gaussian_alone(guarantee: Guarantee, grid: Grid) -> bool:
    """Do only Gaussian mechanisms have a proof: vectors, several records per step with keys?"""
    several = guarantee.protects.records_per_step > 1 and grid.statistic is None
    return grid.norm is not None or (grid.keys is not None and several)


def repetitions(guarantee: Guarantee, horizon: int | None) -> int:
    """The number of steps in which one person may have records."""
    if horizon is None:
        return guarantee.protects.steps
    return min(guarantee.protects.steps, 1 + (horizon - 1) // guarantee.protects.apart)
