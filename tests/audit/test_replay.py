"""What replay is given: records on the grid, of wide vectors not more than fit into memory."""

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, plan
from hushfade.audit import replay
from hushfade.audit.randomness import Chance
from hushfade.audit.replay import fresh, keyed, twice
from tests.audit.subjects import KEYED, SINGLE, InProcess

ONE = Guarantee(1, 1e-6)


def vectors(width):
    return plan(Exponential(half_life=24), ONE, norm=1.0, width=width)


@pytest.mark.parametrize("width", [1, 3, 64, 300, 5000, 20_000])
def test_the_totals_are_those_of_the_records_and_the_records_are_bounded(width):
    given = replay._given(vectors(width), Chance(2))
    assert len(given.records) == len(given.totals) >= 4
    for records, total in zip(given.records, given.totals, strict=True):
        assert np.array_equal(records.sum(axis=0), total)
    assert 0 < sum(records.size for records in given.records) <= 3 * replay._DENSE


def test_of_wide_vectors_other_axes_come_in_other_steps():
    given = replay._given(vectors(5000), Chance(2))
    axes = [set(np.flatnonzero(total)) for total in given.totals]
    assert all(len(some) > 20 for some in axes)
    assert len(set.union(*axes)) > 0.8 * sum(map(len, axes))


def test_narrow_vectors_go_along_every_axis():
    given = replay._given(vectors(64), Chance(2))
    assert np.all(np.count_nonzero(given.totals, axis=0) > len(given.totals) / 2)


def test_wide_vectors_are_not_accused():
    assert all(finding.passed for finding in keyed(InProcess(), vectors(2000), "a plan", Chance(1)))


@pytest.mark.parametrize("found", [SINGLE, KEYED, vectors(9)], ids=repr)
def test_where_totals_are_enough_no_records_are_made(found, monkeypatch):
    monkeypatch.setattr(replay, "_given", None)
    assert all(finding.passed for finding in fresh(InProcess(), found, "a plan", Chance(1)))
    assert all(finding.passed for finding in twice(InProcess(), found, "a plan", Chance(1)))
