"""The constants of Section 1.2, and every rival."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.paper import mechanisms
from lab.paper.document import QUICK, Claim, Figure, Table


@pytest.fixture(scope="module")
def found():
    return list(mechanisms.blocks(QUICK))


def table(found, name):
    return next(x for x in found if isinstance(x, Table) and x.name == name)


def test_exactly_these_claims_fail(found):
    wrong = Counter(
        (x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"
    )
    assert wrong == {
        ("Section 1.2", "weak"): 3,  # counting, mean square; windows
    }


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_constants_of_counting_are_those_of_popcounts(found):
    rows = {row[:2]: row[2:] for row in table(found, "mechanisms-constants").rows}
    T = 256
    bits = [bin(t).count("1") for t in range(1, T + 1)]
    a = [math.comb(2 * n, n) / 4**n for n in range(T)]
    S = np.cumsum(np.square(a))
    largest = math.sqrt(max(bits) * 9) / S[-1]
    mean = 9 * np.mean(bits) / (S[-1] * np.mean(S))
    expected = (largest, mean, math.pi / math.log(2), math.pi**2 / math.log(2) ** 2 / 2)
    assert_allclose(rows["counting, square root", T], expected, rtol=1e-10)


def test_no_rival_is_below_the_certified_least(found):
    rows = table(found, "mechanisms-rivals").rows
    assert len(rows) == sum(len(makers) for _, makers in mechanisms.FAMILIES.values())
    assert all(row[5] >= 1.0 and row[8] >= 1.0 for row in rows)


def test_the_errors_at_4096_steps_are_the_known_ones(found):
    rows = {(row[0], row[2]): row[3] for row in table(found, "mechanisms-rivals").rows}
    assert_allclose(rows["counting", mechanisms.ROOT], 3.7139, atol=6e-5)
    assert_allclose(rows["window 256", "window blocks"], 4.439, atol=6e-4)
    assert_allclose(rows["counting", "Gaussian mechanism"], 64.0)


def test_a_least_error_that_were_too_high_would_flip_the_verdict():
    name, T, rival = "counting", 64, mechanisms.ROOT
    other = (name, T, "rival", 2.0, 2.0, 2.0, 4.0, 4.0, 4.0)
    good = [(name, T, rival, 1.0, 1.0, 1.1, 1.0, 1.0, 1.2), other]
    good += [("power 1", T, rival, 1.0, 1.0, 1.001, 1.0, 1.0, 1.0)]
    assert [x.verdict for x in mechanisms._verdicts(good, [T])] == ["holds"] * 3
    bad = [(name, T, rival, 1.0, 1.0, 1.2, 1.0, 1.0, 1.2), (*other[:4], 0.9, *other[5:]), good[2]]
    assert [x.verdict for x in mechanisms._verdicts(bad, [T])] == ["false", "holds", "false"]


def test_factorizations_found_since_are_below_the_root_by_the_known_ratios():
    found = [float(x) for x in mechanisms._since(1024).found.split(", ")]
    assert_allclose(found, [0.946, 0.941, 0.974], atol=6e-4)  # three digits are known


def test_roughly_is_within_a_quarter():
    assert mechanisms._roughly(3.0, 4.0)
    assert mechanisms._roughly(5.0, 4.0)
    assert not mechanisms._roughly(2.99, 4.0)


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("mechanisms-") for name in names)
