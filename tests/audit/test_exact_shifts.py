import math
from fractions import Fraction

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, Person, plan
from hushfade.audit.exact_shifts import _nearest, _together, shift_square


@pytest.mark.parametrize("keys", [None, ["a"], ["a", "b"]])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_exact_shift_is_sigma_times_mu(keys, neighbours):
    guarantee = Guarantee(1, 1e-6, neighbours=neighbours, protects=Person(records_per_step=2))
    found = plan(
        Exponential(half_life=5), guarantee, low=-1, high=3, keys=keys, method="square_root"
    )
    square, whole = shift_square(found)
    assert whole
    assert found.sigma * guarantee.mu == pytest.approx(math.sqrt(square), rel=1e-11)


def test_the_shift_of_several_records_by_hand():
    guarantee = Guarantee(1, 1e-6, protects=Person(steps=2, apart=1))
    found = plan(NoDecay(), guarantee, horizon=2, resolution=1.0, method="square_root")
    a, b = found.pair.taps.integers.tolist()
    assert shift_square(found) == (Fraction(a * a + (a + b) ** 2), True)


def test_with_a_gain_the_heaviest_column_counts():
    found = plan(NoDecay(), Guarantee(1, 1e-6), horizon=30, method="normalized")
    columns = found.pair.matrices(30)[1] * 2.0**found.bits / 1024
    largest = np.max(np.linalg.norm(columns, axis=0)) * 1024**2
    assert math.sqrt(shift_square(found)[0]) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("apart", [40, 10**9])
def test_records_that_never_meet_add_their_squares(apart):
    guarantee = Guarantee(1, 1e-6, protects=Person(steps=5, apart=apart))
    found = plan(Exponential(half_life=5), guarantee, resolution=1.0, method="square_root")
    taps = found.pair.taps.integers.tolist()
    assert len(taps) < 40
    assert shift_square(found) == (Fraction(5 * sum(tap * tap for tap in taps)), True)


@pytest.mark.parametrize("horizon", [None, 1, 7, 20, 33])
@pytest.mark.parametrize("support", [1, 2, 5, 12])
def test_the_nearest_records_are_squared_as_one_by_one(support, horizon):
    integers = np.random.default_rng(2).integers(-99, 99, size=support)[:horizon]
    for apart in (1, 2, 3, 5, 11, 40):
        for k in (1, 2, 3, 7, 30):
            often = k if horizon is None else min(k, 1 + (horizon - 1) // apart)
            moves = [(i * apart, 1) for i in range(often)]
            one_by_one = _together(integers, moves, horizon)
            assert _nearest(integers, often, apart, horizon) == one_by_one, (apart, k)


def test_the_nearest_records_are_squared_beyond_int64():
    integers = np.array([2**61, 2**61, 2**60])
    assert _nearest(integers, 2, 1, None) == 2**122 + 2**124 + 9 * 2**120 + 2**120
