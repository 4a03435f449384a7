"""The chapter on exponentials against values known otherwise."""

from collections import Counter

import mpmath
import pytest
from numpy.testing import assert_allclose

from hushfade.theory.bound_values import Bound
from lab.paper import exponentials
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.tests.paper.reading import claims, table


@pytest.fixture(scope="module")
def blocks():
    return list(exponentials.blocks(QUICK))


def test_what_is_not_as_printed(blocks):
    found = Counter((x.where, x.verdict) for x in claims(blocks) if x.verdict != "holds")
    assert found == {
        ("Section 1.1", "false"): 1,  # α^-n
        ("Theorem 4, Claim 14", "weak"): 1,  # 804.7
        ("Claim 14's proof", "false"): 1,
        ("Theorem 4", "weak"): 1,  # another formula
    }
    assert all(bool(x.instead) == (x.verdict != "holds") for x in claims(blocks))


def test_names_are_one_each_and_of_the_chapter(blocks):
    names = [x.name for x in blocks if isinstance(x, (Table, Figure))]  # one CSV file each
    assert len(set(names)) == len(names)
    assert all(name.startswith("exponentials-") for name in names)


def test_the_exponential_bounds_are_those_of_sixty_digits(blocks):
    found = table(blocks, "exponentials-values")
    assert (f"{found[1.01]['closed']:.1f}", f"{found[1.01]['1 + S/π']:.3f}") == ("804.7", "2.250")
    for alpha, row in found.items():
        with mpmath.workdps(60):
            q = mpmath.mpf(alpha) ** -2
            elliptic = float(2 / mpmath.pi * mpmath.ellipk(q))
            logarithm = float(1 - mpmath.log(1 - q) / mpmath.pi)
        assert_allclose(row["(2/π) K"], elliptic, rtol=1e-11)  # α is rounded: α - 1 by 1e-12
        assert_allclose(row["1 + ln(1/(1-α^-2))/π"], logarithm, rtol=1e-11)


def test_the_figure_has_upper_bounds_above_and_the_lower_one_below(blocks):
    (figure,) = [x for x in blocks if isinstance(x, Figure)]
    lines = {x.label: x for x in figure.panels[0].lines}
    assert min(lines["Theorem 4, 1 + S/π"].y) > 1
    assert max(lines["Theorem 2, lower"].y) < 1


def test_the_bound_of_the_count_is_above_the_quoted_one_by_the_limit_of_the_harmonic_numbers():
    # (H_(T-1) - ln T)/π - 2/T tends to γ/π = 0.1837
    claim = exponentials._recovered()
    *_, last = claim.found.split(", ")
    expected = (0.5772157 - 1 / 8192) / mpmath.pi - 2 / 4096
    assert_allclose(float(last), float(expected), atol=6e-4)


def test_an_exponential_bound_below_its_sum_is_found(monkeypatch):
    low = Bound(1.0, "upper", "gamma2", "wrong", "nowhere")
    monkeypatch.setattr(exponentials, "exponential_closed", lambda decay, n: low)
    found = {x.where: x.verdict for x in exponentials._bounds(QUICK) if isinstance(x, Claim)}
    assert found["Theorem 4, Claim 14"] == "false"
