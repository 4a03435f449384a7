"""Sums over nested blocks of steps: levels, factors, errors and sensitivity, by brute force."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz

from hushfade import CustomDecay, Exponential, Mixture, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.factors import block_sums
from hushfade.factors.block_factors import BlockErrors, BlockSchedule, largest_variance
from hushfade.factors.block_levels import level_of

SCHEDULES = [(1, 2), (1, 5), (2, 6), (2, 7), (3, 11), (3, 20), (4, 70), (2, 100), (5, 3)]
DECAYS = [
    NoDecay(),
    Exponential(half_life=5),
    SlidingWindow(length=13),
    PowerLaw(power=0.5),
    CustomDecay([1, 3, 0, -1, 0.5]),
    Mixture([(1.0, Exponential(half_life=3)), (2.0, PowerLaw(power=1))]),
]


def levels_by_hand(depth, period, n):
    """The digits of a phase, kept in a list."""
    total = next(e for e in range(1, period + 1) if math.comb(e + depth, depth) >= period)
    digits, levels = [0] * depth, []
    for t in range(1, n + 1):
        level = 0
        if t % period == 0:
            level = depth
        elif sum(digits) == total:
            level = 1 + next(i for i, digit in enumerate(digits) if digit)
        digits[:level] = [0] * level
        if level < depth:
            digits[level] += 1
        levels.append(level)
    return levels


def test_levels_are_those_of_the_definition():
    for depth, period in SCHEDULES:
        schedule, n = BlockSchedule(depth, period), 3 * period + 5
        expected = levels_by_hand(depth, period, n)
        assert schedule.levels(n).tolist() == expected, schedule
        found = [level_of(t, period, depth, schedule.total) for t in range(n)]
        assert found == expected, schedule
        for steps in range(1, n + 1):
            within = schedule.levels_within(steps)
            assert within == len(set(expected[:steps])), (schedule, steps)
        assert schedule.levels_within(None) == len(set(expected)), schedule


def test_a_long_period_has_levels_at_its_end():
    schedule = BlockSchedule(depth=6, period=1 << 40)
    last = level_of(schedule.period - 1, schedule.period, 6, schedule.total)
    assert last == 6
    assert level_of(schedule.period, schedule.period, 6, schedule.total) == 0


def test_the_factors_multiply_to_the_decay_and_a_record_is_in_one_sum_per_level():
    for decay in DECAYS:
        for depth, period in SCHEDULES:
            n = min(2 * period + 9, 90)
            pair = block_sums(decay, depth=depth, period=period)
            L, R = pair.matrices(n)
            M = toeplitz(decay.weights(n), np.zeros(n))
            assert_allclose(L @ R, M, atol=1e-12, err_msg=f"{decay!r}, {pair.schedule}")
            assert set(np.unique(R)) <= {0.0, 1.0}
            column = int(np.max(np.sum(np.abs(R), axis=0)))
            assert pair.schedule.levels_within(n) == column, (decay, pair.schedule)
            assert pair.sensitivity(n).value == math.sqrt(column)


def test_errors_are_the_norms_of_the_rows_of_the_left_factor():
    for decay in DECAYS:
        for depth, period in SCHEDULES:
            n = min(3 * period + 9, 120)
            pair = block_sums(decay, depth=depth, period=period)
            L, _ = pair.matrices(n)
            squares, fourths = pair.power_sums(n)
            said = f"{decay!r}, {pair.schedule}"
            assert_allclose(pair.errors(n), np.linalg.norm(L, axis=1), rtol=1e-11, err_msg=said)
            assert_allclose(fourths, np.sum(L**4, axis=1), rtol=1e-10, err_msg=said)
            assert_allclose(pair.largest_error(n), np.max(pair.errors(n)), rtol=1e-12)
            assert_allclose(pair.largest_error(3), np.max(pair.errors(3)), rtol=1e-12)
            largest = largest_variance(decay, pair.schedule, n, looks=10**6)
            if isinstance(decay, NoDecay):  # at least: the last period may have just begun
                assert largest >= np.max(squares) - 1e-9, said
            else:
                assert_allclose(largest, np.max(squares), rtol=1e-11, err_msg=said)


def test_errors_are_the_same_in_pieces_and_once_they_have_settled():
    for decay in DECAYS:
        schedule = BlockSchedule(depth=2, period=10)
        whole = BlockErrors(decay, schedule).next(40_000)
        pieces = BlockErrors(decay, schedule)
        parts = [pieces.next(n) for n in (1, 7, 1000, 20_000, 18_992)]
        for i in range(2):
            joined = np.concatenate([part[i] for part in parts])
            assert_allclose(joined, whole[i], rtol=1e-12, err_msg=repr(decay))


def test_counting_has_the_digit_sum_as_its_variance():
    pair = block_sums(NoDecay(), depth=3, period=1025, horizon=1024)
    squares, _ = pair.power_sums(1024)
    assert np.max(squares) == 17  # C(20, 3) > 1024
    assert pair.squared_sensitivity() == 3
    assert_array_equal(squares[:20], [*range(1, 18), 1, 2, 3])


def test_other_pairs_and_arguments_are_rejected():
    pair = block_sums(NoDecay(), depth=2, period=6)
    for wrong in (lambda: pair.left(3), lambda: pair.right(3), lambda: pair.rounded(8)):
        with pytest.raises(InvalidType):
            wrong()
    for depth, period in ((0, 6), (17, 6), (2, 1), (2, 1 << 41), (1, 1 << 20), (1.0, 6)):
        with pytest.raises(HushfadeError):
            BlockSchedule(depth, period)
    with pytest.raises(InvalidValue, match="period"):
        block_sums(PowerLaw(power=1), depth=4, period=1 << 21)
    with pytest.raises(InvalidValue, match="participations"):
        pair.sensitivity(participations=2)
