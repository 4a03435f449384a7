import numpy as np
import pytest

from hushfade import Exponential, Guarantee, InvalidType, InvalidValue, UnsafeSeededNoise, plan
from hushfade.private import integer_totals

ONE = Guarantee(1, 1e-6)
SEEDED = UnsafeSeededNoise(3)
PLAN = plan(Exponential(half_life=5), ONE)
KEYED = plan(Exponential(half_life=5), ONE, keys=["a", "b"])


def test_units_release_what_totals_on_the_grid_release():
    x = np.arange(-20, 40)
    expected = PLAN.start(SEEDED).run(x * PLAN.grid.resolution)
    assert np.array_equal(PLAN.start(SEEDED).run_units(x), expected)
    stream = PLAN.start(SEEDED)
    assert [stream.step_units(int(total)).value for total in x] == expected.tolist()
    rows = np.stack([x, 2 * x], axis=1)
    keyed = KEYED.start(SEEDED).run(rows * KEYED.grid.resolution)
    assert np.array_equal(KEYED.start(SEEDED).run_units(rows), keyed)
    stream = KEYED.start(SEEDED)
    assert np.array_equal([stream.step_units(row).value for row in rows], keyed)


def test_integers_come_back_as_they_are():
    assert integer_totals.single(np.int64(-7), most=7) == -7
    assert integer_totals.row([1, -2, 3], lanes=3, most=3).tolist() == [1, -2, 3]
    assert integer_totals.block([], lanes=1, most=3).shape == (0, 1)
    block = np.array([[1, 2], [3, 4]])
    copy = integer_totals.block(block, lanes=2, most=4)
    block[0, 0] = 9  # the caller's own array may change later
    assert copy.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "bad", [1.0, np.float64(1), True, np.bool_(1), "1", None, [1], float("nan"), 1 + 0j]
)
def test_a_total_that_is_no_integer_is_rejected(bad):
    stream = PLAN.start(SEEDED)
    with pytest.raises(InvalidType, match="units must be an integer"):
        stream.step_units(bad)
    assert stream.steps == 0


def test_floats_bools_and_short_integers_are_rejected_in_blocks():
    for bad in ([1.0, 2.0], [True, False], np.ones(3), np.ones(3, dtype=np.int32), ["1"], [None]):
        with pytest.raises(InvalidType, match="units must be int64"):
            PLAN.start(SEEDED).run_units(bad)


def test_arrays_that_are_not_plain_are_rejected():
    class Pretending(np.ndarray):
        dtype = property(lambda self: np.dtype(np.int64))

    masked = np.ma.MaskedArray([5, 10**9], mask=[False, True])
    for bad in (masked, np.array([0.5, 1.5]).view(Pretending)):
        with pytest.raises(InvalidType, match="units must be a plain array"):
            PLAN.start(SEEDED).run_units(bad)


def test_totals_beyond_the_largest_are_rejected():
    most = PLAN.grid.largest_total
    stream = PLAN.start(SEEDED)
    for bad in (most + 1, -most - 1, 2**70):
        with pytest.raises(InvalidValue, match="largest_total"):
            stream.step_units(bad)
    with pytest.raises(InvalidValue, match="largest_total"):
        stream.run_units([0, most + 1])
    with pytest.raises(InvalidValue, match="64 bits"):
        stream.run_units([2**70])
    stream.run_units([most, -most])
    assert stream.steps == 2


def test_shapes_that_do_not_fit_are_rejected():
    for bad in (np.zeros((2, 3), dtype=np.int64), np.zeros(2, dtype=np.int64)):
        with pytest.raises(InvalidValue, match=r"shape \(n, 2\)"):
            KEYED.start(SEEDED).run_units(bad)
    with pytest.raises(InvalidValue, match=r"shape \(2,\)"):
        KEYED.start(SEEDED).step_units([1, 2, 3])
