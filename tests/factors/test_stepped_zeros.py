"""Zeros of polynomials of few constant pieces."""

import numpy as np

from hushfade.decays import SlidingWindow
from hushfade.factors import factorization, unit_disk
from hushfade.factors.stepped_zeros import zeros_inside


def _column(jumps, values):
    return np.repeat(values, np.diff(jumps)).astype(float)


def test_the_count_is_that_of_the_whole_polynomial_for_any_period():
    random = np.random.default_rng(1)
    known = 0
    for case in range(400):
        jumps = np.append(0, np.cumsum(random.integers(1, 6, random.integers(1, 9))))
        values = random.integers(-20, 21, len(jumps) - 1)
        values[0], values[-1] = random.integers(10, 60), values[-1] or 7
        expected = unit_disk.zeros_inside(_column(jumps, values))
        for period in (None, int(random.integers(3, 12))):
            count = zeros_inside(jumps, values, period)
            if count is not None and expected is not None:
                assert count == expected, f"case {case}: {jumps}, {values}, period {period}"
                known += 1
    assert known > 300  # otherwise the comparison shows nothing


def test_zeros_of_a_long_polynomial_are_counted():
    length = 10**6
    for values, zeros in (([10**7, -1], 0), ([1, 3 * 10**6, 1], 1)):  # the second: 1 + 3·10^6 x
        jumps = np.array([*range(len(values)), length])
        assert zeros_inside(jumps, np.array(values)) == zeros


def test_rounded_taps_of_windows_have_the_zeros_that_the_whole_column_has():
    for length in (16, 200, 1000):
        for bits in (6, 8, 10):
            exact = factorization.blend(SlidingWindow(length=length), 0.5)
            r = exact.right(6 * length)
            starts = np.unique(np.geomspace(1, len(r), 60).astype(int) - 1)
            starts = np.unique(np.append(starts, np.arange(0, len(r), length)))
            means = np.rint(np.add.reduceat(r, starts) / np.diff(starts, append=len(r)) * 2**bits)
            jumps, values = np.append(starts, len(r)), means.astype(np.int64)
            while values[-1] == 0:
                jumps, values = jumps[:-1], values[:-1]
            expected = unit_disk.zeros_inside(_column(jumps, values))
            count = zeros_inside(jumps, values, length)
            assert count is not None
            assert count == expected, f"length {length}, bits {bits}"
