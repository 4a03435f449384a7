"""Plans of odd shapes: the audit reads them all, and accuses none."""

import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.audit import TINY
from hushfade.audit.randomness import Chance
from hushfade.audit.review import checked
from tests.audit.subjects import InProcess
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(1, 1e-6)
FINE = Guarantee(20, 1e-6)
SWAP = Guarantee(1, 1e-6, neighbours="replace")
TWICE = Guarantee(1, 1e-6, protects=Person(steps=2, apart=2))
APART = Guarantee(1, 1e-6, protects=Person(steps=10, apart=168))
WEEKS = Guarantee(1, 1e-6, "replace", protects=Person(steps=3, apart=7))
PLANS = MadeWhenUsed(
    {
        "a single key, replaced": lambda: plan(Exponential(half_life=3), SWAP, keys=["a"]),
        "many keys": lambda: plan(
            Exponential(half_life=3), SWAP, keys=[str(key) for key in range(300)]
        ),
        "a single step": lambda: plan(NoDecay(), ONE, horizon=1),
        "two steps with a gain": lambda: plan(NoDecay(), ONE, horizon=2, method="normalized"),
        "three steps, two of them": lambda: plan(NoDecay(), TWICE, horizon=3),
        "rising weights": lambda: plan(CustomDecay([3.0, 1.0, 2.0]), ONE, horizon=50),
        "a coarse grid": lambda: plan(
            SlidingWindow(length=1), Guarantee(8, 1e-3), high=10, resolution=1.0
        ),
        "negative records": lambda: plan(PowerLaw(power=2), ONE, low=-5, high=-1),
        "bounds off the grid": lambda: plan(Exponential(half_life=5), SWAP, low=0, high=1 / 3),
        "made from mu": lambda: plan(Exponential(half_life=5), Guarantee.from_mu(0.5, delta=1e-5)),
        "records that never meet": lambda: plan(Exponential(half_life=24), APART),
        "in two keys": lambda: plan(Exponential(half_life=24), APART, keys=["a", "b"]),
        "a window, weekly": lambda: plan(SlidingWindow(length=7), WEEKS, low=-1, high=1),
        "a week of minutes": lambda: plan(Exponential(half_life=10_080), ONE),
        "taps longer than what is run": lambda: plan(Exponential(half_life=5000), ONE),
        "a gain on a long run": lambda: plan(NoDecay(), FINE, horizon=30_000, method="normalized"),
        "a long run on a fine grid": lambda: plan(
            NoDecay(), ONE, horizon=100_000, resolution=2.0**-17
        ),
        "the finest grid, for ever": lambda: plan(PowerLaw(power=0.1), FINE, resolution=2.0**-20),
        "a norm off the grid": lambda: plan(Exponential(half_life=5), ONE, norm=0.7, width=3),
        "vectors, replaced": lambda: plan(Exponential(half_life=5), SWAP, norm=33.3, width=4),
        "huge records": lambda: plan(Exponential(half_life=5), ONE, low=-1e200, high=1e200),
        "tiny records": lambda: plan(Exponential(half_life=5), ONE, high=1e-200),
        "a grid beyond one": lambda: plan(
            Exponential(half_life=5), ONE, high=1e6, resolution=1024.0
        ),
        "hardly any noise": lambda: plan(
            Exponential(half_life=8), Guarantee(700, 1e-6), resolution=2.0**-16
        ),
    }
)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANS)
def test_no_plan_is_accused(name):
    findings = list(checked(InProcess(), {"a plan": PLANS[name]}, TINY, Chance(11)))
    assert [finding for finding in findings if finding.passed is False] == []
