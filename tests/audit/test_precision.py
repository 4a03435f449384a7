"""The attack on precision, also for plans with a long memory, and over many steps."""

import tracemalloc

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, Mixture, NoDecay, PowerLaw, SlidingWindow, plan
from hushfade.audit import TINY
from hushfade.audit.precision import last_bits, precision
from hushfade.audit.randomness import Chance
from tests.audit.subjects import FEW, OTHER_LAWS, SINGLE, InProcess, Wrong
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(1, 1e-6)
LONG = MadeWhenUsed(
    {
        "a week of minutes": lambda: plan(Exponential(half_life=10_080), ONE, method="square_root"),
        "a day of seconds": lambda: plan(Exponential(half_life=86_400), ONE, method="square_root"),
        "counting": lambda: plan(NoDecay(), ONE, horizon=100_000, method="square_root"),
        "counting for ever": lambda: plan(NoDecay(), ONE, method="unbounded"),
        "a long window": lambda: plan(SlidingWindow(length=10_000), ONE, method="square_root"),
    }
)


@pytest.mark.parametrize("name", LONG)
def test_a_long_memory_needs_less_than_a_gibibyte(name):
    tracemalloc.start()
    try:
        findings = precision(InProcess(), LONG[name], "a plan", TINY, Chance(3))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(finding.passed for finding in findings)
    assert peak < 1 << 30


def touched(stream, totals):
    """One of a hundred releases has another last bit."""
    released = np.array(stream.run(totals))
    released.flat[::100] = np.nextafter(released.flat[::100], np.inf)
    return released


def test_bits_of_their_own_are_seen_across_many_short_runs():
    # few grid points, so that each is released many times
    coarse = plan(
        Exponential(half_life=86_400), Guarantee(20, 1e-3), resolution=1.0, method="square_root"
    )
    findings = precision(Wrong(run=touched), coarse, "a plan", TINY, Chance(3))
    bits = next(finding for finding in findings if finding.subject == "a plan, bits")
    assert bits.passed is False


SWAP = Guarantee(1, 1e-6, neighbours="replace")
BLEND = Mixture(((0.7, Exponential(half_life=12)), (0.3, PowerLaw(power=1))))
KINDS = MadeWhenUsed(
    {
        **FEW,
        **OTHER_LAWS,
        "a single step": lambda: plan(NoDecay(), ONE, horizon=1),
        "power ½": lambda: plan(PowerLaw(power=0.5), ONE, method="square_root"),
        "a mixture, replaced": lambda: plan(BLEND, SWAP, low=-1, high=2),
        "a window with a gain": lambda: plan(
            SlidingWindow(length=7), ONE, horizon=64, method="normalized"
        ),
        "a gain on a long run": lambda: plan(
            NoDecay(), Guarantee(20, 1e-6), horizon=30_000, method="normalized"
        ),
        "more keys than are made again": lambda: plan(
            Exponential(half_life=3), SWAP, keys=[str(key) for key in range(300)]
        ),
        "what float64 shows for few steps": lambda: plan(
            PowerLaw(power=0.1), Guarantee(20, 1e-6), resolution=2.0**-20, method="square_root"
        ),
        "hardly any noise": lambda: plan(
            Exponential(half_life=8), Guarantee(700, 1e-6), resolution=2.0**-16
        ),
    }
)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*KINDS, *LONG])
def test_a_release_is_a_function_of_what_crossed_to_the_last_bit(name):
    found = KINDS[name] if name in KINDS else LONG[name]
    (finding,) = last_bits(InProcess(), found, "a plan", Chance(3))
    assert finding.passed


def late(stream, totals):
    """A single release, that of step 1,501, has another last bit."""
    first, released = stream.steps, np.array(stream.run(totals))
    if first <= 1500 < stream.steps:
        released[1500 - first] = np.nextafter(released[1500 - first], np.inf)
    return released


def test_a_single_last_bit_is_seen_and_counted_in_every_stream():
    found = last_bits(Wrong(run=late), SINGLE, "a plan", Chance(3))[0]
    assert found.passed is False
    assert found.measurement.startswith("7 of ")
