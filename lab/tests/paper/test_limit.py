"""The limit of γ2, and certificates."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.factors import limit_norms
from hushfade.factors.limit_norms import Energy
from lab.paper import limit as chapter
from lab.paper.decays import DECAYS
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import named, rows


@pytest.fixture(scope="module")
def found():
    return list(chapter.blocks(QUICK))


def test_all_claims_hold(found):
    claims = [x for x in found if isinstance(x, Claim)]
    assert len(claims) == 4
    assert {(x.where, x.verdict) for x in claims} == {("ours", "holds")}


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 4
    assert all(name.startswith("limit-") for name in names)


@pytest.mark.parametrize("alpha", ["1.01", "2"])
def test_the_limit_of_an_exponential_is_an_elliptic_integral(found, alpha):
    value = rows(found, "limit-sums")[f"exponential, α = {alpha}"][0]
    exact = 2 / mpmath.pi * mpmath.ellipk(mpmath.mpf(alpha) ** -2)
    assert_allclose(value, float(exact), rtol=1e-13)


@pytest.mark.parametrize("w", [16, 256])
def test_the_limit_of_a_window_is_a_lebesgue_constant(found, w):
    # Szegő 1921: (16/π²) Σ_k (1 + 1/3 + ... + 1/(2kw - 1)) / (4k² - 1)
    k = np.arange(1, 4001)
    odd = np.cumsum(1 / (2 * np.arange(1, 4000 * w + 1) - 1))
    total = math.fsum(odd[k * w - 1] / (4 * k**2 - 1))
    # what is left out: ∫ (½ ln kw + ln 2 + γ/2)/(4k²) dk from 4000.5 on, to a relative 1e-3
    K = 4000.5
    total += (0.5 * (math.log(K * w) + 1) + math.log(2) + np.euler_gamma / 2) / (4 * K)
    value = rows(found, "limit-sums")[f"window {w}"][0]
    assert_allclose(value, 16 / math.pi**2 * total, rtol=1e-6)


def test_partial_sums_stay_below_the_limit_and_lower_bounds_below_gamma2(found):
    for value, partial, whole, apart, least in rows(found, "limit-sums").values():
        assert partial <= value * (1 + 1e-14)
        assert least <= value
        assert_allclose(whole / value - 1, apart, atol=1e-15)


def test_brackets_close_and_rise(found):
    for panel in named(found, "limit-by-steps").panels:
        upper, lower, top = panel.lines
        assert np.all(np.array(lower.y) <= upper.y)
        assert np.all(np.diff(lower.y) > 0)
        # the limit bounds γ2, and the bounds from above to the bracket's gap
        assert max(upper.y) <= top.y[0] * (1 + 3e-5)


def test_two_by_two_steps_of_counting_are_known(found):
    # T = 4, √g: 1 + 1/4 + 9/64 + 25/256
    assert_allclose(chapter._root(DECAYS["counting"], 4), 1 + 1 / 4 + 9 / 64 + 25 / 256, rtol=1e-12)


def test_weights_that_level_off_have_sums_that_grow_like_the_logarithm():
    # a half of the count: a_n² ~ 1/(2πn)
    sums = [float(x) for x in chapter._listed(chapter._flat).split(", ")]
    assert_allclose(np.diff(sums), math.log(4) / (2 * math.pi), atol=1.1e-3)  # three digits


def test_a_wrong_limit_would_be_seen(monkeypatch):
    steps = chapter._steps(QUICK)
    brackets = {name: [chapter.bracket(DECAYS[name], n, 64) for n in steps]
                for name in chapter.SHOWN}  # fmt: skip
    honest = limit_norms.energy

    def verdicts():
        return [x.verdict for x in chapter._limit(QUICK, steps, brackets) if isinstance(x, Claim)]

    assert verdicts() == ["holds"] * 3
    monkeypatch.setattr(
        limit_norms, "energy", lambda decay: Energy(0.99 * honest(decay).value, 0.0)
    )
    assert verdicts() == ["false"] * 3
