"""The joint loss of several series if an adversary chooses a person's changes release by release.

Under `replace` with keys, a record changes its value in one lane, or moves to another key, which
changes two lanes.  An adversary who has seen one series may choose the change in the next one.  The
tests compute what this adversary learns from the distribution functions of the noise alone.
"""

import itertools
import json
from contextlib import closing
from functools import cache

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Refused
from hushfade.store import Store
from tests.cli.command import document

NOW = hf.SlidingWindow(length=1)
SHARES = (0.0, 0.3, 0.75, 1.0, 1.3)  # of the guarantee's epsilon
_CELLS = 1200
_ROUNDING = 1.0 + 1e-9

# two of these keep (3, 0.01) if a record changes its value in both series or its key in both
PART = hf.Guarantee(1.2096633911132812, 0.09999847412109375, "replace")
JOINT = hf.Guarantee(3, 0.01, "replace")


@cache
def part():
    return hf.plan(
        NOW, PART, low=-0.75, high=1, keys=("a", "b"), resolution=0.25, law="huber", method="blend"
    )


def probabilities(law, shift):
    """The probabilities of cells of outcomes, without and with the shift.

    Cells reveal no more than outcomes, so an adversary who sees cells learns no more.
    """
    reach = 12 * law.stddev
    edges = np.linspace(-reach, reach + shift, _CELLS).round() + 0.5
    below = [np.concatenate([[0.0], law.below(edges - by), [1.0]]) for by in (0, shift)]
    return np.diff(below[0]), np.diff(below[1])


def both(one, two):
    """The probabilities of pairs of cells, again in cells: those with a similar loss."""
    p, q = (np.outer(a, b).ravel() for a, b in zip(one, two, strict=True))
    possible = (p > 0) & (q > 0)
    losses = np.log(p[possible] / q[possible])
    place = np.floor((losses - losses.min()) / np.ptp(losses) * _CELLS).astype(int)
    cells = [np.bincount(place, part[possible], _CELLS + 1) for part in (p, q)]
    return tuple(
        np.append(cell, np.sum(part[~possible])) for cell, part in zip(cells, (p, q), strict=True)
    )


def changes(plan):
    """The probabilities of the releases for each change of a record in one step."""
    low, high = plan.grid.low, plan.grid.high
    size = abs(int(plan.taps.integers[0])) / plan.grid.resolution
    value = probabilities(plan.law, (high - low) * size)
    moved = probabilities(plan.law, max(abs(low), abs(high)) * size)
    return [value, both(moved, moved)]


def fixed(one, two, epsilon):
    """δ(ε) of the two changes if both are fixed in advance."""
    (p, q), (r, s) = one, two
    excess = np.outer(p, r) - np.exp(epsilon) * np.outer(q, s)
    return np.sum(np.maximum(excess, 0.0), axis=1)


def adaptive(first, second, epsilon):
    """δ(ε) of an adversary who chooses the second change after the first release."""
    return max(
        float(np.sum(np.max([fixed(one, two, epsilon) for two in second], axis=0))) for one in first
    )


def joint(low, guarantee):
    series = hf.Series(
        decay=NOW, low=low, keys=("a", "b"), resolution=0.25 if low == -0.75 else None
    )
    return hf.plan_together([series, series], guarantee)


@pytest.mark.parametrize(
    ("low", "epsilon", "delta"), [(-0.75, 3.0, 1e-2), (-0.6, 4.0, 1e-3)], ids=["huber", "laplace"]
)
def test_a_joint_plan_keeps_its_guarantee_if_the_second_change_depends_on_the_first_release(
    low, epsilon, delta
):
    made = joint(low, hf.Guarantee(epsilon, delta, "replace"))
    first, second = map(changes, made.plans)
    assert adaptive(first, second, epsilon) <= delta
    for share in SHARES:
        learnt = adaptive(first, second, share * epsilon)
        assert learnt <= made.privacy.delta(share * epsilon) * _ROUNDING, f"at {share} epsilon"


def test_the_loss_of_two_releases_covers_changes_chosen_later_and_is_close_to_them():
    twice = hf.composed([part().privacy] * 2)
    ways = changes(part())
    for share in SHARES:
        epsilon = share * JOINT.epsilon
        learnt, claimed = adaptive(ways, ways, epsilon), twice.delta(epsilon)
        assert learnt <= claimed * _ROUNDING, f"at {share} epsilon"
        if learnt > 0.0:  # one dominating pair per plan is slightly more than an adversary has
            assert twice.epsilon(learnt) <= 1.03 * epsilon + 0.03, f"at {share} epsilon"
    at_once = max(
        float(np.sum(fixed(one, two, JOINT.epsilon))) for one, two in itertools.product(ways, ways)
    )
    assert at_once <= JOINT.delta < 1.1 * JOINT.delta < adaptive(ways, ways, JOINT.epsilon)


def test_a_joint_charge_counts_changes_that_are_chosen_later(tmp_path):
    with closing(Store.open(tmp_path / "releases.db")) as store:
        store.add_dataset("clinics", JOINT)
        with pytest.raises(Refused, match="together do not keep"):
            store.charge_together({"a": part(), "b": part()}, JOINT, dataset="clinics")


def test_explain_states_a_joint_epsilon_that_covers_changes_chosen_later(tmp_path):
    plan = part()
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(plan.to_json())
    found = document(f"explain {tmp_path / 'a.json'} {tmp_path / 'b.json'}")["composition"]
    ways = changes(plan)
    assert adaptive(ways, ways, found["epsilon"]) <= found["delta"]


def test_a_composed_loss_with_a_choice_can_be_saved_and_read():
    loss = part().privacy + part().privacy
    again = hf.PrivacyLoss.from_json(loss.to_json())
    assert again == loss
    assert again.delta(3.0) == loss.delta(3.0)
    saved = json.loads(loss.to_json())
    (choice,) = saved["cases"][0]["choices"]
    for wrong in ({"times": 0}, {"cases": []}, {"cases": saved["cases"]}, {"more": 1}):
        nested = {**saved["cases"][0], "choices": [{**choice, **wrong}]}
        with pytest.raises(hf.InvalidValue):
            hf.PrivacyLoss.from_json(json.dumps({**saved, "cases": [nested]}))


def test_without_delta_epsilons_of_plans_with_two_changes_add_up():
    keyed = hf.plan(NOW, hf.Guarantee(0.5, 0, "replace"), low=-0.6, high=1, keys=("a", "b"))
    assert hf.composed([keyed.privacy] * 2).epsilon(0.0) == 2 * keyed.privacy.epsilon(0.0) <= 1.0
