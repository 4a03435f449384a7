"""The attack on precision, also for plans with a long memory."""

import tracemalloc

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, SlidingWindow, plan
from hushfade.audit import TINY
from hushfade.audit.chance import Chance
from hushfade.audit.precision import precision
from tests.audit.bugs import Proxy, Seeded

ONE = Guarantee(1, 1e-6)
LONG = {
    "a week of minutes": plan(Exponential(half_life=10_080), ONE),
    "a day of seconds": plan(Exponential(half_life=86_400), ONE),
    "counting": plan(NoDecay(), ONE, horizon=100_000),
    "counting for ever": plan(NoDecay(), ONE, method="unbounded"),
    "a long window": plan(SlidingWindow(length=10_000), ONE),
}


@pytest.mark.parametrize("found", LONG.values(), ids=LONG)
def test_a_long_memory_needs_less_than_a_gibibyte(found):
    tracemalloc.start()
    try:
        findings = precision(Seeded(), found, "a plan", TINY, Chance(3))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(finding.passed for finding in findings)
    assert peak < 1 << 30


class InLastBits(Seeded):
    """One of a hundred releases has another last bit."""

    def wrong(self, stream, plan, noise):
        return _Touched(stream, plan)


class _Touched(Proxy):
    def run(self, totals):
        released = np.array(self.stream.run(totals))
        released.flat[::100] = np.nextafter(released.flat[::100], np.inf)
        return released


def test_bits_of_their_own_are_seen_across_many_short_runs():
    # few grid points, so that each is released many times
    coarse = plan(Exponential(half_life=86_400), Guarantee(20, 1e-3), resolution=1.0)
    findings = precision(InLastBits(), coarse, "a plan", TINY, Chance(3))
    bits = next(finding for finding in findings if finding.subject == "a plan, bits")
    assert bits.passed is False
