"""The chapter on power laws against values known otherwise."""

import math
from collections import Counter

import pytest
from numpy.testing import assert_allclose

from lab.paper import power_laws
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import claims


@pytest.fixture(scope="module")
def blocks():
    return list(power_laws.blocks(QUICK))


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Section 3.5", "false"): 1,  # (n+1)^-c
        ("Theorem 3", "false"): 1,  # H to T - 1
        ("Theorem 19", "false"): 2,  # n from 1, and 9/8
        ("Appendix B", "false"): 1,  # -x
        ("Theorem 20", "weak"): 2,  # ^c, and γ_F
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    names = [x.name for x in blocks if isinstance(x, (Table, Figure))]  # one CSV file each
    assert len(set(names)) == len(names)
    assert all(name.startswith("power-laws-") for name in names)


def test_the_figure_has_its_known_values(blocks):
    (figure,) = [x for x in blocks if isinstance(x, Figure)]
    lines = {x.label: x for x in figure.panels[0].lines}
    at = lines["Theorem 3"].x.index(1.0)
    assert_allclose(lines["Theorem 3"].y[at], (1 + (math.pi**2 / 6 - 1) / 4) / 1.10810, rtol=1e-5)
    assert_allclose(lines["closed form"].y[at], 1.25 / 1.10810, rtol=1e-5)


def test_the_printed_closed_form_at_one_step():
    assert power_laws._closed(1, 1) == 1 + (1 - 1 / 2) / 4


def test_a_sum_that_stops_early_is_found(monkeypatch):
    right = power_laws.power_sum
    monkeypatch.setattr(power_laws, "power_sum", lambda decay, n: right(decay, max(n - 1, 1)))
    found = {x.where: x.verdict for x in power_laws._harmonic(QUICK) if isinstance(x, Claim)}
    assert found["Theorem 3, corrected"] == "false"
