"""The search for the blocks whose sums have the smallest error.

The error is the standard deviation of the noise times √(largest Σ w²).  More levels need more
noise, but leave fewer blocks open.  For counting, the blocks that cover the most steps with a given
number of open blocks are known.  For other decays the search tries periods, depth by depth.

The search rounds errors before it compares them, so the result is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import (
    DEEPEST,
    LONGEST_PERIOD,
    BlockSchedule,
    BlockSums,
    largest_variance,
)

_STEPS = 1 << 18  # steps over which the search measures errors
_WORK = 1 << 21  # approximate number of weights in one measurement
_LOOKS = (8, 64)  # steps of a period that are measured: at least, and at most
_ALL = 256  # measured steps in comparisons between depths
_PERIODS = 1 << 13  # the longest period that the search tries
_NEAR = 16  # periods that the search tries around the best one
_WORSE = 2  # the search stops after this many consecutive depths that are worse than the best


def best_blocks(
    decay: Decay, steps: int, horizon: int | None, noise: Callable[[int], float]
) -> BlockSums:
    """The block sums with the smallest error over `steps` steps.

    `noise` maps a number of levels to the standard deviation of the noise.  Cost: up to a second.

    >>> from hushfade.decays import NoDecay, SlidingWindow
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
    assert best is not None  # depth 1 with a period of 2 always exists
    return BlockSums(decay, BlockSchedule(*best[1:]), horizon)


class _Search:
    """The search for one decay with one kind of noise."""

    def __init__(
        self, decay: Decay, steps: int, horizon: int | None, noise: Callable[[int], float]
    ) -> None:
        self._decay, self._horizon = decay, horizon
        # the errors of flat weights need few steps
        self._steps = steps if decay.flat else min(steps, _STEPS)
        self._noise = cache(noise)
        self._error = cache(self._measured)

    def of_depth(self, depth: int) -> tuple[int, int, int] | None:
        """The smallest error of this depth, rounded; the depth; and the period."""
        if self._decay.rate == 0.0:  # one period, longer than the horizon
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
        """The period with the smallest error; the search ends when errors have doubled."""
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
        """The rounded logarithm of the error; None if these blocks do not exist."""
        try:
            schedule = BlockSchedule(depth, period)
        except InvalidValue:
            return None
        steps, decay = self._steps, self._decay
        if decay.rate == 0.0:
            steps = self._horizon or steps
        elif decay.window is not None:  # the errors of later steps repeat
            steps = min(steps, decay.window + 2 * period)
        elif decay.rate is not None:  # the errors of later steps hardly differ
            steps = min(steps, math.ceil(decay.span(steps)) + 2 * period)
        if looks != _ALL:
            looks = min(looks, max(_LOOKS[0], _WORK // steps))
        variance = largest_variance(decay, schedule, steps, looks)
        levels = schedule.levels_within(self._horizon)
        return _settled(self._noise(levels) * math.sqrt(variance))


def _settled(error: float) -> int:
    """The logarithm of an error, rounded far more coarsely than machines differ."""
    return math.floor(math.log(error) * 2.0**24)
