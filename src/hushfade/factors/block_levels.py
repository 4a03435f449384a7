"""Compiled loops over the levels of nested blocks of steps (see `factors.block_factors`).

A phase is a number of steps within a period.  Its digits d_0, ..., d_{depth-1} ≥ 0 add up to at
most `total`.  Phases enumerate all these digits in lexicographic order, d_0 fastest.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.compiled import compiled, inlined


@compiled
def seek(phase: int, total: int, digits: Signed) -> int:
    """The rest of the total after the digits of a phase, which are written to `digits`.

    C(i + room, i) phases share the digits from d_i on, where `room` is left for the lower digits.
    The quotients below are exact, because each is a binomial coefficient.
    """
    room, count = total, 1
    depth = len(digits)
    for i in range(1, depth):
        count = count * (total + i) // i  # finally C(total + depth - 1, depth - 1)
    for i in range(depth - 1, -1, -1):
        digit = 0
        while phase >= count:
            phase -= count
            count = count * room // (room + i) if room else 0
            room -= 1
            digit += 1
        digits[i] = digit
        if i:
            count = count * i // (room + i)
    return room


@inlined
def next_level(step: int, period: int, digits: Signed, room: int) -> int:
    """The level of the step after `step` steps, whose digits leave `room`."""
    if (step + 1) % period == 0:
        return len(digits)
    level = 0
    if room == 0:
        while digits[level] == 0:
            level += 1
        level += 1
    return level


@inlined
def moved(level: int, digits: Signed, room: int) -> int:
    """The rest of the total after a step of this level; updates the digits to the next phase."""
    for i in range(level):
        room += digits[i]
        digits[i] = 0
    if level < len(digits):
        digits[level] += 1
        return room - 1
    return room


@compiled
def level_of(step: int, period: int, depth: int, total: int) -> int:
    """The level of the step after `step` steps."""
    digits = np.empty(depth, np.int64)
    return next_level(step, period, digits, seek(step % period, total, digits))


@compiled
def levels_from(step: int, period: int, depth: int, total: int, out: Signed) -> None:
    """Write the levels of the steps after `step` steps to `out`."""
    digits = np.empty(depth, np.int64)
    room = seek(step % period, total, digits)
    for i in range(len(out)):
        out[i] = next_level(step + i, period, digits, room)
        room = moved(out[i], digits, room)


@compiled
def open_blocks_from(step: int, period: int, depth: int, total: int, out: Signed) -> None:
    """Write the number of open blocks after each step to `out`; their sum is the prefix sum."""
    digits = np.empty(depth, np.int64)
    room = seek(step % period, total, digits)
    for i in range(len(out)):
        room = moved(next_level(step + i, period, digits, room), digits, room)
        out[i] = (step + i + 1) // period + total - room


@compiled
def parents_of(levels: Signed, depth: int) -> Signed:
    """For each step of a period, from 0, the first later step of a higher level, or -1."""
    parents = np.empty(len(levels), np.int64)
    above = np.full(depth + 1, -1, np.int64)  # the next step above each level
    for step in range(len(levels) - 1, -1, -1):
        parents[step] = above[levels[step]]
        for level in range(levels[step]):
            above[level] = step
    return parents


@compiled
def node_powers(
    step: int, f: Column, first: int, parents: Signed, squares: Column, fourths: Column
) -> None:
    """Σ w² and Σ w⁴ over the noise of the first period, at the steps after `step` steps.

    w = f_{t-τ} - f_{t-parent(τ)}, where the second term begins at the parent's step.  f begins with
    the weight of lag `first`.
    """
    for i in range(len(squares)):
        t = step + i
        square, fourth = 0.0, 0.0
        for tau in range(min(t + 1, len(parents))):
            w = f[t - tau - first]
            if 0 <= parents[tau] <= t:
                w -= f[t - parents[tau] - first]
            square += w * w
            fourth += w * w * w * w
        squares[i] = square
        fourths[i] = fourth


@compiled
def faded_powers(
    step: int,
    period: int,
    total: int,
    faded: float,
    state: Matrix,
    squares: Column,
    fourths: Column,
) -> None:
    """Σ w² and Σ w⁴ at the steps after `step` steps, for weights f_k = faded^k.

    Row i of the state has Σ f^j over the open blocks of level i, j = 0, ..., 4.  The last row has
    Σ w² and Σ w⁴ of all other noise.  A closed block has the weight f - 1.
    """
    depth = len(state) - 1
    digits = np.empty(depth, np.int64)
    room = seek(step % period, total, digits)
    closed, factors = state[depth], faded ** np.arange(5.0)
    for i in range(len(squares)):
        level = next_level(step + i, period, digits, room)
        room = moved(level, digits, room)
        for j in range(depth + 1):
            for power in range(5):
                state[j, power] *= factors[power]
        for j in range(level):
            zero, one, two = state[j, 0], state[j, 1], state[j, 2]
            three, four = state[j, 3], state[j, 4]
            closed[2] += max(0.0, two - 2.0 * one + zero)
            closed[4] += max(0.0, four - 4.0 * three + 6.0 * two - 4.0 * one + zero)
            for power in range(5):
                state[j, power] = 0.0
        square, fourth = 0.0, 0.0
        for power in range(5):
            state[level, power] += 1.0
        for j in range(depth + 1):
            square += state[j, 2]
            fourth += state[j, 4]
        squares[i], fourths[i] = square, fourth


@compiled
def largest_variance(f: Column, parents: Signed, stride: int) -> float:
    """The largest Σ w² in the last period of len(f) steps, evaluated every `stride` steps.

    Periods that lie more than 64 periods back are sampled: one period represents a group of
    neighbours, and the groups grow by one period with every 64 periods.
    """
    n, period = len(f), len(parents)
    largest = 0.0
    for t in range(n - 1, max(-1, n - 1 - period), -stride):
        total = 0.0
        periods = t // period + 1
        age = 0  # in periods
        while age < periods:
            together = min(1 + age // 64, periods - age)
            back = t - (periods - 1 - age - together // 2) * period
            here = 0.0
            for tau in range(min(back + 1, period)):
                w = f[back - tau]
                if 0 <= parents[tau] <= back:
                    w -= f[back - parents[tau]]
                here += w * w
            total += together * here
            age += together
        largest = max(largest, total)
    return largest
