import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushfade import CustomDecay, Exponential, Guarantee, NoDecay, Person, plan
from hushfade.audit.plan_claims import _nearest, _together, delta, promise, shift_square
from hushfade.audit.subject import Subject
from hushfade.planning.plan import Plan

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
    found = plan(
        Exponential(half_life=5), Guarantee(10_000, 1e-6), resolution=2.0**-20, method="square_root"
    )
    first = promise(Subject(), found, "a plan")[0]
    assert first.passed is None
    assert "digits" in first.measurement


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


@pytest.mark.parametrize("horizon", [None, 10**9])
@pytest.mark.parametrize("separation", [1, 7, 10**4])
def test_a_thousand_million_records_are_squared_too(separation, horizon):
    guarantee = Guarantee(1, 1e-6, protects=Person(steps=10**9, apart=separation))
    found = plan(
        Exponential(half_life=24), guarantee, horizon=horizon, resolution=1.0, method="square_root"
    )
    square, whole = shift_square(found)
    assert whole is (horizon is None)  # the noise of a stream without end serves so long a horizon
    assert 0 <= found.sigma * guarantee.mu / math.sqrt(square) - 1 < 1e-8
    assert promise(Subject(), found, "a plan")[1].passed


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_weights_that_the_bound_is_not_made_for_are_no_contradiction(size):
    found = plan(CustomDecay([size, size / 2]), Guarantee(1, 1e-6), method="square_root")
    (*others, last) = promise(Subject(), found, "a plan")
    assert all(finding.passed for finding in others)
    assert last.passed is None
    assert "not tested: f must have its largest weight" in last.measurement


def test_an_error_below_the_least_possible_is_a_contradiction(monkeypatch):
    found = plan(Exponential(half_life=5), Guarantee(1, 1e-6), method="square_root")
    monkeypatch.setattr(Plan, "max_stddev", lambda plan, n: float(np.max(plan.stddevs(n))) / 2)
    last = promise(Subject(), found, "a plan")[-1]
    assert last.passed is False
    assert last.measurement == "the plan contradicts its own bound"


@pytest.mark.parametrize("mu", [4.658487201686465e-05, 1e-3, 0.5])
def test_a_guarantee_from_mu_is_not_accused(mu):
    found = plan(Exponential(half_life=5), Guarantee.from_mu(mu, delta=1e-6))
    assert promise(Subject(), found, "a plan")[0].passed
