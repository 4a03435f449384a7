"""By how much one person's records shift the noise at each step: the cases to account for.

Given the history, the values that cross for two neighbouring streams differ at lag n by at most
(change of the total) · |r̃_n| units.  Noise with a log-concave law is the more revealing the larger
the shift, so the largest shift at every lag is the worst case (docs/noise-laws.md).
"""

from __future__ import annotations

from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import IntegerFactorization
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounded_losses import Shift
from hushfade.private.grid import Grid

_REMEDY = "take the law 'gaussian', which covers this case"


def cases(guarantee: Guarantee, grid: Grid, pair: IntegerFactorization) -> list[list[Shift]]:
    """The shifts of each case, in units of the grid that noise is added on.

    With block sums a record is in one sum per level, and shifts each by its whole change.

    One record moves one lane; under `replace` it may also leave one key for another, which moves
    two.  k records in different steps are k independent sets of shifts if their taps do not
    overlap.  What has no proof is rejected: gains, vectors, overlapping taps of several records,
    and several records of one step spread over keys.
    """
    if pair.gain is not None:
        raise InvalidValue(
            "law must be gaussian where each step has a gain, as with the method 'normalized'",
            remedy=_REMEDY,
        )
    if grid.norm is not None:
        raise InvalidValue("law must be gaussian for vectors", remedy=_REMEDY)
    if grid.keys is not None and guarantee.records_per_step > 1:
        raise InvalidValue("law must be gaussian for several records per step with keys",
            remedy=_REMEDY,
        )  # fmt: skip
    times = repetitions(guarantee, pair.horizon)
    if isinstance(pair, BlockSums):
        if times > 1:
            raise InvalidValue(
                "participations must be 1 for block sums: two records of a person may be in one "
                "block",
                remedy="take the method 'input', or the law 'gaussian'",
            )
        levels = pair.squared_sensitivity()
        return [merged(lanes, [(1, levels)], 1) for lanes in changes(guarantee, grid, times)]
    steps, support = pair.horizon or pair.taps.support, pair.taps.support
    if times > 1 and guarantee.separation < min(support, steps):
        raise InvalidValue(
            "law must be gaussian for several records of a person that are nearer than the taps "
            f"reach ({min(support, steps)} steps)",
            remedy="take the method 'input', or the law 'gaussian'",
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
    """The shifts of changes of some lanes by taps of these sizes and counts.

    >>> merged((3, 3), [(1, 2), (5, 1)], times=4)
    [Shift(size=3, times=16), Shift(size=15, times=8)]
    """
    counts: dict[int, int] = {}
    for change in lanes:
        for size, count in taps:
            counts[change * size] = counts.get(change * size, 0) + times * count
    return [Shift(size, count) for size, count in counts.items()]


def changes(guarantee: Guarantee, grid: Grid, times: int) -> list[tuple[int, ...]]:
    """Each way in which one person's records of one step change totals: the change of each lane.

    Under `replace` with keys a record changes its value, or moves to another key.  Where a person
    has records in several steps, each may do either, and the choice may depend on earlier releases.
    Neither way is worse than the other for every ε, so one change that covers both is returned.
    """
    most, low, high = guarantee.records_per_step, grid.low_unit, grid.high_unit
    largest = most * max(abs(low), abs(high))
    if guarantee.neighbours == "add_remove":
        return [(largest,)]
    apart = most * (high - low)
    if grid.keys is None:
        return [(apart,)]
    if apart <= largest:
        return [(largest, largest)]
    return [(apart,), (largest, largest)] if times == 1 else [(apart, largest)]


def repetitions(guarantee: Guarantee, horizon: int | None) -> int:
    """The number of steps in which one person can have records."""
    if horizon is None:
        return guarantee.participations
    return min(guarantee.participations, 1 + (horizon - 1) // guarantee.separation)
