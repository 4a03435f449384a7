"""The chapter on the class F against values known otherwise."""

import math
from collections import Counter

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.paper import class_f
from lab.paper.decays import DECAYS
from lab.paper.document import QUICK, Figure, Table
from lab.tests.paper.reading import claims, table
from tests.theory import brute


@pytest.fixture(scope="module")
def blocks():
    return list(class_f.blocks(QUICK))


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Section 1.1", "weak"): 1,  # f/2 for slow decays
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    names = [x.name for x in blocks if isinstance(x, (Table, Figure))]  # one CSV file each
    assert len(set(names)) == len(names)
    assert all(name.startswith("membership-") for name in names)


def test_membership_is_that_of_the_recurrence(blocks):
    decays = DECAYS | class_f.OTHERS
    found = table(blocks, "membership-members")
    assert list(found) == list(decays)
    for name in set(decays) - {"window 256", "window 4096"}:  # whose first minus sign is later
        a = brute.root(decays[name].weights(40))
        assert (found[name]["in F"] == "no") == bool(np.any(a < 0)), name


def test_theorem_3_is_that_of_the_weights(blocks):
    for name, row in table(blocks, "membership-half-weights").items():
        f = DECAYS[name].weights(QUICK.horizon)
        assert_allclose(row["Theorem 3"], 1 + math.fsum(f[1:] ** 2) / 4, rtol=1e-12)


def test_the_coefficients_come_to_the_weights_over_twice_the_root_of_zeta(blocks):
    # a_n ~ f(n+1)/(2√g(1)) for c > 1, from below for c = 3
    found = table(blocks, "membership-half-weights")
    assert found["counting"]["largest 2a_n/f(n+1), n ≥ 2"] == 0.75
    largest = found["power 3"]["largest 2a_n/f(n+1), n ≥ 2"]
    assert_allclose(largest, 1 / math.sqrt(float(mpmath.zeta(3))), rtol=1e-3)  # n = 4095
