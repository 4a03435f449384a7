"""The chapter on the formula for the coefficients against values known otherwise."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lab.paper import formula
from lab.paper.document import QUICK, Figure, Table
from lab.paper.theory import bell_polynomials as bell
from lab.tests.paper.reading import claims, table


@pytest.fixture(scope="module")
def blocks():
    return list(formula.blocks(QUICK))


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Theorem 9", "false"): 1,  # F(a) ≠ 0
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    names = [x.name for x in blocks if isinstance(x, (Table, Figure))]  # one CSV file each
    assert len(set(names)) == len(names)
    assert all(name.startswith("formula-") for name in names)


def test_digits_are_lost_where_fractions_say_so(blocks):
    row = table(blocks, "formula-digits")["counting"]
    n = row["8 left"]
    exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(n + 1)]
    found = bell.root_coefficients(np.ones(n + 1))
    errors = [abs(Fraction(float(x)) / y - 1) for x, y in zip(found, exact, strict=True)]
    assert errors[n] > 1e-8 >= max(errors[:n])
    assert table(blocks, "formula-digits")["power 2"]["none left"] == "none"


def test_bell_polynomials_of_ones_count_partitions():
    # Stirling numbers of the second kind
    assert [formula._defined(5, k, [Fraction(1)] * 5) for k in range(1, 6)] == [1, 15, 25, 10, 1]


def test_substitution_of_exponentials_gives_the_bell_numbers():
    ones = [Fraction(1)] * 5
    assert formula._substituted(ones, ones) == [1, 2, 5, 15, 52]
