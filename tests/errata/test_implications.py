"""Errata: discrepancy, completion, existence."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw
from hushfade.theory.families import (
    mathias_lower,
    mathias_upper,
)
from tests.theory import brute


def test_hereditary_discrepancy_restricts_columns():
    # Appendix E: herdisc(A) = max over sets of rows; then equal columns hide everything
    A = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])

    def disc(B):
        signs = itertools.product([-1, 1], repeat=B.shape[1])
        return min(np.max(np.abs(B @ np.array(x))) for x in signs)

    subsets = [list(s) for r in (1, 2, 3, 4) for s in itertools.combinations(range(4), r)]
    assert max(disc(A[rows]) for rows in [[0], [1], [0, 1]]) == 0  # against Ω(γ2/log m), γ2 ≥ 1
    assert max(disc(A[:, columns]) for columns in subsets) == 1


@pytest.mark.parametrize("T", [2, 10, 48])
def test_the_footnote_on_mathias_is_below_gamma2(T):
    # Appendix E: 1/(2T) + ln(T)/π ≤ γ2 ≤ 1/2 + ln(T)/π
    lower, upper = brute.gamma2(np.ones(T))
    assert 1 / 2 + math.log(T) / math.pi < lower
    assert mathias_lower(T).value <= upper
    assert lower <= mathias_upper(T).value
    if T == 2:
        assert f"{1 / 2 + math.log(T) / math.pi:.2f}" == "0.72"


@pytest.mark.parametrize("decay", [NoDecay(), PowerLaw(power=1), Exponential(alpha=2)], ids=repr)
def test_claim_25_holds_for_weights_that_do_not_rise(decay):
    # Claim 25: -1 < h(x) < 1 for |x| < 1/(f(2) + 1), h = g - 1
    f = decay.weights(400)
    edge = 1 / (f[1] + 1)
    x = np.linspace(-edge, edge, 203)[1:-1]
    h = np.polynomial.polynomial.polyval(x, f) - 1
    assert np.all(np.abs(h) < 1)


def test_claim_25_needs_weights_that_do_not_rise():
    # Lemma 24 asks only f : N → R₊ with f(1) = 1
    f = np.array([1.0, 0.1, 100.0])
    x = 0.5
    assert x < 1 / (f[1] + 1)
    assert np.polynomial.polynomial.polyval(x, f) - 1 > 25


def test_the_case_below_zero_of_claim_25_has_a_false_step():
    # proof of Claim 25: h(x) ≤ f(3) x²/(1 - x) + Σ_{i odd} x^i f(i + 1) for x < 0
    x = -0.4  # f = 1: h = x/(1 - x), and the odd part is x/(1 - x²)
    h, odd = x / (1 - x), x / (1 - x**2)
    assert h > x**2 / (1 - x) + odd + 0.07
    assert_allclose(h, x**2 / (1 - x**2) + odd)  # the even part is at most f(3) x²/(1 - x²)
    assert h <= 0  # pairs f(2i) x^(2i-1) + f(2i+1) x^2i ≤ 0 show it at once
