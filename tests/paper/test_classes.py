"""The chapter on the class F and the closed forms against values known otherwise."""

import math
from collections import Counter

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.paper import classes
from hushfade.paper.decays import DECAYS
from hushfade.paper.document import QUICK, Claim, Figure, Table
from hushfade.theory.bound import Bound
from tests.theory import brute


@pytest.fixture(scope="module")
def blocks():
    return list(classes.blocks(QUICK))


def claims(blocks):
    return [x for x in blocks if isinstance(x, Claim)]


def table(blocks, name):
    (found,) = [x for x in blocks if isinstance(x, Table) and x.name == name]
    return {row[0]: dict(zip(found.columns, row, strict=True)) for row in found.rows}


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Section 1.1", "false"): 1,  # α^-n
        ("Section 3.5", "false"): 1,  # (n+1)^-c
        ("Section 1.1", "weak"): 1,  # f/2 for slow decays
        ("Theorem 3", "false"): 1,  # H to T - 1
        ("Theorem 19", "false"): 2,  # n from 1, and 9/8
        ("Appendix B", "false"): 1,  # -x
        ("Theorem 20", "weak"): 2,  # ^c, and γ_F
        ("Theorem 4, Claim 14", "weak"): 1,  # 804.7
        ("Claim 14", "false"): 1,  # its proof
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    for kind in (Table, Figure):
        names = [x.name for x in blocks if isinstance(x, kind)]
        assert len(set(names)) == len(names)
        assert all(name.startswith("classes-") for name in names)


def test_membership_is_that_of_the_recurrence(blocks):
    decays = DECAYS | classes.OTHERS
    found = table(blocks, "classes-members")
    assert list(found) == list(decays)
    for name in set(decays) - {"window 256", "window 4096"}:  # whose first minus sign is later
        a = brute.root(decays[name].weights(40))
        assert (found[name]["in F"] == "no") == bool(np.any(a < 0)), name


def test_theorem_3_is_that_of_the_weights(blocks):
    for name, row in table(blocks, "classes-half-weights").items():
        f = DECAYS[name].weights(QUICK.horizon)
        assert_allclose(row["Theorem 3"], 1 + math.fsum(f[1:] ** 2) / 4, rtol=1e-12)


def test_the_coefficients_come_to_the_weights_over_twice_the_root_of_zeta(blocks):
    # a_n ~ f(n+1)/(2√g(1)) for c > 1, from below for c = 3
    found = table(blocks, "classes-half-weights")
    assert found["counting"]["largest 2a_n/f(n+1), n ≥ 2"] == 0.75
    largest = found["power 3"]["largest 2a_n/f(n+1), n ≥ 2"]
    assert_allclose(largest, 1 / math.sqrt(float(mpmath.zeta(3))), rtol=1e-3)  # n = 4095


def test_the_exponential_bounds_are_those_of_sixty_digits(blocks):
    found = table(blocks, "classes-exponential")
    assert (f"{found[1.01]['closed']:.1f}", f"{found[1.01]['1 + S/π']:.3f}") == ("804.7", "2.250")
    for alpha, row in found.items():
        with mpmath.workdps(60):
            q = mpmath.mpf(alpha) ** -2
            elliptic = float(2 / mpmath.pi * mpmath.ellipk(q))
            logarithm = float(1 - mpmath.log(1 - q) / mpmath.pi)
        assert_allclose(row["(2/π) K"], elliptic, rtol=1e-11)  # α is rounded: α - 1 by 1e-12
        assert_allclose(row["1 + ln(1/(1-α^-2))/π"], logarithm, rtol=1e-11)


def test_the_figure_has_its_known_values(blocks):
    (figure,) = [x for x in blocks if isinstance(x, Figure)]
    power, exponential = ({x.label: x for x in panel.lines} for panel in figure.panels)
    at = power["Theorem 3"].x.index(1.0)
    assert_allclose(power["Theorem 3"].y[at], (1 + (math.pi**2 / 6 - 1) / 4) / 1.10810, rtol=1e-5)
    assert_allclose(power["closed form"].y[at], 1.25 / 1.10810, rtol=1e-5)
    assert min(exponential["Theorem 4, 1 + S/π"].y) > 1
    assert max(exponential["Theorem 2, lower"].y) < 1


def test_the_printed_closed_form_at_one_step():
    assert classes._closed(1, 1) == 1 + (1 - 1 / 2) / 4


def test_an_exponential_bound_below_its_sum_is_found(monkeypatch):
    low = Bound(1.0, "upper", "gamma2", "wrong", "nowhere")
    monkeypatch.setattr(classes, "exponential_closed", lambda decay, n: low)
    found = {x.where: x.verdict for x in classes._exponential(QUICK) if isinstance(x, Claim)}
    assert found["Theorem 4, Claim 14"] == "false"


def test_a_sum_that_stops_early_is_found(monkeypatch):
    right = classes.power_sum
    monkeypatch.setattr(classes, "power_sum", lambda decay, n: right(decay, max(n - 1, 1)))
    found = {x.where: x.verdict for x in classes._harmonic(QUICK) if isinstance(x, Claim)}
    assert found["Theorem 3, corrected"] == "false"
