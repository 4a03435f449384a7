from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.errors import InvalidValue
from hushfade.records.limits import Bounding, Limits

LIMITS = st.builds(Limits, st.integers(1, 3), st.integers(1, 5), st.integers(1, 4))
RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=60)


def by_hand(limits, records):
    """The rule as it is written, with dictionaries."""
    used, found = {}, []
    for user, step in records:
        steps = used.setdefault(user, {})
        if step in steps:
            good = steps[step] < limits.records_per_step
        else:
            apart = all(abs(step - other) >= limits.apart for other in steps)
            good = apart and len(steps) < limits.steps
        if good:
            steps[step] = steps.get(step, 0) + 1
        found.append(good)
    return found


def kept(limits, records, cuts=()):
    bounding, found = Bounding(limits), []
    for part in np.split(np.array(records, dtype=np.int64).reshape(-1, 2), sorted(cuts)):
        found += bounding.kept(part[:, 0].copy(), part[:, 1].copy()).tolist()
    return found


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS, st.lists(st.integers(0, 60), max_size=3))
def test_the_rule_is_kept_however_the_file_is_cut(limits, records, cuts):
    cuts = [min(cut, len(records)) for cut in cuts]
    assert kept(limits, records, cuts) == by_hand(limits, records)


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS)
def test_nobody_has_more_than_the_guarantee_says(limits, records):
    found = [r for r, good in zip(records, kept(limits, records), strict=True) if good]
    for user in {user for user, _ in found}:
        steps = sorted(step for other, step in found if other == user)
        distinct = sorted(set(steps))
        assert len(distinct) <= limits.steps
        assert all(steps.count(step) <= limits.records_per_step for step in distinct)
        assert all(b - a >= limits.apart for a, b in pairwise(distinct))


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS)
def test_who_is_taken_out_takes_nobody_else_along(limits, records):
    without = [record for record in records if record[0] != 1]
    others = [g for r, g in zip(records, kept(limits, records), strict=True) if r[0] != 1]
    assert kept(limits, without) == others


def test_many_people_and_many_steps_fit():
    users, steps = np.arange(5000).repeat(3), np.tile(np.arange(3), 5000)
    assert Bounding(Limits(1, 2, 1)).kept(users, steps).sum() == 10_000
    assert Bounding(Limits(1, 300, 1)).kept(np.zeros(1000, np.int64), np.arange(1000)).sum() == 300


STRETCHES = st.sampled_from([("period", 4), ("step", 1)])


def renewed(limits, stretch):
    if stretch == "step":  # every step may have records
        return Limits(limits.records_per_step, stretch="step")
    return Limits(limits.records_per_step, limits.steps, limits.apart, stretch)


def kept_renewed(limits, records, length, cuts=(), forget=False):
    """As `kept`, with stretches of `length` steps; `forget` closes stretches between the parts."""
    bounding, found, numbers = Bounding(limits), [], {}
    for part in np.split(np.array(records, dtype=np.int64).reshape(-1, 2), sorted(cuts)):
        users = np.array([numbers.setdefault(u, len(numbers)) for u in part[:, 0].tolist()])
        steps = part[:, 1].copy()
        found += bounding.kept(users.astype(np.int64), steps, steps // length).tolist()
        if forget and len(part):
            names = list(numbers)
            left = bounding.forget(int(steps.min()) // length)
            numbers = {names[person]: i for i, person in enumerate(left.tolist())}
    return found


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS, STRETCHES, st.lists(st.integers(0, 60), max_size=3))
def test_renewed_limits_hold_in_each_stretch_by_itself(limits, records, stretch, cuts):
    name, length = stretch
    limits, cuts = renewed(limits, name), [min(cut, len(records)) for cut in cuts]
    groups = [((user, step // length), step) for user, step in records]
    assert kept_renewed(limits, records, length, cuts) == by_hand(limits, groups)


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS, STRETCHES)
def test_without_a_stretch_of_a_person_all_other_records_count_as_before(limits, records, stretch):
    name, length = stretch
    limits = renewed(limits, name)
    inside = [record[0] == 1 and record[1] // length == 1 for record in records]
    rest = [record for record, gone in zip(records, inside, strict=True) if not gone]
    found = kept_renewed(limits, records, length)
    others = [good for good, gone in zip(found, inside, strict=True) if not gone]
    assert kept_renewed(limits, rest, length) == others


@settings(deadline=None, derandomize=True)
@given(LIMITS, RECORDS, STRETCHES, st.lists(st.integers(0, 60), max_size=4))
def test_forgetting_closed_stretches_changes_nothing(limits, records, stretch, cuts):
    name, length = stretch
    records = sorted(records, key=lambda record: record[1] // length)  # stretches close in order
    cuts = [min(cut, len(records)) for cut in cuts]
    limits = renewed(limits, name)
    told = kept_renewed(limits, records, length, cuts, forget=True)
    assert told == kept_renewed(limits, records, length)


def test_memory_is_bounded_by_the_open_stretches():
    bounding = Bounding(Limits(stretch="step"))
    for step in range(50):
        bounding.kept(np.arange(100) + 100 * step, np.full(100, step), np.full(100, step))
    assert len(bounding) == 5000
    assert bounding.forget(49).tolist() == list(range(4900, 5000))
    assert len(bounding) == 100


def test_a_limit_on_the_steps_of_every_window_would_have_no_end():
    """The seeded bug: counting the first of any two steps lets one record decide about all."""

    def first_of_any_two(steps):
        counted = []
        for step in steps:
            if not counted or step - counted[-1] >= 2:
                counted.append(step)
        return set(counted)

    daily = range(100)
    moved = first_of_any_two(daily) ^ first_of_any_two(daily[1:])  # one step is removed
    assert len(moved) == 100


def test_limits_below_one_are_refused():
    for bad in ({"records_per_step": 0}, {"steps": 0}, {"apart": 0}):
        with pytest.raises(InvalidValue):
            Limits(**bad)
