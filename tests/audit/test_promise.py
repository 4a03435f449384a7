import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, plan
from hushfade.audit.promise import delta, promise, shift_square
from hushfade.audit.subject import Subject

CASES = [
    (0.2367, 1.0), (0.05, 0.1), (1.0, 0.5), (3.0, 20.0), (0.01, 0.1), (5.0, 1.0),
    (33.0, 700.0), (0.0386, 1.0), (0.1353, 5.0), (57.0, 2000.0),
]  # fmt: skip


@pytest.mark.parametrize(("mu", "epsilon"), CASES)
def test_delta_agrees_with_mpmath(mu, epsilon):
    with mpmath.workdps(1000):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert delta(mu, epsilon) == pytest.approx(float(exact), rel=1e-12)


def test_where_it_takes_too_many_digits_nothing_is_claimed():
    found = plan(Exponential(half_life=5), Guarantee(10_000, 1e-6), resolution=2.0**-20)
    first = promise(Subject(), found, "a plan")[0]
    assert first.passed is None
    assert "digits" in first.measurement


@pytest.mark.parametrize("keys", [None, ["a"], ["a", "b"]])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_exact_shift_is_sigma_times_mu(keys, neighbours):
    guarantee = Guarantee(1, 1e-6, neighbours=neighbours, records_per_step=2)
    found = plan(Exponential(half_life=5), guarantee, low=-1, high=3, keys=keys)
    square, whole = shift_square(found)
    assert whole
    assert found.sigma * guarantee.mu == pytest.approx(math.sqrt(square), rel=1e-11)


def test_the_shift_of_several_records_by_hand():
    guarantee = Guarantee(1, 1e-6, participations=2, separation=1)
    found = plan(NoDecay(), guarantee, horizon=2, resolution=1.0)
    a, b = found.pair.taps.integers.tolist()
    assert shift_square(found) == (Fraction(a * a + (a + b) ** 2), True)


def test_with_a_gain_the_heaviest_column_counts():
    found = plan(NoDecay(), Guarantee(1, 1e-6), horizon=30, method="normalized")
    columns = found.pair.matrices(30)[1] * 2.0**found.bits / 1024
    largest = np.max(np.linalg.norm(columns, axis=0)) * 1024**2
    assert math.sqrt(shift_square(found)[0]) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("apart", [40, 10**9])
def test_records_that_never_meet_add_their_squares(apart):
    guarantee = Guarantee(1, 1e-6, participations=5, separation=apart)
    found = plan(Exponential(half_life=5), guarantee, resolution=1.0)
    taps = found.pair.taps.integers.tolist()
    assert len(taps) < 40
    assert shift_square(found) == (Fraction(5 * sum(tap * tap for tap in taps)), True)
