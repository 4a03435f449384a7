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


def test_limits_below_one_are_refused():
    for bad in ({"records_per_step": 0}, {"steps": 0}, {"apart": 0}):
        with pytest.raises(InvalidValue):
            Limits(**bad)
