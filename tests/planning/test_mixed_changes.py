"""Several records of a person under `replace` with keys: each may change its value or its key.

The choice for one record may depend on what was released before it.  The worst adaptive choice is
found here by dynamic programming over the exact discrete losses of Laplace noise on a grid of 1.
"""

import math
from functools import cache

import pytest

import hushfade as hf
from hushfade.laws import Laplace
from hushfade.privacy.loss_distribution import Losses
from hushfade.privacy.rounded_losses import Shift

CASES = [  # epsilon, delta, records, low, high
    (2.0, 1e-3, 4, -5, 6),
    (1.0, 1e-3, 4, -5, 7),
    (1.0, 1e-2, 2, -4, 5),
]


def losses(slope, shift):
    """The loss of a shift of Laplace noise in units of the slope, with its probability."""
    q = math.exp(-slope)
    p0 = (1 - q) / (1 + q)
    found = {shift: 1 / (1 + q), -shift: q**shift / (1 + q)}
    # z <= 0 has the loss +shift, z >= shift has -shift, between them shift - 2 z
    for z in range(1, shift):
        found[shift - 2 * z] = found.get(shift - 2 * z, 0.0) + p0 * q**z
    assert abs(sum(found.values()) - 1) < 1e-12
    return found


def combined(one, other):
    found = {}
    for a, p in one.items():
        for b, r in other.items():
            found[a + b] = found.get(a + b, 0.0) + p * r
    return found


def worst(slope, epsilon, records, ways):
    """The largest delta of an analyst who chooses each record's change after the last release."""

    @cache
    def value(left, spent):
        if left == 0:
            return max(0.0, 1.0 - math.exp(epsilon - slope * spent))
        return max(
            math.fsum(p * value(left - 1, spent + loss) for loss, p in way.items()) for way in ways
        )

    return value(records, 0)


@pytest.mark.parametrize(("epsilon", "delta", "records", "low", "high"), CASES)
def test_no_choice_of_changes_reveals_more_than_the_plan_says(epsilon, delta, records, low, high):
    guarantee = hf.Guarantee(
        epsilon, delta, neighbours="replace", protects=hf.Person(steps=records)
    )
    plan = hf.plan(
        hf.SlidingWindow(length=7), guarantee, low=low, high=high, keys=["a", "b"], resolution=1,
        law="laplace",
    )  # fmt: skip
    slope, largest = plan.law.slope, max(-low, high)
    own, moved = losses(slope, high - low), losses(slope, largest)
    truth = worst(slope, epsilon, records, [own, combined(moved, moved)])
    assert truth <= plan.privacy.delta(epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta", "records", "low", "high"), CASES)
def test_the_same_change_for_all_records_is_not_the_worst(epsilon, delta, records, low, high):
    """The seeded bug: noise for records that all change their values, or all move."""
    largest = max(-low, high)

    def claimed(slope):
        cases = [[Shift(high - low, records)], [Shift(largest, 2 * records)]]
        return max(Losses([(Laplace(slope), case)]).delta(epsilon) for case in cases)

    slope, step = 1e-3, 1.0
    while step > 1e-6:
        slope, step = (slope + step, step) if claimed(slope + step) <= delta else (slope, step / 2)
    own, moved = losses(slope, high - low), losses(slope, largest)
    assert claimed(slope) <= delta
    assert worst(slope, epsilon, records, [own, combined(moved, moved)]) > 1.15 * delta


def test_without_several_records_both_ways_are_cases_of_their_own():
    guarantee = hf.Guarantee(1, 1e-6, neighbours="replace")
    plan = hf.plan(
        hf.SlidingWindow(length=7),
        guarantee,
        low=-1,
        high=3,
        keys=["a", "b"],
        resolution=1,
        law="laplace",
    )
    shifts = [case.shifted[0].shifts for case in plan.privacy.cases]
    assert shifts == [(Shift(4, 1),), (Shift(3, 2),)]
