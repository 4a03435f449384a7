import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade import Exponential, Guarantee, UnsafeSeededNoise, plan
from hushfade.errors import HushfadeError, InvalidType, InvalidValue
from hushfade.private.grid import Grid
from tests.private.adversarial_values import GRIDS, expected, floats, integers
from tests.private.input_paths import planned

SEEDED = UnsafeSeededNoise(3)
SECRET = 8675309
KEYS = ("a", "b", "c")
GRID = Grid(low=-2.0, high=5.0, resolution=2.0**-7, largest_total=2**40)
COLUMNS = [
    np.array([0.3, 1e308, -0.0]), np.array([1, -(2**62), 2**63 - 1]), np.array([2**64 - 1, 3, 1],
    dtype=np.uint64), np.array([0.1, 3.3], dtype=np.float16), np.array([100, -3], dtype=np.int8),
    np.array([0.1, 1e38], dtype=np.float32), np.array([0.7], dtype=np.longdouble), [2**70, 1],
    [0.25, 2**70], (-(2**80),), 4, 0.5, [],
]  # fmt: skip


def test_floats_become_the_units_that_plain_rounding_gives():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, 200_000, dtype=np.uint64).view(np.float64)
    for bounds in GRIDS.values():
        grid = planned(1, **bounds).grid
        near = grid.low + (grid.high - grid.low) * rng.uniform(-0.1, 1.1, 200_000)
        halves = (np.floor(near / grid.resolution) + 0.5) * grid.resolution
        for values in (bits[np.isfinite(bits)], near, halves, np.nextafter(halves, 0.0)):
            before = np.floor(np.clip(values, grid.low, grid.high) / grid.resolution + 0.5)
            assert np.array_equal(grid.units(values), before)


def test_a_float_alone_counts_as_in_an_array():
    rng = np.random.default_rng(4)
    for name, bounds in GRIDS.items():
        grid = planned(1, **bounds).grid
        keyed = planned(3, **bounds).grid
        for alone in floats(grid, rng):
            unit = int(grid.units([alone])[0])
            assert grid.record_sum(alone) == grid.record_sum([alone]) == unit, name
            by_key = {"k0": alone, "k2": [alone, alone]}
            assert keyed.record_sums(by_key).tolist() == [unit, 0, 2 * unit], name
    for bad in (np.nan, np.inf, -np.inf):
        for records in (float(bad), [float(bad)]):
            with pytest.raises(InvalidValue, match="must be finite"):
                GRID.record_sum(records)


def test_totals_are_converted_whatever_the_layout_of_their_array():
    units = np.arange(-60, 60).reshape(20, 6)
    totals = units * GRID.resolution
    keyed = Grid(-2.0, 5.0, GRID.resolution, 2**40, keys=tuple("abcdef"))
    sealed = totals.copy()
    sealed.flags.writeable = False
    padded = np.zeros(totals.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(20, 6)
    padded[:] = totals
    wide = np.repeat(totals, 2, axis=1)[:, ::2]
    for array in (totals, sealed, padded, wide, np.asfortranarray(totals), totals.tolist()):
        assert np.array_equal(keyed.block(array), units)
    assert keyed.block(np.empty((0, 6))).shape == (0, 6)
    for bad, words in (
        (GRID.resolution / 2, "multiples"),
        (5e-324, "multiples"),
        (np.nan, "largest_total"),
        (np.inf, "largest_total"),
        (2.0**62, "largest_total"),
    ):
        for place in (0, -1):
            changed = totals.copy()
            changed.flat[place] = bad
            with pytest.raises(InvalidValue, match=words):
                keyed.block(changed)


def test_no_record_counts_more_than_its_bounds_and_more_never_counts_less():
    rng = np.random.default_rng(2)
    for name, bounds in GRIDS.items():
        grid = planned(1, **bounds).grid
        values = np.sort(floats(grid, rng))
        units = grid.units(values)
        assert units.min() == grid.low_unit, name
        assert units.max() == grid.high_unit, name
        assert np.all(np.diff(units) >= 0), name
        assert grid.largest_unit == max(abs(grid.low_unit), abs(grid.high_unit))


def test_integers_of_every_size_count_as_the_nearest_float():
    rng = np.random.default_rng(3)
    for bounds in GRIDS.values():
        grid = planned(1, **bounds).grid
        for values in integers(rng).values():
            alone = [int(grid.units(value)) for value in values]
            assert alone == grid.units(values).tolist() == expected(grid, values)
            assert grid.units([*values, 0.5])[:-1].tolist() == alone  # whatever stands beside them


def test_a_truth_value_is_rejected_whatever_stands_beside_it():
    """numpy reads [True, 0.5] as [1.0, 0.5] and rejects [True]: 0.5 would let True in."""
    made = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6))
    vector = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), width=2, norm=1)
    for truth in (True, np.True_, np.array(True)):
        for beside in ([], [0.5], [1], [np.float32(1)], [2**70], [np.array(0.5)]):
            for records in ([truth, *beside], [*beside, truth]):
                with pytest.raises(InvalidType):
                    made.grid.record_sum(records)
                with pytest.raises(InvalidType):
                    made.grid.block(records)
        with pytest.raises(InvalidType):
            vector.grid.units([[0.5, 0.25], [truth, 0.5]])
        with pytest.raises(InvalidType):
            vector.grid.units([[0.5, 0.25], (0.5, truth)])


