"""Sums over nested blocks of steps: L R = M with a right factor that is not Toeplitz.

    R x    the sums v_t of `block_schedule`, entries 0 and 1     sensitivity: one entry per level
    L      M times the differences of the prefix sums            no bias, for every decay

For Laplace noise, whose sensitivity is an ℓ1 norm, these pairs have a far smaller error than any
Toeplitz pair if the memory is long.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from hushfade import check, decays
from hushfade.check import Column, Matrix
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.block_schedule import BlockErrors, BlockSchedule, largest_variance
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.sensitivity import Sensitivity
from hushfade.factors.taps import IntegerTaps

if TYPE_CHECKING:
    from hushfade.decays import Decay

_LONGEST = 1 << 20  # the longest period if errors need a number for each of its steps
_ONCE = "participations must be 1 for block sums: two records of one person may be in one block"


class BlockSums(IntegerFactorization):
    """The pair of a decay and a schedule of blocks.  Every entry of R is 0 or 1.

    >>> from hushfade.decays import NoDecay
    >>> L, R = BlockSums(NoDecay(), BlockSchedule(depth=2, period=4)).matrices(4)
    >>> R.astype(int)
    array([[1, 0, 0, 0],
           [0, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    >>> L.astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 0],
           [0, 0, 0, 1]])
    """

    schedule: BlockSchedule

    def __init__(self, decay: Decay, schedule: BlockSchedule, horizon: int | None = None) -> None:
        if horizon is not None:
            check.count(horizon=horizon)
        if decays.checked_decay(decay).rate is None:
            check.count(period=schedule.period, least=2, most=_LONGEST)
        # the loops for a single tap scale the sum of a block by 1
        super().__init__(decay, IntegerTaps.of(np.ones(1, np.int64), 0), horizon)
        check.settle(self, schedule=schedule)

    def right(self, n: int) -> NoReturn:
        raise InvalidType("block sums have no right taps: use `matrices` for their factors")

    def left(self, n: int) -> NoReturn:
        raise InvalidType("block sums have no left taps: use `matrices` for their factors")

    def rounded(self, bits: int, *, longest: int = 0) -> NoReturn:
        raise InvalidType("block sums are integers already")

    def with_integers(self, integers: Column, bits: int) -> NoReturn:
        raise InvalidType("block sums are integers already")

    def with_horizon(self, horizon: int | None) -> BlockSums:
        """The same pair for another number of steps."""
        return BlockSums(self.decay, self.schedule, horizon)

    def power_sums(self, n: int) -> tuple[Column, Column]:
        """Σ w² and Σ w⁴ of the weights of the noise at steps 1, ..., n."""
        return _power_sums(self, self._steps(n))

    def errors(self, n: int) -> Column:
        return np.sqrt(self.power_sums(n)[0])

    def largest_error(self, n: int) -> float:
        """The largest of the first n errors.

        >>> from hushfade.decays import NoDecay
        >>> block_sums(NoDecay(), depth=3, period=1025).largest_error(1024) ** 2
        17.0
        """
        n = self._steps(n)
        if self.decay.rate == 0.0 and n < self.schedule.period:
            return math.sqrt(min(n, self.schedule.total))  # blocks of level 0 are opened first
        if self.decay.rate is not None and self.decay.rate > 0.0:
            return math.sqrt(largest_variance(self.decay, self.schedule, n, looks=1))
        return float(np.max(self.errors(n)))

    def weights_of_noise(self, step: int) -> Column:
        """The weights of the noise of steps 1, ..., step in the sum at this step: a row of L."""
        from hushfade.factors.block_levels import noise_weights  # loads numba

        step = self._steps(step)
        f, levels = self.decay.weights(step), self.schedule.levels(step)
        weights: Column = noise_weights(f, levels, self.schedule.depth)
        return weights

    def sensitivity(
        self, n: int | None = None, *, participations: int = 1, separation: int = 1
    ) -> Sensitivity:
        """The square root of the number of levels, because a record is in one sum per level."""
        steps = self.horizon if n is None else self._steps(n)
        return Sensitivity(math.sqrt(self._levels(steps, participations, separation)), exact=True)

    def squared_sensitivity(self, *, participations: int = 1, separation: int = 1) -> int:
        return self._levels(self.horizon, participations, separation)

    def _levels(self, steps: int | None, participations: int, separation: int) -> int:
        k = check.count(participations=participations)
        b = check.count(separation=separation)
        if k > 1 and (steps is None or b < steps):
            raise InvalidValue(_ONCE, got=participations)
        return self.schedule.levels_within(steps)

    @property
    def memory(self) -> int:
        """The number of values that the private half keeps: one per level above the lowest."""
        return self.schedule.depth

    @property
    def longest(self) -> int:
        """The largest number of steps in one sum."""
        return min(self.schedule.period, self.horizon or self.schedule.period)

    def matrices(self, n: int) -> tuple[Matrix, Matrix]:
        n = self._steps(n)
        levels = self.schedule.levels(n)
        left, right = np.zeros((n, n)), np.zeros((n, n))
        last = np.full(self.schedule.depth + 1, -1)  # the last step of each level or above
        for t in range(n):
            right[t, last[levels[t]] + 1 : t + 1] = 1.0
            last[: levels[t] + 1] = t
            left[t, : t + 1] = self.weights_of_noise(t + 1)
        return left, right


def block_sums(decay: Decay, *, depth: int, period: int, horizon: int | None = None) -> BlockSums:
    """The pair of sums over blocks of `depth` levels, which all end at multiples of `period`.

    >>> from hushfade.decays import SlidingWindow
    >>> pair = block_sums(SlidingWindow(length=168), depth=1, period=9)
    >>> round(float(max(pair.errors(1000))) ** 2), pair.sensitivity().value ** 2
    (32, 2.0000000000000004)
    """
    return BlockSums(decay, BlockSchedule(depth, period), horizon)


@lru_cache(maxsize=4)
def _power_sums(pair: BlockSums, n: int) -> tuple[Column, Column]:
    squares, fourths = BlockErrors(pair.decay, pair.schedule).next(n)
    squares.flags.writeable = fourths.flags.writeable = False
    return squares, fourths
