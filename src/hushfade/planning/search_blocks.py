"""The search for the blocks whose sums have the smallest error.

The error is the deviation of the noise times √(largest Σ w²).  More levels need more noise, and
leave fewer blocks open.  For counting, the blocks with the most steps for a number of open blocks
are known.  For all other decays the search looks at periods, one depth after another.

Errors are rounded before they are compared, so the result is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from hushfade.decay import Decay, Exponential, NoDecay, SlidingWindow
from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.block_schedule import DEEPEST, LONGEST_PERIOD, BlockSchedule, largest_variance

_STEPS = 1 << 18  # over which the search measures errors
_WORK = 1 << 21  # weights that one measurement looks at, roughly
_LOOKS = (8, 64)  # at the steps of a period: at least, and at most
_ALL = 256  # looks at the blocks that are compared with those of other depths
_PERIODS = 1 << 13  # the longest period that the search tries
_NEAR = 16  # periods that it tries around the best one
_WORSE = 2  # depths in a row that are worse than the best one before it stops


def best_blocks(
    decay: Decay, steps: int, horizon: int | None, noise: Callable[[int], float]
) -> BlockSums:
    """The block sums with the smallest error over `steps` steps.

    `noise` is the deviation of the noise for a number of levels.  Cost: up to a second.

    >>> best_blocks(NoDecay(), 1024, 1024, lambda levels: levels).schedule
    BlockSchedule(depth=3, period=1025)
    >>> best_blocks(SlidingWindow(length=1024), 5000, None, lambda levels: levels).schedule
    BlockSchedule(depth=2, period=73)
    """
    search = _Search(decay, steps, horizon, noise)
    best: tuple[int, int, int] | None = None
    worse = 0
    for depth in range(1, DEEPEST + 1):
        found = search.of_depth(depth)
        if found is None:
            continue
        if best is None or found < best:
            best, worse = found, 0
        else:
            worse += 1
        if worse == _WORSE:
            break
    assert best is not None  # depth 1 has a period of 2
    return BlockSums(decay, BlockSchedule(*best[1:]), horizon)


class _Search:
    """One decay with one kind of noise."""

    def __init__(
        self, decay: Decay, steps: int, horizon: int | None, noise: Callable[[int], float]
    ) -> None:
        self._decay, self._horizon = decay, horizon
        self._steps = steps if isinstance(decay, NoDecay) else min(steps, _STEPS)
        self._noise = cache(noise)
        self._error = cache(self._measured)

    def of_depth(self, depth: int) -> tuple[int, int, int] | None:
        """The smallest error of that depth, rounded; the depth; and the period."""
        if isinstance(self._decay, NoDecay):  # one period that no step of the horizon ends
            period = min(LONGEST_PERIOD, (self._horizon or self._steps) + 1)
            error = self._error(depth, period, 1)
            return None if error is None else (error, depth, period)
        most = max(2, min(_PERIODS, self._steps))
        coarse = [1 << k for k in range(1, most.bit_length())]
        middle = self._best(depth, coarse, _LOOKS[0])
        if middle is None:
            return None
        for spread in (1.5, 1.1):
            low, high = math.ceil(middle / spread), math.floor(middle * spread)
            stride = max(1, (high - low) // _NEAR)
            near = {*range(max(2, low), high + 1, stride), middle}
            middle = self._best(depth, sorted(near), _LOOKS[1]) or middle
        error = self._error(depth, middle, _ALL)
        return None if error is None else (error, depth, middle)

    def _best(self, depth: int, periods: list[int], looks: int) -> int | None:
        """The period with the smallest error; the search ends where errors have doubled."""
        best: tuple[int, int] | None = None
        for period in periods:
            error = self._error(depth, period, looks)
            if error is None:
                continue
            if best is None or (error, period) < best:
                best = error, period
            elif error > best[0] + _settled(2.0):
                break
        return None if best is None else best[1]

    def _measured(self, depth: int, period: int, looks: int) -> int | None:
        """The logarithm of the error, rounded; None where no such blocks exist."""
        try:
            schedule = BlockSchedule(depth, period)
        except InvalidValue:
            return None
        steps = self._steps
        match self._decay:
            case SlidingWindow():  # later steps repeat
                steps = min(steps, self._decay.length + 2 * period)
            case Exponential():  # later steps hardly differ
                steps = min(steps, math.ceil(5.0 * self._decay.half_life) + 2 * period)
            case NoDecay():
                steps = self._horizon or steps
            case _:
                pass
        if looks != _ALL:
            looks = min(looks, max(_LOOKS[0], _WORK // steps))
        variance = largest_variance(self._decay, schedule, steps, looks)
        levels = schedule.levels_within(self._horizon)
        return _settled(self._noise(levels) * math.sqrt(variance))


def _settled(error: float) -> int:
    """The logarithm of an error, rounded: what differs between machines is far smaller."""
    return math.floor(math.log(error) * 2.0**24)