def test_a_large_integer_changes_nothing_of_what_stands_beside_it():
    made = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6)).grid
    for beside in (0.25, 1, np.float32(0.5), np.int8(1), np.array(0.75), np.longdouble(0.25)):
        assert made.units([beside, 2**70]).tolist() == [*made.units([beside]), made.high_unit]


def test_a_stream_clips_an_integer_of_more_than_64_bits():
    made = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6))
    for record in (2**70, -(2**70), [2**70, 1], (0.5, 2**200)):
        clipped = np.clip(np.array(record, dtype=np.float64), 0.0, 1.0)
        assert made.start(SEEDED).step(record).value == made.start(SEEDED).step(clipped).value


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(range(len(COLUMNS))), min_size=3, max_size=3))
def test_what_one_key_is_given_changes_nothing_of_another(chosen):
    """Their types differ, and numpy would join them in one array of another type."""
    keyed = Grid(GRID.low, GRID.high, GRID.resolution, GRID.largest_total, KEYS)
    together = keyed.record_sums({key: COLUMNS[i] for key, i in zip(KEYS, chosen, strict=True)})
    assert together.tolist() == [GRID.record_sum(COLUMNS[i]) for i in chosen]


def test_known_by_hand():
    grid = Grid(low=-0.5, high=2.0, resolution=0.25, largest_total=100)
    values = [-9, -0.5, -0.375, -0.126, -0.125, 0.124, 0.125, 1.99, 2, 1e308]
    assert grid.units(values).tolist() == [-2, -2, -1, -1, 0, 0, 1, 8, 8, 8]
    assert grid.quantise(values).tolist() == [-0.5, -0.5, -0.25, -0.25, 0, 0, 0.25, 2, 2, 2]
    assert (grid.low_unit, grid.high_unit, grid.largest_unit) == (-2, 8, 8)
    assert grid.record_sum([0.3, 1]) == 5
    assert grid.record_sum(()) == 0


def test_errors_contain_no_value_and_lead_to_none():
    for bad in (
        [SECRET, float("nan")], [SECRET, float("inf")], [SECRET, 10**400], [SECRET, "8675309"],
        [SECRET, None], [[SECRET], [SECRET, 1]], [2**70, True], [2**70, "8675309"],
        [[2**70], [1, 2]], np.array([SECRET, None]), {"8675309": 1}, np.ma.array([SECRET]),
        10**400, "8675309",
    ):  # fmt: skip
        for work in (GRID.units, GRID.quantise, GRID.record_sum):
            with pytest.raises(HushfadeError) as caught:
                work(bad)
            assert "8675309" not in str(caught.value)
            assert caught.value.__context__ is None, bad
    with pytest.raises(InvalidType, match="must not be masked"):
        GRID.units(np.ma.array([1.0]))
    with pytest.raises(InvalidType, match="must not be a mapping: this plan has no keys"):
        GRID.record_sum({"at": [1.0]})
    with pytest.raises(InvalidValue, match="2 dimensions"):
        GRID.record_sum([[1.0]])


def test_totals_above_the_largest_are_rejected():
    few = Grid(low=0.0, high=1.0, resolution=0.5, largest_total=3, keys=("a", "b"))
    assert few.record_sums({"b": [1, 0.5]}).tolist() == [0, 3]
    with pytest.raises(InvalidValue, match="largest_total"):
        few.record_sums({"b": [1, 1]})
    single = Grid(low=0.0, high=1.0, resolution=0.5, largest_total=3)
    with pytest.raises(InvalidValue, match="largest_total"):
        single.record_sum([1, 1])


def test_totals_on_a_subnormal_grid_are_read():
    made = plan(Exponential(half_life=5), Guarantee(epsilon=1, delta=1e-6), high=2.0**-1040)
    resolution = made.grid.resolution
    assert made.grid.block(np.array([0.0, 3 * resolution])).tolist() == [[0], [3]]
    assert made.grid.total(3 * resolution) == 3
