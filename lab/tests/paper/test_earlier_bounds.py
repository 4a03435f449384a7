"""The bounds known before the paper, Lemma 16 and its proof."""

import math
from collections import Counter

import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, PowerLaw
from lab.paper import earlier_bounds
from lab.paper.document import QUICK, Claim


@pytest.fixture(scope="module")
def found():
    return list(earlier_bounds.blocks(QUICK))


def test_exactly_these_claims_fail(found):
    wrong = Counter(
        (x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"
    )
    assert wrong == {
        ("Section 4.1, eq. (13)", "false"): 2,
        ("Section 4.1, eq. (13)", "weak"): 2,
        ("Section 1.1", "weak"): 1,  # all values of c
        ("Lemma 16's proof", "false"): 5,
    }


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_bound_for_a_quarter_power_is_worse_from_step_27_on(found):
    total, T = 0.0, 0
    while T < 2 or 1 + (total - 1) / 4 < math.sqrt(total):
        T += 1
        total += T**-0.5
    assert T == 27
    claim = next(x for x in found if isinstance(x, Claim) and "c = 1/4" in x.says)
    assert f"from T = {T} " in claim.found


@pytest.mark.parametrize("decay", [PowerLaw(1), PowerLaw(3), Exponential(70)], ids=repr)
def test_the_room_of_the_lemma_is_that_of_the_plain_sums(decay):
    room = earlier_bounds._room(decay, 40)
    for T in (2, 3, 40):
        f = decay.weights(T)
        old = math.sqrt(sum(x * x for x in f))
        if isinstance(decay, Exponential):
            new = 1 + sum(f[n] ** 2 / n for n in range(1, T)) / math.pi
        else:
            new = 1 + sum(x * x for x in f[1:]) / 4
        assert_allclose(room[T - 2], old - new, rtol=1e-11)


def test_the_signs_that_the_proof_needs_are_there_and_its_end_is_known_by_hand():
    # T = 2: D(1) = 2 - (1 + 1/π)²
    right, end = earlier_bounds._difference(2)
    assert right
    assert_allclose(end, 2 - (1 + 1 / math.pi) ** 2, rtol=1e-12)
