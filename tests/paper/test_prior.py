"""The comparison with prior work."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw
from hushfade.paper import prior
from hushfade.paper.document import QUICK, Claim, Figure, Table
from hushfade.rivals.binary_tree import binary_tree


@pytest.fixture(scope="module")
def found():
    return list(prior.blocks(QUICK))


def table(found, name):
    return next(x for x in found if isinstance(x, Table) and x.name == name)


def test_exactly_these_claims_fail(found):
    wrong = Counter(
        (x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"
    )
    assert wrong == {
        ("Section 4.1, eq. (13)", "false"): 2,
        ("Section 4.1, eq. (13)", "weak"): 2,
        ("Section 1.1", "false"): 1,  # all values of c
        ("Lemma 16's proof", "false"): 5,
        ("Section 4.3", "false"): 1,  # whose sensitivity
        ("Section 4.3", "weak"): 1,  # the all-zero stream
        ("Section 1.2", "weak"): 1,  # counting, mean square
        ("Section 1.2", "false"): 2,  # windows
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


@pytest.mark.parametrize("decay", [PowerLaw(1), PowerLaw(3), Exponential(alpha=1.01)], ids=repr)
def test_the_room_of_the_lemma_is_that_of_the_plain_sums(decay):
    room = prior._room(decay, 40)
    for T in (2, 3, 40):
        f = decay.weights(T)
        old = math.sqrt(sum(x * x for x in f))
        if isinstance(decay, Exponential):
            new = 1 + sum(f[n] ** 2 / n for n in range(1, T)) / math.pi
        else:
            new = 1 + sum(x * x for x in f[1:]) / 4
        assert_allclose(room[T - 2], old - new, rtol=1e-11)


def test_the_constants_of_counting_are_those_of_popcounts(found):
    rows = {row[:2]: row[2:] for row in table(found, "prior-constants").rows}
    T = 256
    bits = [bin(t).count("1") for t in range(1, T + 1)]
    a = [math.comb(2 * n, n) / 4**n for n in range(T)]
    S = np.cumsum(np.square(a))
    largest = math.sqrt(max(bits) * 9) / S[-1]
    mean = 9 * np.mean(bits) / (S[-1] * np.mean(S))
    expected = (largest, mean, math.pi / math.log(2), math.pi**2 / math.log(2) ** 2 / 2)
    assert_allclose(rows["counting, square root", T], expected, rtol=1e-10)


def test_the_mean_square_of_a_small_tree_is_known_by_hand():
    # T = 4: popcounts 1, 1, 2, 1 and three levels
    assert_allclose(prior.mean_square(binary_tree(NoDecay(), 4)), 3 * 5 / 4)


def test_no_rival_is_below_the_certified_least(found):
    rows = table(found, "prior-rivals").rows
    assert len(rows) == sum(len(makers) for _, makers in prior.FAMILIES.values())
    assert all(row[5] >= 1.0 and row[8] >= 1.0 for row in rows)


def test_the_errors_at_4096_steps_are_the_known_ones(found):
    rows = {(row[0], row[2]): row[3] for row in table(found, "prior-rivals").rows}
    assert_allclose(rows["counting", prior.ROOT], 3.7139, atol=6e-5)
    assert_allclose(rows["window 256", "window blocks"], 4.439, atol=6e-4)
    assert_allclose(rows["counting", "Gaussian mechanism"], 64.0)


def test_the_signs_that_the_proof_needs_are_there_and_its_end_is_known_by_hand():
    # T = 2: D(1) = 2 - (1 + 1/π)²
    right, end = prior._difference(2)
    assert right
    assert_allclose(end, 2 - (1 + 1 / math.pi) ** 2, rtol=1e-12)


def test_a_least_error_that_were_too_high_would_flip_the_verdict():
    name, T, rival = "counting", 64, prior.ROOT
    other = (name, T, "rival", 2.0, 2.0, 2.0, 4.0, 4.0, 4.0)
    good = [(name, T, rival, 1.0, 1.0, 1.1, 1.0, 1.0, 1.2), other]
    good += [("power 1", T, rival, 1.0, 1.0, 1.001, 1.0, 1.0, 1.0)]
    assert [x.verdict for x in prior._verdicts(good)] == ["holds"] * 3
    bad = [(name, T, rival, 1.0, 1.0, 1.2, 1.0, 1.0, 1.2), (*other[:4], 0.9, *other[5:]), good[2]]
    assert [x.verdict for x in prior._verdicts(bad)] == ["false", "holds", "false"]


def test_roughly_is_within_a_quarter():
    assert prior._roughly(3.0, 4.0)
    assert prior._roughly(5.0, 4.0)
    assert not prior._roughly(2.99, 4.0)


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("prior-") for name in names)
