"""Sums over nested blocks of steps: L R = M with a right factor that is not Toeplitz.

    R x    the sums v_t, entries 0 and 1                  sensitivity: one entry per level
    L      M times the differences of the prefix sums     no bias, for every decay

For Laplace noise, whose sensitivity is an ℓ1 norm, these pairs have a far smaller error than any
Toeplitz pair if the memory is long.

Every step t has a level.  At step t the mechanism adds noise to the sum of the totals since the
last step of the same level or a higher one:

    v_t = Σ x_j  over  last(t) < j ≤ t,   last(t) = the last step before t with level ≥ level(t)

A prefix sum is v_t plus the prefix sum at last(t), and so on, with one term per open block.  A
record at step s is in v_t if and only if level(t) is above all levels from s to t-1.  So a record
is in at most one v_t per level, whatever the levels are.

The levels here belong to a tree whose blocks shrink.  After t steps the prefix consists of d_i
blocks of level i, and the d_i add up to at most `total`.  A step adds a block of level 0 if the
total allows it.  Otherwise it closes all blocks of the lowest level that has any, and they become
one block of the next level.  `depth` levels give C(total + depth, depth) different states, more
than any tree of the same depth and the same number of open blocks.  A step at a multiple of
`period` has the level `depth`, and closes all blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from hushfade import check, decays
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.factorization import IntegerFactorization
from hushfade.factors.sensitivity import Sensitivity
from hushfade.factors.taps import IntegerTaps

if TYPE_CHECKING:
    from hushfade.decays import Decay

_LONGEST = 1 << 20  # the longest period if errors need a number for each of its steps
_ONCE = "participations must be 1 for block sums: two records of one person may be in one block"
DEEPEST = 16  # the most levels below the highest
LONGEST_PERIOD = 1 << 40  # the most steps of a period
_MOST_OPEN = 1 << 12  # the most open blocks; a step reads all of them to find its level
_CHUNK = 1 << 14  # steps whose variances are computed together


@dataclass(frozen=True)
class BlockSchedule:
    """The levels 0, ..., depth of all steps, which repeat with a period.

    >>> BlockSchedule(depth=2, period=6).levels(12)
    array([0, 0, 1, 0, 1, 2, 0, 0, 1, 0, 1, 2])
    """

    depth: int
    period: int

    def __post_init__(self) -> None:
        check.count(depth=self.depth, most=DEEPEST)
        check.count(period=self.period, least=2, most=LONGEST_PERIOD)
        if math.comb(_MOST_OPEN + self.depth, self.depth) < self.period:
            raise InvalidValue(
                f"must leave at most {_MOST_OPEN} blocks open, but is too small for the period",
                argument="depth",
                got=self.depth,
                remedy="give more levels, or a shorter period",
            )

    @cached_property
    def total(self) -> int:
        """The largest number of open blocks within a period: C(total + depth, depth) ≥ period."""
        return least_total(self.depth, self.period)

    def levels(self, n: int) -> Signed:
        """The levels of steps 1, ..., n."""
        out = np.empty(check.count(n=n), np.int64)
        _loops().levels_from(0, self.period, self.depth, self.total, out)
        return out

    def levels_within(self, steps: int | None) -> int:
        """The exact number of different levels in the first `steps` steps, or in all steps.

        Level i first occurs at step C(total + i, i), if this is before the end of the period.

        >>> BlockSchedule(depth=2, period=6).levels_within(5)
        2
        """
        last = self.period if steps is None else check.count(steps=steps)
        inner = (math.comb(self.total + i, i) for i in range(1, self.depth))
        return 1 + sum(first < self.period and first <= last for first in inner) + (
            last >= self.period
        )  # fmt: skip


@lru_cache(maxsize=256)
def least_total(depth: int, states: int) -> int:
    """The least total with C(total + depth, depth) ≥ states.

    >>> least_total(3, 1025)  # C(20, 3) = 1140
    17
    """
    low, high = 0, 1
    while math.comb(high + depth, depth) < states:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if math.comb(middle + depth, depth) < states else (low, middle)
    return high


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
        if decays.checked_decay(decay).rate is None:
            check.count(period=schedule.period, least=2, most=_LONGEST)
        # the loops for a single tap scale the sum of a block by 1
        super().__init__(decay, IntegerTaps.of(np.ones(1, np.int64), 0), horizon)
        check.settle(self, schedule=schedule)

    def right(self, n: int) -> NoReturn:
        raise InvalidType("block sums have no right taps: use `matrices` for their factors")

    def left(self, n: int) -> NoReturn:
        raise InvalidType("block sums have no left taps: use `matrices` for their factors")

    def with_pieces(self, ends: Signed, values: Column, bits: int) -> NoReturn:
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
        step = self._steps(step)
        f, levels = self.decay.weights(step), self.schedule.levels(step)
        parents: Signed = _loops().parents_of(levels, self.schedule.depth)
        weights, closed = f[::-1].copy(), parents >= 0
        weights[closed] -= f[step - 1 - parents[closed]]
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


# Variances of the noise ------------------------------------------------------------------------


class BlockErrors:
    """Σ w² and Σ w⁴ of the noise in the decayed sum, step by step, in constant memory.

    The noise of step τ is in the prefix sums up to the next step p of a higher level.  In the
    decayed sum of step t it has the weight w = f_{t-τ} before p, and f_{t-τ} - f_{t-p} from p on.
    The sums at step t equal the sums at step t - period plus the sums over the noise of the first
    period.

    Cost: O(period) per step until older noise adds nothing, then O(1).  O(depth) for counting, for
    exponentials, and for windows at least as long as the period.
    """

    def __init__(self, decay: Decay, schedule: BlockSchedule, after: int = 0) -> None:
        """From the step after `after`, which only windows as long as the period may give."""
        self._decay, self._schedule = decay, schedule
        self._blocks = schedule.depth, schedule.period, schedule.total
        self._step = after
        self._settled = 0  # consecutive steps that added nothing
        if decay.rate is not None:
            self._state = np.zeros((schedule.depth + 1, 5))
        elif not _is_long(decay, schedule):
            self._parents = _parents(schedule)
            self._squares, self._fourths = np.zeros((2, schedule.period))

    def next(self, n: int) -> tuple[Column, Column]:
        """Σ w² and Σ w⁴ at the next n steps."""
        (_, period, total), decay = self._blocks, self._decay
        if decay.rate == 0.0:  # every weight is 0 or 1
            squares = fourths = self._open(self._step, n).astype(np.float64)
        elif decay.rate is not None:
            squares, fourths = np.empty((2, n))
            faded = float(decay.weights(2)[1])
            _loops().faded_powers(self._step, period, total, faded, self._state, squares, fourths)
        elif decay.window is not None and decay.window >= period:
            squares = fourths = self._window(decay.window, n)
        else:
            parts = [self._chunk(done, min(_CHUNK, n - done)) for done in range(0, n, _CHUNK)]
            squares, fourths = (np.concatenate(part) for part in zip(*parts, strict=True))
        self._step += n
        return squares, fourths

    def _open(self, step: int, n: int) -> Signed:
        """The number of open blocks after each of the n steps after `step` steps."""
        depth, period, total = self._blocks
        count = np.empty(n, np.int64)
        _loops().open_blocks_from(step, period, depth, total, count)
        return count

    def _window(self, w: int, n: int) -> Column:
        """Σ w² = Σ w⁴ at the next n steps, for a window at least as long as the period.

        All weights are -1, 0 or 1.  The blocks that are open at step t count, back to step t - w.
        The blocks within a period that were open at step t - w count too, because they have closed
        since then.
        """
        step = self._step
        count = self._open(step, n)
        first = max(step + 1, w + 1)  # the first step for which there is a step t - w
        if first <= step + n:
            before = self._open(first - w - 1, step + n - first + 1)
            periods = np.arange(first - w, step + n - w + 1) // self._schedule.period
            count[first - step - 1 :] += before - 2 * periods
        return count.astype(np.float64)

    def _chunk(self, done: int, n: int) -> tuple[Column, Column]:
        start, period = self._step + done, self._schedule.period
        squares, fourths = np.zeros(n), np.zeros(n)
        if self._settled < period:
            first = max(0, start - period)
            f = self._decay.between(first, start + n)
            _loops().node_powers(start, f, first, self._parents, squares, fourths)
        quiet = True
        for sums, kept in ((squares, self._squares), (fourths, self._fourths)):
            own = sums.copy()
            rows = np.zeros(-(-n // period) * period)
            rows[:n] = own
            places = (start + np.arange(period)) % period
            rows = (kept[places] + np.cumsum(rows.reshape(-1, period), axis=0)).ravel()
            sums[:] = rows[:n]
            last = min(n, period)
            kept[(start + np.arange(n - last, n)) % period] = sums[n - last :]
            quiet = quiet and bool(np.all(own <= 2.0**-53 * sums))
        self._settled = self._settled + n if quiet and start >= self._decay.reach else 0
        return squares, fourths


def largest_variance(decay: Decay, schedule: BlockSchedule, n: int, looks: int) -> float:
    """The largest Σ w² over n steps, from about `looks` evaluations in the last period.

    Exact for counting, exponentials and long windows.  The sums never fall from one period to the
    next, so the largest one is in the last period.
    """
    if decay.rate == 0.0:
        most = least_total(schedule.depth, min(n + 1, schedule.period))
        return float(min(most, n) + n // schedule.period)
    if decay.rate is not None:
        return _largest_faded(decay, schedule, n)
    if _is_long(decay, schedule):
        errors = BlockErrors(decay, schedule, max(0, n - schedule.period))
        return float(np.max(errors.next(min(n, schedule.period))[0]))
    stride = max(1, schedule.period // looks)
    weights = decay.weights(n)
    return float(_loops().largest_variance(weights, _parents(schedule), stride))


def _is_long(decay: Decay, schedule: BlockSchedule) -> bool:
    """Whether the decay is a window at least as long as the period."""
    return decay.window is not None and decay.window >= schedule.period


def _largest_faded(decay: Decay, schedule: BlockSchedule, n: int) -> float:
    """The largest Σ w² for exponentials, from the sums of the first period.

    A step at the end of a period closes all blocks.  From then on each weight of earlier noise, and
    so their Σ w² = S, only fades.  At step i of a later period the sum is own_i + f_i² S, where own
    are the sums of the first period.  So S = own_period (1 + f_period² + f_period⁴ + ...), with one
    term per period that has ended.
    """
    assert decay.rate is not None
    period = schedule.period
    own = BlockErrors(decay, schedule).next(min(n, period))[0]
    ended, rest = divmod(n, period)
    if ended == 0:
        return float(np.max(own))
    rate = -2.0 * decay.rate * period
    before, now = (own[-1] * math.expm1(rate * k) / math.expm1(rate) for k in (ended - 1, ended))
    fades = decay.weights(period + 1)[1:] ** 2
    fades[:rest] *= now
    fades[rest:] *= before
    return float(np.max(own + fades))


@lru_cache(maxsize=4)
def _parents(schedule: BlockSchedule) -> Signed:
    parents: Signed = _loops().parents_of(schedule.levels(schedule.period), schedule.depth)
    return parents


def _loops() -> ModuleType:
    """The compiled loops, which load numba when they are first used."""
    return import_module("hushfade.factors.block_levels")
