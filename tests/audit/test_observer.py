import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow, plan
from hushfade.audit.accuracy import inputs
from hushfade.audit.cases import DECAYS, HORIZON
from hushfade.audit.observer import (
    along,
    copies_of,
    crossed,
    decayed,
    in_use,
    legible,
    private,
    wide,
)
from hushfade.audit.randomness import Chance
from hushfade.audit.sensitivity import sensitivity
from hushfade.stream.stream import Stream
from tests.audit.subjects import FEW, OTHER_LAWS, InProcess
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(1, 1e-6)
SWAP = Guarantee(1, 1e-6, neighbours="replace")
PLANS = MadeWhenUsed(
    {
        **FEW,
        **OTHER_LAWS,
        "unbounded": lambda: plan(NoDecay(), ONE, method="unbounded"),
        "counting by one, replaced": lambda: plan(NoDecay(), SWAP, horizon=9, resolution=1.0),
        "odd bounds, replaced": lambda: plan(PowerLaw(power=2), SWAP, low=0.3, high=1.7),
    }
)


def totals(found, n, seed=1):
    return np.random.default_rng(seed).integers(0, 50, size=(n, found.grid.lanes))


@pytest.mark.parametrize("name", PLANS)
def test_the_private_half_is_the_matrix(name):
    found = PLANS[name]
    n = min(40, found.horizon or 40)
    units = totals(found, n)
    scale = 2.0**found.bits
    np.testing.assert_array_equal(
        private(found, units), np.rint(found.pair.matrices(n)[1] @ units * scale)
    )


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("n", [9, 700])
def test_what_crossed_is_recovered_to_the_last_unit(name, n):
    found = PLANS[name]
    n = min(n, found.horizon or n)
    units, source = totals(found, n), Chance(4).noise()
    released = found.start(source).run(units * found.grid.resolution).reshape(units.shape)
    drawn = source.bound(found.digest).draws(
        found.start(source)._engine.law, 0, n, found.grid.lanes
    )  # the noise itself, drawn again
    y = crossed(found, released)
    np.testing.assert_allclose(y, private(found, units) + drawn, atol=0.01)
    direction = np.random.default_rng(2).normal(size=n)
    np.testing.assert_allclose(along(found, direction) @ released, direction @ y, rtol=1e-7)


@pytest.mark.parametrize("name", PLANS)
def test_copies_have_the_same_noise_and_the_same_promise(name):
    found = PLANS[name]
    many = wide(found, 7)
    assert many.law == found.law
    assert (many.guarantee.epsilon, many.guarantee.delta) == (
        found.guarantee.epsilon,
        found.guarantee.delta,
    )
    assert many.grid.lanes == 7 * found.grid.lanes
    assert many.unit == found.unit


def test_the_weights_in_use_are_those_of_the_decay():
    for name, decay in DECAYS.items():
        n = 500 if decay.horizon_free else HORIZON
        found = plan(decay, ONE, horizon=n, method="input", law="laplace")
        np.testing.assert_allclose(in_use(found, n), decay.weights(n), rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", PLANS)
def test_a_saved_stream_of_copies_can_be_loaded(name):
    found = PLANS[name]
    # every loader checks that the law is what the guarantee requires of these copies
    noise = Chance(4).noise()
    many = wide(found, 2)
    assert Stream.load(many.start(noise).save(), noise=noise).plan.law == found.law


def test_decayed_sums_by_hand():
    found = plan(SlidingWindow(length=2), ONE, resolution=1.0)
    np.testing.assert_allclose(decayed(found, np.array([[1], [2], [4]])), [[1], [3], [6]])


def test_copies_stay_within_the_work():
    found = plan(Exponential(half_life=8), ONE, method="square_root")
    assert copies_of(found, 100, 50_000, 10**6) == 500
    assert copies_of(found, 100, 50_000, 20) == 20


FINE = MadeWhenUsed(
    {
        "a gain": lambda: plan(NoDecay(), Guarantee(5, 1e-6), horizon=30_000, method="normalized"),
        "counting": lambda: plan(
            NoDecay(), ONE, horizon=100_000, resolution=2.0**-17, method="square_root"
        ),
        "a window": lambda: plan(
            SlidingWindow(length=50),
            Guarantee(20, 1e-6),
            resolution=2.0**-25,
            method="square_root",
        ),
    }
)


@pytest.mark.parametrize("name", FINE)
def test_a_run_on_a_fine_grid_ends_before_rounding_passes_for_an_error(name):
    found = FINE[name]
    whole = found.horizon or 1 << 16
    n, chance = legible(found, whole), Chance(3)
    assert 512 <= n < whole
    units = inputs(found, n, chance)
    released = found.start(chance.noise()).run(units * found.grid.resolution)
    y = crossed(found, released.reshape(units.shape))
    assert np.max(np.abs(y - np.rint(y))) < 0.02
    assert all(finding.passed for finding in sensitivity(InProcess(), found, "a plan", chance))


def test_an_ordinary_run_is_not_cut():
    for found in PLANS.values():
        n = found.horizon or 1 << 16
        assert legible(found, n) == n
