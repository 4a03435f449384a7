"""Hereditary discrepancy."""

import itertools

import numpy as np
import pytest

from lab.paper import discrepancy
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import named


@pytest.fixture(scope="module")
def found():
    return list(discrepancy.blocks(QUICK))


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [
        ("Appendix E.1", "false"),  # rows for columns
        ("Appendix E.1", "weak"),  # herdisc is 1 whatever γ2 is
    ]


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 2
    assert all(name.startswith("discrepancy-") for name in names)


def test_sets_of_rows_give_the_discrepancy_itself():
    # fewer rows never raise the largest sum
    rng = np.random.default_rng(3)
    for _ in range(5):
        A = rng.integers(-2, 3, size=(3, 4)).astype(float)
        signs = itertools.product([-1.0, 1.0], repeat=4)
        assert discrepancy.over_rows(A) == min(np.max(np.abs(A @ x)) for x in signs)


def test_the_signs_of_eight_rows_are_a_perfect_code(found):
    # seven of its columns are the Hamming code's 16 words: every sign vector is within one place
    # of a word, so one row sums to 5 at least; and no eight columns are worse
    panel = named(found, "discrepancy-bounds").panels[1]
    points = next(x for x in panel.lines if x.style == "points")
    H = np.array([[1]])
    for _ in range(3):
        H = np.block([[H, H], [H, -H]])

    def disc(columns):
        signs = itertools.product([-1, 1], repeat=len(columns))
        return min(np.max(np.abs(H[:, columns] @ x)) for x in signs)

    sets = [list(s) for k in range(1, 9) for s in itertools.combinations(range(8), k)]
    assert points.y[-1] == max(map(disc, sets)) == disc(list(range(1, 8))) == 5


def test_discrepancy_is_one_for_every_decay_by_plain_search(found):
    table = named(found, "discrepancy-searched")
    assert {row[3] for row in table.rows} == {1.0}
    f = 1.0 / np.arange(1, 7)  # power 1, six steps
    M = np.array([[f[i - j] if j <= i else 0.0 for j in range(6)] for i in range(6)])
    worst = 0.0
    for support in itertools.product([0, 1], repeat=6):
        chosen = M[:, np.flatnonzero(support)]
        signs = itertools.product([-1, 1], repeat=chosen.shape[1])
        worst = max(
            worst, min(float(np.max(np.abs(chosen @ np.array(x)), initial=0)) for x in signs)
        )
    assert worst == 1.0
