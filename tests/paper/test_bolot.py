"""The square root against the Gaussian mechanism and against Bolot et al."""

import math
from collections import Counter

import pytest
from numpy.testing import assert_allclose

from hushfade import NoDecay
from hushfade.paper import bolot
from hushfade.paper.document import QUICK, Claim, Figure, Table
from hushfade.rivals.binary_tree import binary_tree


@pytest.fixture(scope="module")
def found():
    return list(bolot.blocks(QUICK))


def table(found, name):
    return next(x for x in found if isinstance(x, Table) and x.name == name)


def test_exactly_these_claims_fail(found):
    wrong = Counter(
        (x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"
    )
    assert wrong == {
        ("Section 4.3", "false"): 1,  # whose sensitivity
        ("Section 4.3", "weak"): 1,  # the all-zero stream
    }


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_mean_square_of_a_small_tree_is_known_by_hand():
    # T = 4: popcounts 1, 1, 2, 1 and three levels
    assert_allclose(bolot.mean_square(binary_tree(NoDecay(), 4)), 3 * 5 / 4)


def test_for_counting_the_gaussian_mechanism_has_the_root_of_the_steps(found):
    rows = {row[0]: row[1:] for row in table(found, "bolot-gaussian").rows}
    total, a = 0.0, 1.0  # a_n = C(2n, n)/4^n
    for n in range(1, QUICK.horizon + 1):
        total += a * a
        a *= (2 * n - 1) / (2 * n)
    assert_allclose(rows["counting"][:2], (math.sqrt(QUICK.horizon), total), rtol=1e-10)


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("bolot-") for name in names)
