"""The square root against the Gaussian mechanism and against Bolot et al."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtr

from hushfade import NoDecay
from hushfade.baselines.binary_tree import binary_tree
from lab.paper import bolot
from lab.paper.document import QUICK, Claim, Figure, Table
from tests.theory import brute


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
        ("Section 4.2", "weak"): 1,  # by Theorem 6's bound
        ("Section 4.3", "false"): 1,  # whose sensitivity
        ("Section 1.2, (9)", "weak"): 1,  # an O for all c
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


def test_with_bias_the_rival_wins_for_steep_powers_by_publishing_the_newest_step(found):
    mu = brentq(lambda x: ndtr(x / 2 - 1 / x) - math.e * ndtr(-x / 2 - 1 / x) - 1e-6, 0.05, 1)
    T = 1024
    rows = {row[0]: row for row in table(found, "bolot-power").rows}
    for c in (2, 3):
        k = np.arange(1.0, T + 1)
        forgetful = math.hypot(1 / mu, np.sum(k[1:] ** -c))  # no noise but on the newest, β → 1
        root = np.sum(brute.root(k**-c) ** 2) / mu
        assert_allclose(rows[c][-3:], (forgetful, root, forgetful / root), rtol=1e-4)
        assert rows[c][-1] < 1


def test_the_tree_of_height_zero_is_noise_on_the_inputs(found):
    for row in table(found, "bolot-exponential").rows:
        by_hand = math.sqrt(sum(row[0] ** (-2.0 * k) for k in range(1024)))
        assert_allclose(row[2], by_hand, rtol=1e-9)
        assert row[-1] == math.isclose(row[1], by_hand, rel_tol=1e-9)
    assert [row[-1] for row in table(found, "bolot-exponential").rows] == [False] * 3 + [True] * 3


def test_a_search_that_stops_short_of_one_would_flip_the_verdict(monkeypatch):
    monkeypatch.setattr(bolot, "best_beta_for", lambda *args, **options: 64 / 65)
    claims = [x for x in bolot._bolot(QUICK) if isinstance(x, Claim) and "best β" in x.says]
    assert [x.verdict for x in claims] == ["false"]


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("bolot-") for name in names)
