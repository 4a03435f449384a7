"""Figures 1 and 2."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.paper import coefficients
from lab.paper.document import QUICK, Claim, Figure, Table
from tests.theory import brute
from tests.theory.brute import powers


@pytest.fixture(scope="module")
def found():
    return list(coefficients.blocks(QUICK))


def named(found, name):
    return next(x for x in found if not isinstance(x, Claim) and getattr(x, "name", "") == name)


def test_the_printed_gaps_are_false_and_the_tight_bound_is_weak(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [("Appendix F", "false")] * 2 + [("Section 1.1", "weak")] * 2


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_table_has_the_gaps_of_the_plain_recurrence(found):
    table = named(found, "coefficients-gaps")
    for c in (1, 2):
        f = powers(float(c), 101)
        a = brute.root(f)
        rows = [row for row in table.rows if row[0] == c and row[1] <= 100]
        n = [row[1] for row in rows]
        # a_n is good to 1e-11, and the gap is at least 1/10 of it; at n = 1 it is 0
        assert_allclose([row[4] for row in rows], (f / 2 - a)[n], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("c", "gap"), [(1, 1.597e-4), (2, 2.640e-8)])
def test_the_gap_at_2048_is_known(found, c, gap):
    rows = [row for row in named(found, "coefficients-gaps").rows if row[:2] == (c, 2048)]
    assert_allclose(rows[0][4], gap, rtol=5e-4)  # four digits are known
    assert rows[0][6] == 2.0 ** (-22 * c - 2)


def test_the_figures_end_at_the_printed_numbers_and_at_the_gaps(found):
    for number, first in ((1, 2), (2, 1024)):
        printed = named(found, f"coefficients-figure-{number}-printed")
        right = named(found, f"coefficients-figure-{number}-corrected")
        assert [panel.lines[0].y[-1] for panel in printed.panels] == [2.0**-24, 2.0**-46]
        assert_allclose([p.lines[0].y[-1] for p in right.panels], [1.597e-4, 2.640e-8], rtol=5e-4)
        assert all(p.lines[0].x[0] == first for p in (*printed.panels, *right.panels))


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("coefficients-") for name in names)


def test_a_gap_that_were_as_printed_would_hold():
    n = np.arange(2049)
    f = 1.0 / (n + 1.0)
    a = f / 2 - 5.960464477539063e-8
    claims = list(coefficients._claims(coefficients.Found(1, f / 2, a)))
    assert claims[0].verdict == "holds"
    assert claims[2].verdict == "false"  # and the recurrence would contradict it


def test_the_asymptotic_law_is_that_of_the_singularity():
    # Li_1: n = 10^6, by hand: 1/(2·10^6 √(13.8155 + 0.5772))
    law = coefficients.Found(1, np.ones(1), np.ones(1)).asymptotic(np.array([1e6]))
    assert_allclose(law, 1 / (2e6 * math.sqrt(13.8155106 + 0.5772157)), rtol=1e-8)
