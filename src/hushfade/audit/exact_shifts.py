"""How far one person's records shift the noisy values, from the integer taps or the blocks."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from hushfade.audit.neighbouring_streams import arranged, falls, heaviest_column, kinds
from hushfade.audit.observer import block_starts, gain_of
from hushfade.check import Signed
from hushfade.factors.block_factors import BlockSums
from hushfade.planning.plan import Plan

_COLUMNS = 400  # the most columns of a plan with gain that are tested one by one
_ADDED_UP = 1 << 24  # a longer horizon uses the sensitivity of an endless stream
_BLOCK_STEPS = 1 << 20  # the most steps whose block sums are tested
_SPAN = 1 << 22  # the most steps over which records are arranged


def shift_square(plan: Plan) -> tuple[Fraction, bool]:
    """The largest ‖R̃ Δx‖² that the search found, and whether the search covers all changes.

    The search covers all changes for one record, and for several records if the taps decrease.
    Otherwise it tries some arrangements of the records.  A horizon beyond 2^24 steps uses the
    noise of an endless stream, which is slightly more than it needs.
    """
    guarantee, taps = plan.guarantee, plan.taps
    change = max(sum(units * units for units in lanes) for lanes in kinds(plan).values())
    if plan.grid.keys is not None and guarantee.neighbours == "replace" and not plan.statistic:
        largest = guarantee.protects.records_per_step * plan.grid.largest_unit
        change = max(change, 2 * largest * largest)  # even a single key may lose a record
    integers = taps.integers[: plan.horizon]
    if plan.pair.gain is not None:
        once = guarantee.protects.steps == 1
        return Fraction(change * _heaviest(plan, integers.tolist())), once
    k, apart = guarantee.protects.steps, guarantee.protects.apart
    if plan.horizon is not None:
        k = min(k, 1 + (plan.horizon - 1) // apart)
    squares = [change * _nearest(integers, k, apart, plan.horizon)]
    for found in arranged(plan, plan.horizon or 1 << 62):
        often = max(2, sum(step + len(integers) <= _SPAN for step in found.steps))
        lanes = zip(*found.moves[:often], strict=True)
        moves = [list(zip(found.steps[:often], lane, strict=True)) for lane in lanes]
        squares.append(sum(_together(integers, lane, plan.horizon) for lane in moves))
    return Fraction(max(squares)), k == 1 or (falls(plan) and (plan.horizon or 0) <= _ADDED_UP)


def shift_cases(plan: Plan) -> list[Counter[int]]:
    """For each kind of change: the shifts of the noise, and how often each occurs.

    This does not cover records of one person with overlapping taps, because only plans with
    Gaussian noise allow them.
    """
    guarantee, integers = plan.guarantee, np.abs(plan.taps.integers[: plan.horizon])
    often = guarantee.protects.steps
    if plan.horizon is not None:
        often = min(often, 1 + (plan.horizon - 1) // guarantee.protects.apart)
    changes = [
        tuple(sorted(abs(units) for units in each if units)) for each in kinds(plan).values()
    ]
    if plan.grid.keys is not None and guarantee.neighbours == "replace" and not plan.statistic:
        changes.append((guarantee.protects.records_per_step * plan.grid.largest_unit,) * 2)
    sizes, times = np.unique(integers[integers > 0], return_counts=True)
    if isinstance(plan.pair, BlockSums):
        sizes, times = np.ones(1, np.int64), np.array([_most_blocks(plan.pair)])
    cases = []
    for lanes in dict.fromkeys(changes):
        shifts: Counter[int] = Counter()
        for units in lanes:
            for size, count in zip(sizes.tolist(), times.tolist(), strict=True):
                shifts[units * size] += often * count
        cases.append(shifts)
    return cases


def _nearest(integers: Signed, k: int, apart: int, horizon: int | None) -> int:
    """‖Σ_{i<k} r shifted by i·apart‖² over all steps up to the horizon, in O(support).

    Write the steps in rows of length `apart`.  Row m sums the taps of rows m, m-1, ..., at most k
    of them, which is a difference of running sums.  The rows from the last row of taps up to row k
    are equal.
    """
    columns = min(apart, len(integers))
    rows = -(-len(integers) // columns)
    fits = sum(map(abs, integers.tolist())) < 1 << 62
    padded = np.zeros(rows * columns, dtype=np.int64 if fits else object)
    padded[: len(integers)] = integers
    sums = np.cumsum(padded.reshape(rows, columns), axis=0)
    count = k + rows - 1
    if horizon is not None:
        count = min(count, -(-horizon // apart))
    distinct = {*range(min(rows, count)), *range(min(k, count), count), count - 1}
    total = (count - len(distinct)) * _square(sums[-1])
    for m in distinct:
        row = sums[min(m, rows - 1)] - (sums[m - k] if m >= k else 0)
        total += _square(row if horizon is None else row[: horizon - m * apart])
    return total


def _square(row: Signed) -> int:
    return sum(value * value for value in row.tolist())


def _together(integers: Signed, moves: list[tuple[int, int]], horizon: int | None) -> int:
    """‖Σ_i units_i r shifted by step_i‖² over all steps up to the horizon."""
    steps = min(moves[-1][0] + len(integers), horizon or 1 << 62)
    largest = max(abs(units) for _, units in moves)
    fits = largest * sum(map(abs, integers.tolist())) < 1 << 62  # no tap counts twice in one step
    total = np.zeros(steps, dtype=np.int64 if fits else object)
    column = integers if fits else np.array(integers.tolist(), dtype=object)
    for step, units in moves:
        room = min(len(column), steps - step)
        total[step : step + room] += units * column[:room]
    return _square(total)


def _heaviest(plan: Plan, integers: list[int]) -> int:
    """The largest Σ_n (gain_{s+n} r_n)² over the columns s; over some of them if there are many."""
    steps = plan.horizon or 0
    gain = np.array(gain_of(plan, steps).tolist(), dtype=object) ** 2
    squares = np.array(integers, dtype=object) ** 2
    columns = set(np.linspace(0, steps - 1, min(steps, _COLUMNS)).astype(int).tolist())
    columns.add(heaviest_column(plan, steps))
    return max(int(np.sum(gain[s : s + len(squares)] * squares[: steps - s])) for s in columns)


def _most_blocks(pair: BlockSums) -> int:
    """The largest number of block sums that contain one step, over the tested steps."""
    n = min(pair.horizon or 2 * pair.schedule.period, _BLOCK_STEPS)
    ends = np.zeros(n + 1, dtype=np.int64)
    np.add.at(ends, block_starts(pair, n), 1)
    ends[1:] -= 1
    return int(np.max(np.cumsum(ends)))
