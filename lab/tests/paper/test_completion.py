"""Schur products and completion."""

import math

import pytest
from numpy.testing import assert_allclose

from hushfade.theory.bound_values import Bound
from lab.paper import completion
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.paper.theory import families
from lab.tests.paper.reading import named


@pytest.fixture(scope="module")
def found():
    return list(completion.blocks(QUICK))


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [
        ("Appendix E.2", "false"),  # positive definite
        ("Appendix E.2", "false"),  # for all X
        ("Appendix E.2, footnote", "false"),  # Mathias, upper
        ("Appendix E.2, footnote", "weak"),  # Mathias, lower
    ]


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 3
    assert all(name.startswith("completion-") for name in names)


def test_mathias_at_two_steps_is_known_by_hand(found):
    row = next(x for x in named(found, "completion-mathias").rows if x[0] == 2)
    printed = [0.25 + math.log(2) / math.pi, 0.5 + math.log(2) / math.pi]
    assert_allclose(row[1:3], printed, rtol=1e-12)
    assert_allclose([row[3], row[6]], [0.75 * math.sqrt(2), 0.5 + math.sqrt(2) / 2], rtol=1e-12)
    assert_allclose(row[4:6], 2 / math.sqrt(3), rtol=1e-4)  # γ2, to the bracket's gap


def test_the_witness_is_as_deep_as_gamma2_says(found):
    # ⟨W, P⟩ = 2 - 2 γ2, to the bracket's gap of 1e-4
    for _, floor, norm, gamma2, product, completed, divided, stretch in named(
        found, "completion-positive"
    ).rows:
        assert floor == 0.0
        assert completed
        assert_allclose(product, 2 - 2 * gamma2, atol=4e-4 * gamma2)
        assert_allclose(stretch, gamma2, rtol=2e-4)
        assert_allclose(divided, norm / gamma2, rtol=2e-4)


def test_a_wrong_constant_would_be_seen(monkeypatch):
    def printed(n):
        return Bound(0.5 + math.log(n) / math.pi, "upper", "gamma2", "printed", "footnote")

    monkeypatch.setattr(families, "mathias_upper", printed)
    claims = [x for x in completion._mathias(QUICK) if isinstance(x, Claim)]
    assert claims[-1].where.endswith("corrected")
    assert claims[-1].verdict == "false"
