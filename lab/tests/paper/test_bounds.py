"""The chapter on Theorem 2 against values known otherwise."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import NoDecay, PowerLaw
from hushfade.theory import Bracket
from lab.paper import bounds
from lab.paper.decays import DECAYS
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import claims, table
from tests.theory import brute


@pytest.fixture(scope="module")
def blocks():
    return list(bounds.blocks(QUICK))


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Section 1.1", "false"): 1,  # the operator norm
        ("Theorem 2", "false"): 1,  # T = 1
        ("Abstract", "weak"): 1,  # almost tight
        ("Section 1.1", "weak"): 1,  # the first lower bound
        ("Section 3.4", "false"): 1,  # γ2 = Σ r²
        ("Claim 22", "weak"): 1,  # f(2) = 1
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    names = [x.name for x in blocks if isinstance(x, (Table, Figure))]  # one CSV file each
    assert len(set(names)) == len(names)
    assert all(name.startswith("bounds-") for name in names)


def test_the_bracketed_norms_are_those_of_brute_force(blocks):
    exact = table(blocks, "bounds-exact")
    assert list(exact) == list(DECAYS)
    for name, row in exact.items():
        lower, upper = brute.gamma2(DECAYS[name].weights(QUICK.exact))
        assert row["γ2 ≥"] <= upper
        assert row["γ2 ≤"] >= lower
        assert row["γ2 ≤"] / row["γ2 ≥"] < 1 + 1.1e-5  # the gap asked for
        assert row["γ_F/√T ≤"] < row["γ2 ≥"]  # strict from T = 64 on, by more than the gap


def test_the_bounds_are_those_of_the_recurrence(blocks):
    for name, row in table(blocks, "bounds-exact").items():
        f = DECAYS[name].weights(QUICK.exact)
        assert_allclose(row["Σ a_n²"], np.sum(brute.root(f) ** 2), rtol=1e-12)
        assert_allclose(row["2/√(4-f(2)²)"], 2 / math.sqrt(4 - f[1] ** 2), rtol=1e-12)


def test_power_one_comes_to_its_known_limit(blocks):
    row = table(blocks, "bounds-horizon")["power 1"]
    assert_allclose([row["γ2 ≥"], row["Σ a_n²"]], 1.10810, atol=6e-5)  # 1/T away


def test_the_trace_norm_bounds_gamma2_from_below_and_is_known_at_two_steps():
    # M = [[1, 0], [1/2, 1]]: (σ₁ + σ₂)² = ‖M‖_F² + 2|det M| = 9/4 + 2
    claim = bounds._trace_norm()
    assert_allclose(np.linalg.norm([[1, 0], [0.5, 1]], "nuc"), math.sqrt(4.25), rtol=1e-14)
    found = [float(x) for x in claim.found.split(" by ")[0].split(", ")]
    for c, value in zip((1, 2), found, strict=True):
        f = np.arange(1.0, 9.0) ** -c
        assert 2 / math.sqrt(4 - f[1] ** 2) < value <= brute.gamma2(f)[1]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"printed": 1.2}, 0),  # a lower bound above γ2
        ({"root": 1.1}, 1),  # an upper bound below γ2
    ],
)
def test_a_wrong_bound_is_found(change, place):
    right = {
        "name": "counting", "steps": 2, "printed": 1.1547, "lower": 1.15470, "upper": 1.15471,
        "root": 1.25, "frobenius": Bracket(1.6180, 1.6181),
    }  # fmt: skip
    parts = bounds._lower, bounds._upper
    for values, verdict in ((right, "holds"), (right | change, "false")):
        # the last T of the quick report is needed too, by other claims
        points = [bounds.Point(**values), *(
            bounds._point(name, QUICK.horizon, QUICK) for name in ("counting", "power 1")
        )]  # fmt: skip
        claim = next(x for x in parts[place](points, QUICK) if isinstance(x, Claim))
        assert claim.verdict == verdict


def test_a_frobenius_norm_above_its_bound_is_found():
    values = ("counting", 2, 1.1547, 1.15470, 1.15471, 1.25)
    ends = [bounds._point(name, QUICK.horizon, QUICK) for name in ("counting", "power 1")]
    for norm, verdict in ((Bracket(1.6180, 1.6181), "holds"), (Bracket(1.7, 1.71), "false")):
        *_, claim = bounds._upper([bounds.Point(*values, norm), *ends], QUICK)
        assert claim.verdict == verdict


def test_a_point_holds_the_count_at_two_steps():
    point = bounds._point("counting", 2, QUICK)
    assert NoDecay() == DECAYS["counting"]
    assert PowerLaw(1) == DECAYS["power 1"]
    assert_allclose(
        [point.printed, point.lower, point.upper], 2 / math.sqrt(3), rtol=1e-5
    )  # the gap
    assert point.root == 1.25
    assert_allclose(point.frobenius.lower, (1 + math.sqrt(5)) / 2, rtol=1e-5)
