import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.errors import InvalidValue
from hushfade.private.unit_sums import UnitSums, merged, summed

HUGE = 2**60
RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(-HUGE, HUGE)), max_size=3)


@settings(deadline=None, derandomize=True)
@given(st.lists(RECORDS, max_size=12))
def test_sums_are_exact_or_the_batch_is_rejected_and_changes_nothing(batches):
    sums, exact = UnitSums(5, largest=HUGE), [0] * 5
    for batch in batches:
        cells = np.array([cell for cell, _ in batch], dtype=np.int64)
        units = np.array([unit for _, unit in batch], dtype=np.int64)
        after = list(exact)
        for cell, unit in batch:
            after[cell] += unit
        try:
            sums.add(cells, units)
        except InvalidValue:
            assert max(map(abs, exact)) + len(batch) * HUGE >= 2**62
        else:
            exact = after
        assert sums.totals.tolist() == exact


def test_many_records_that_cancel_are_no_overflow():
    sums = UnitSums(1, largest=HUGE)
    for _ in range(20):
        sums.add(np.zeros(2, dtype=np.int64), np.array([HUGE, -HUGE]))
    assert sums.totals.tolist() == [0]


def test_the_largest_sum_is_below_2_to_62():
    assert summed(np.array([HUGE] * 3), largest=HUGE) == 3 * HUGE
    assert summed(np.zeros((0, 2), dtype=np.int64), largest=HUGE).tolist() == [0, 0]
    assert merged(np.array([3 * HUGE]), np.array([HUGE - 1])).tolist() == [2**62 - 1]
    for work in (
        lambda: summed(np.array([HUGE] * 4), largest=HUGE),
        lambda: merged(np.array([3 * HUGE]), np.array([-HUGE])),
        lambda: merged(np.array([-(2**63)]), np.array([0])),
        lambda: UnitSums(1, largest=HUGE).add(np.zeros(4, dtype=np.int64), np.ones(4, np.int64)),
    ):
        with pytest.raises(InvalidValue, match="too many records: their sum could exceed 62 bits"):
            work()


def test_more_cells_keep_the_sums_that_are_there():
    sums = UnitSums(2, largest=5)
    sums.add(np.array([1]), np.array([5]))
    sums.grow(4)
    sums.grow(3)
    assert sums.totals.tolist() == [0, 5, 0, 0]
