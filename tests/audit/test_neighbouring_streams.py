from dataclasses import replace

import numpy as np
import pytest

from hushfade import CustomDecay, Exponential, Guarantee, NoDecay, Person, SlidingWindow, plan
from hushfade.audit.cases import few
from hushfade.audit.neighbouring_streams import arranged, changes, heaviest_column, kinds, needed
from hushfade.audit.observer import private
from hushfade.audit.plan_claims import promise
from hushfade.audit.randomness import Chance
from hushfade.audit.sensitivity import norm, sensitivity
from hushfade.laws import Gaussian
from tests.audit.subjects import InProcess


def often(k, apart, neighbours="add_remove"):
    return Guarantee(1, 1e-6, neighbours, protects=Person(steps=k, apart=apart))


ROOT = "square_root"  # Gaussian noise
FAR = {
    "a day, weekly": plan(Exponential(half_life=24), often(10, 168), method=ROOT),
    "far apart": plan(Exponential(half_life=8), often(2, 50), method=ROOT),
    "a short memory": plan(Exponential(half_life=1), often(12, 7), method=ROOT),
    "a window": plan(SlidingWindow(length=3), often(2, 24), method=ROOT),
    "farther than any run": plan(Exponential(half_life=8), often(3, 10**9), method=ROOT),
}
ODD = {
    "added": plan(SlidingWindow(length=7), often(2, 7), method=ROOT),
    "replaced": plan(SlidingWindow(length=7), often(2, 7, "replace"), low=-1, high=1, method=ROOT),
    "of both signs": plan(SlidingWindow(length=5), often(2, 5), low=-2, high=1, method=ROOT),
    "one key or another": plan(
        SlidingWindow(length=7), often(2, 7, "replace"), keys=["a", "b"], method=ROOT
    ),
    "vectors": plan(SlidingWindow(length=7), often(2, 7), norm=1.0, width=2, method=ROOT),
    "rising": plan(CustomDecay([1.0, 0.0, 0.0, 0.0, 0.9]), often(2, 2), method=ROOT),
    "ending": plan(SlidingWindow(length=7), often(2, 7), horizon=40, method=ROOT),
}


GAUSSIAN = {name: found for name, found in few().items() if isinstance(found.law, Gaussian)}


@pytest.mark.parametrize("found", [*GAUSSIAN.values(), *ODD.values()], ids=[*GAUSSIAN, *ODD])
def test_no_change_exceeds_the_promise(found):
    n = needed(found)
    for change in changes(found, n):
        moved = private(found, change.units(n, found.grid.lanes))
        group = len(change.lanes)
        assert norm(moved[:, :group]) <= found.sigma * found.guarantee.mu * (1 + 1e-9)
        assert len(change.steps) <= found.guarantee.protects.steps
        assert all(np.diff(change.steps) >= found.guarantee.protects.apart)


def test_a_replaced_record_may_change_its_key():
    guarantee = Guarantee(1, 1e-6, neighbours="replace", protects=Person(records_per_step=2))
    found = plan(Exponential(half_life=5), guarantee, low=-1, high=3, keys=["a", "b"], method=ROOT)
    assert kinds(found) == {"another value": (2 * 1024,), "another key": (-2 * 768, 2 * 768)}


def test_a_change_is_repeated_in_every_group_of_lanes():
    guarantee = Guarantee(1, 1e-6, neighbours="replace")
    found = plan(Exponential(half_life=5), guarantee, keys=["a", "b", "c"], method=ROOT)
    moved = next(change for change in changes(found, 4) if len(change.lanes) == 2)
    np.testing.assert_array_equal(moved.units(4, 5)[0] // 1024, [-1, 1, -1, 1, 0])


def test_the_heaviest_column_is_that_of_the_matrix():
    found = plan(NoDecay(), Guarantee(1, 1e-6), horizon=30, method="normalized")
    columns = np.linalg.norm(found.pair.matrices(30)[1], axis=0)
    assert heaviest_column(found, 30) == np.argmax(columns)


@pytest.mark.parametrize("most", [None, 1000])
@pytest.mark.parametrize("found", FAR.values(), ids=FAR)
def test_records_that_never_meet_all_have_their_effect(found, most):
    if most is None and found is FAR["farther than any run"]:
        most = 10_000
    n = needed(found, most)
    assert most is None or n <= most
    first = changes(found, n)[0]
    assert len(first.steps) == found.guarantee.protects.steps
    moved = norm(private(found, first.units(n, 1)))
    assert moved == pytest.approx(found.sigma * found.guarantee.mu, rel=1e-9)


def worst_of_two(found):
    """‖a r_t + b r_{t-d}‖, the largest of all distances and values, by trying all."""
    r, grid = found.taps.integers.astype(float), found.grid
    move = np.array(max(kinds(found).values(), key=np.linalg.norm), dtype=float)
    if grid.norm is not None or found.guarantee.neighbours == "replace":
        pairs = [(move, move), (move, -move)]
    else:
        values = [[float(u)] for u in (grid.low_unit, grid.high_unit)]
        pairs = [(np.array(a), np.array(b)) for a in values for b in values]
    n = found.horizon or 3 * len(r)
    largest = 0.0
    for d in range(found.guarantee.protects.apart, min(2 * len(r), n)):
        one, two = np.zeros(n), np.zeros(n)
        one[: len(r)] = r[:n]
        two[d : d + len(r)] = r[: n - d]
        for a, b in pairs:
            largest = max(largest, float(np.linalg.norm(np.outer(one, a) + np.outer(two, b))))
    return largest


@pytest.mark.parametrize("found", ODD.values(), ids=ODD)
def test_two_records_are_placed_where_they_move_most(found):
    n = needed(found)
    tried = changes(found, n)
    assert arranged(found, n)
    moved = [norm(private(found, c.units(n, found.grid.lanes))[:, : len(c.lanes)]) for c in tried]
    assert max(moved) == pytest.approx(worst_of_two(found), rel=1e-12)


def test_records_one_way_only_are_not_turned_round():
    found = plan(SlidingWindow(length=7), often(3, 7), low=1, high=2, method=ROOT)
    assert all(move > (0,) for change in arranged(found, 99) for move in change.moves)


class Scaled(InProcess):
    """The plan has the promised sigma times a factor."""

    def __init__(self, factor):
        self.factor = factor

    def plan(self, promised):
        return replace(promised, law=Gaussian(promised.sigma * self.factor))


@pytest.mark.parametrize("found", FAR.values(), ids=FAR)
def test_a_sigma_for_one_participation_is_noticed_however_far_apart(found):
    k, apart = found.guarantee.protects.steps, found.guarantee.protects.apart
    all_of_them = found.pair.sensitivity(participations=k, separation=apart).value
    broken = Scaled(found.pair.sensitivity().value / all_of_them)
    assert not promise(broken, found, "a plan")[1].passed
    moved = sensitivity(broken, found, "a plan", Chance(1))
    assert not all(finding.passed for finding in moved)


@pytest.mark.parametrize(("name", "most"), [("added", 0.9167), ("replaced", 0.9686)])
def test_a_sigma_for_the_nearest_only_is_noticed(name, most):
    broken = Scaled(most - 0.001)  # above the 0.84 of the nearest
    assert not promise(broken, ODD[name], "a plan")[1].passed
    assert not all(finding.passed for finding in sensitivity(broken, ODD[name], "", Chance(1)))
    enough = Scaled(most + 0.001)
    assert promise(enough, ODD[name], "a plan")[1].passed
