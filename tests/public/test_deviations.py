import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, Guarantee, plan
from hushfade.group_sizes import AHEAD
from hushfade.public.deviations import Deviations

MADE = plan(Exponential(half_life=2), Guarantee(epsilon=1, delta=1e-6))
LONG = 6 * AHEAD  # far beyond the step from which the deviations stay the same


class Interrupted:
    """The plan, whose attributes an interrupt meets once, after so many of them."""

    def __init__(self, after):
        self.after = after

    def __getattr__(self, name):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt
        return getattr(MADE, name)


def in_blocks(deviations, start):
    return [value for at in range(start, LONG, AHEAD) for value in deviations.of(at, AHEAD)]


def test_the_deviations_of_blocks_are_those_of_the_plan():
    # the plan adds the same squares in another order
    assert_allclose(in_blocks(Deviations(MADE), 0), MADE.stddevs(LONG), rtol=1e-12)


def test_an_interrupt_at_any_point_changes_no_deviation():
    expected, interrupts = in_blocks(Deviations(MADE), 0), 0
    for after in range(1, 1000):
        deviations = Deviations(Interrupted(after))
        for at in (*range(0, LONG, AHEAD), 0):  # the last one goes back, and starts over
            try:
                deviations.of(at, AHEAD)
            except KeyboardInterrupt:
                interrupts += 1
                again = deviations.of(at, AHEAD)
                assert again == expected[at : at + AHEAD], f"at {at}, after {after} attributes"
        if interrupts < after:  # it came after the last step
            break
    else:
        pytest.fail("the interrupts must come to an end")
    assert interrupts > 4 * 3  # several in each of the first blocks
