import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, plan
from hushfade.audit.cases import few
from hushfade.audit.changes import changes, heaviest_column, kinds, needed
from hushfade.audit.observed import private
from hushfade.audit.sensitivity import norm


@pytest.mark.parametrize("found", few().values(), ids=few())
def test_no_change_exceeds_the_promise(found):
    n = needed(found)
    for change in changes(found, n):
        moved = private(found, change.units(n, found.intake.lanes))
        group = len(change.lanes)
        assert norm(moved[:, :group]) <= found.sigma * found.guarantee.mu * (1 + 1e-9)
        assert len(change.steps) <= found.guarantee.participations
        assert all(np.diff(change.steps) >= found.guarantee.separation)


def test_a_replaced_record_may_change_its_key():
    guarantee = Guarantee(1, 1e-6, neighbours="replace", records_per_step=2)
    found = plan(Exponential(half_life=5), guarantee, low=-1, high=3, keys=["a", "b"])
    assert kinds(found) == {"another value": (2 * 1024,), "another key": (-2 * 768, 2 * 768)}


def test_a_change_is_repeated_in_every_group_of_lanes():
    guarantee = Guarantee(1, 1e-6, neighbours="replace")
    found = plan(Exponential(half_life=5), guarantee, keys=["a", "b", "c"])
    moved = next(change for change in changes(found, 4) if len(change.lanes) == 2)
    np.testing.assert_array_equal(moved.units(4, 5)[0] // 1024, [-1, 1, -1, 1, 0])


def test_the_heaviest_column_is_that_of_the_matrix():
    found = plan(NoDecay(), Guarantee(1, 1e-6), horizon=30, method="normalized")
    columns = np.linalg.norm(found.pair.matrices(30)[1], axis=0)
    assert heaviest_column(found, 30) == np.argmax(columns)
