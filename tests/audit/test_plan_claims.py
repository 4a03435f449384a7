import math

import numpy as np
import pytest

from hushfade import CustomDecay, Exponential, Guarantee, Person, plan
from hushfade.audit.exact_shifts import shift_square
from hushfade.audit.plan_claims import promise
from hushfade.audit.subject import Subject
from hushfade.planning.plan import Plan


def test_where_it_takes_too_many_digits_nothing_is_claimed():
    found = plan(
        Exponential(half_life=5), Guarantee(10_000, 1e-6), resolution=2.0**-20, method="square_root"
    )
    first = promise(Subject(), found, "a plan")[0]
    assert first.passed is None
    assert "digits" in first.measurement


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
