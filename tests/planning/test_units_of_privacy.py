"""The sensitivity of every unit, by brute force over all patterns of a person's records."""

import itertools
import json

import numpy as np
import pytest

import hushfade as hf
from hushfade.planning.noise_scale import squared_sensitivity

DECAYS = (
    hf.Exponential(half_life=3), hf.PowerLaw(power=0.5), hf.SlidingWindow(length=3),
    hf.CustomDecay([1, 0.2, 0.9]),
)  # fmt: skip
UNITS = (
    hf.Record(), hf.Person(), hf.Person(steps=2, apart=2), hf.Person(steps=3, records_per_step=2),
    hf.Person(within=1, records_per_step=3), hf.Person(within=3),
    hf.Person(within=4, records_per_step=2), hf.Person(period="week", steps=2, apart=3),
)  # fmt: skip
N = 7


def patterns(unit, n):
    """All sets of steps that one unit may have, in n steps."""
    for count in range(1, unit.steps + 1):
        for steps in itertools.combinations(range(n), count):
            if unit.within is not None and steps[-1] - steps[0] >= unit.within:
                continue
            if all(b - a >= unit.apart for a, b in itertools.pairwise(steps)):
                yield steps


def largest(plan, n, change):
    """The largest squared shift of the private half, over all patterns and signs."""
    right = plan.pair.matrices(n)[1] * 2.0**plan.pair.places
    gram = right.T @ right
    found = 0.0
    for steps in patterns(plan.guarantee.protects, n):
        part = gram[np.ix_(steps, steps)]
        for signs in itertools.product((1, -1), repeat=len(steps) - 1):
            x = np.array((1, *signs))
            found = max(found, float(x @ part @ x))
    return found * change**2


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_pattern_of_a_unit_moves_the_private_half_by_more_than_claimed(neighbours):
    attained = 0
    for decay, unit in itertools.product(DECAYS, UNITS):
        guarantee = hf.Guarantee(1, 1e-6, neighbours, unit)
        plan = hf.plan(
            decay, guarantee, low=-1, high=2, horizon=N, method="square_root", law="gaussian"
        )
        grid = plan.grid
        most = max(abs(grid.low_unit), grid.high_unit)
        one = most if neighbours == "add_remove" else grid.high_unit - grid.low_unit
        found = largest(plan, N, unit.records_per_step * one)
        claimed = squared_sensitivity(guarantee, grid, plan.pair)
        assert found <= claimed * (1 + 1e-12), (decay, unit)  # the Gram matrix is in float64
        attained += found >= claimed * (1 - 1e-12)
    assert attained > len(DECAYS) * len(UNITS) / 2  # where the taps fall, the bound is attained


def test_a_window_costs_all_its_steps_wherever_it_lies():
    """The seeded bug: taking only the releases inside the window forgets what the taps carry on."""
    for decay in DECAYS[:3]:
        for w in (2, 5):
            guarantee = hf.Guarantee(1, 1e-6, protects=hf.Person(within=w))
            plan = hf.plan(decay, guarantee, method="square_root", law="gaussian", resolution=1)
            taps = plan.taps.integers.astype(object)
            whole = np.convolve(taps, np.ones(w, dtype=object))
            inside = int(np.sum(whole[:w] ** 2))
            claimed = squared_sensitivity(guarantee, plan.grid, plan.pair)
            assert claimed > inside
            if isinstance(decay, hf.Exponential | hf.PowerLaw):
                assert claimed == int(np.sum(whole**2))


def test_noise_on_the_inputs_loses_the_whole_window():
    week = hf.Guarantee(7, 0, protects=hf.Person(within=7))
    plan = hf.plan(hf.SlidingWindow(length=7), week)
    one = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 0))
    assert plan.method == "input"
    assert plan.law == one.law
    assert plan.privacy.epsilon(0.0) == pytest.approx(7, rel=1e-9)
    assert plan.privacy_after(3).epsilon(0.0) == pytest.approx(3, rel=1e-9)
    assert plan.privacy_after(100).epsilon(0.0) == pytest.approx(7, rel=1e-9)


def test_what_is_not_proven_is_refused():
    week = hf.Guarantee(1, 1e-6, protects=hf.Person(within=7))
    with pytest.raises(hf.InvalidValue, match="closer together than the reach of the taps"):
        hf.plan(hf.Exponential(half_life=24), week, method="square_root", law="huber")
    with pytest.raises(hf.InvalidValue, match="protects must cover one step"):
        hf.plan(hf.NoDecay(), week, horizon=64, method="blocks")
    for wrong, error in (
        ({"within": 7, "steps": 3}, hf.InvalidValue), ({"within": 7, "apart": 2}, hf.InvalidValue),
        ({"within": 0}, hf.InvalidValue), ({"within": 7, "period": "week"}, hf.InvalidType),
        ({"period": "week"}, hf.InvalidType), ({"period": "year", "steps": 1}, hf.InvalidValue),
        ({"period": 7, "steps": 1}, hf.InvalidType), ({"steps": 0}, hf.InvalidValue),
        ({"period": "day Europe/Vienna x", "steps": 1}, hf.InvalidValue),
    ):  # fmt: skip
        with pytest.raises(error):
            hf.Person(**wrong)
    with pytest.raises(hf.InvalidValue, match="time zone"):
        hf.plan(hf.NoDecay(), hf.Guarantee(1, 0, protects=hf.Person(period="day A/B", steps=1)),
                horizon=5)  # fmt: skip
    with pytest.raises(hf.InvalidType, match="protects must be"):
        hf.Guarantee(1, 1e-6, protects="person")


def test_plans_losses_and_units_survive_documents():
    for unit in UNITS:
        guarantee = hf.Guarantee(7, 0, protects=unit)
        plan = hf.plan(hf.SlidingWindow(length=2), guarantee, every="1d")
        again = hf.Plan.from_json(plan.to_json())
        assert again.guarantee == guarantee
        assert again.digest == plan.digest
        assert hf.PrivacyLoss.from_json(plan.privacy.to_json()).relation == plan.relation
        changed = json.loads(plan.to_json())
        changed["guarantee"]["within"] = 2
        with pytest.raises(hf.HushfadeError):
            hf.Plan.from_json(json.dumps(changed))


def test_losses_of_different_units_do_not_add_up():
    losses = [
        hf.plan(hf.SlidingWindow(length=2), hf.Guarantee(7, 0, protects=unit)).privacy
        for unit in (hf.Person(steps=3), hf.Person(within=3), hf.Person(period="week", steps=3))
    ]
    for one, other in itertools.combinations(losses, 2):
        with pytest.raises(hf.InvalidValue, match="same unit of privacy"):
            one + other
