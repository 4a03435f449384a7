"""Errata: discrepancy, completion, existence."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw
from lab.paper.theory.completion import Completion, Partial, Witness, complete
from lab.paper.theory.discrepancy import hereditary_discrepancy, upper_from_gamma2
from lab.paper.theory.families import (
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
    # Appendix E, footnote: γ2 ≤ 1/2 + ln(T)/π
    lower, upper = brute.gamma2(np.ones(T))
    assert 1 / 2 + math.log(T) / math.pi < lower
    assert mathias_lower(T).value <= upper
    assert lower <= mathias_upper(T).value
    if T == 2:
        assert f"{1 / 2 + math.log(T) / math.pi:.2f}" == "0.72"


@pytest.mark.parametrize("T", [2, 10, 48])
def test_the_lower_bound_of_the_footnote_is_too_low_by_half_or_more_and_is_weak(T):
    # Appendix E, footnote: 1/(2T) + ln(T)/π ≤ γ2
    printed, lower = 1 / (2 * T) + math.log(T) / math.pi, brute.gamma2(np.ones(T))[0]
    assert printed < lower - 0.49
    assert printed + 0.2 < mathias_lower(T).value <= lower + 1e-9


@pytest.mark.parametrize(
    "decay", [NoDecay(), PowerLaw(power=1), Exponential.from_alpha(2)], ids=repr
)
def test_claim_25_holds_for_weights_that_do_not_rise(decay):
    # Claim 25: -1 < h(x) < 1 for |x| < 1/(f(2) + 1), h = g - 1
    f = decay.weights(400)
    edge = 1 / (f[1] + 1)
    x = np.linspace(-edge, edge, 203)[1:-1]
    h = np.polynomial.polynomial.polyval(x, f) - 1
    assert np.all(np.abs(h) < 1)


def test_claim_25_needs_weights_that_do_not_rise_and_is_weak():
    # Claim 25 has the f of Lemma 24, which does not repeat that f never rises
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


def test_the_series_of_lemma_24_diverges_from_one_on():
    # proof of Lemma 24: g(x) > 0 for all x > η; for x ≥ 1 there is no g(x)
    assert np.sum(NoDecay().weights(1000)) == 1000  # f = 1 at x = 1
    terms = 1.1 ** np.arange(1000) * PowerLaw(power=2).weights(1000)  # every power law at x > 1
    assert np.all(np.diff(terms[40:]) > 0)


def test_lemma_24_needs_weights_that_do_not_rise_and_is_weak():
    # Lemma 24 asks f : N₊ → R₊ with f(1) = 1; that f never rises, as in Section 3, is not repeated
    terms = [math.factorial(n) // 100**n for n in (200, 400, 800)]  # f(n + 1) = n! at x = 1/100
    assert terms == sorted(terms)  # and so at every x but 0: no neighbourhood
    assert terms[-1] > 10**300
    f, x = np.array([1.0, 0.1, 0.1, 10.0]), -0.6
    eta = (f[1] - math.sqrt(f[1] ** 2 + 4)) / 2
    assert eta < x
    assert np.polynomial.polynomial.polyval(x, f) < -1
    # the formal root exists all the same: each a_n is found by a division by 2 a_0 = 2
    assert_allclose(np.convolve(brute.root(f), brute.root(f))[:4], f, atol=1e-14)


def test_the_exponent_of_lemma_24_has_the_wrong_sign():
    # proof of Lemma 24: the formula has a factor 1/g(x)^(1/2 - k); at x = 0, where g = 1, no matter
    x = 0.5
    g, slope = 1 / (1 - x), 1 / (1 - x) ** 2  # f = 1
    exact = 0.5 * (1 - x) ** -1.5  # of √g = (1 - x)^-½
    printed, right = (0.5 * slope / g**k for k in (1 / 2 - 1, 1 - 1 / 2))
    assert_allclose(right, exact, rtol=1e-14)
    assert_allclose(printed, 2 * exact, rtol=1e-14)


def test_gamma2_says_nothing_of_the_discrepancy_of_decays_and_is_weak():
    # Appendix E.1: a 'general bound for discrepancy' of all M_f; it is 1 for weights that fall
    for f in (np.ones(10), PowerLaw(power=1).weights(10), Exponential.from_alpha(1.1).weights(10)):
        assert_allclose(hereditary_discrepancy(brute.matrix(f)).value, 1)
        gamma2 = brute.gamma2(f)[1]
        assert upper_from_gamma2(gamma2, rows=10).value > 2.4


def test_partially_positive_definite_is_only_semidefinite():
    # Appendix E.2: P is partially positive definite; as M[i, i] = 1 the block of i is singular
    values = Partial(brute.matrix([1.0, 0.5])).values
    block = values[np.ix_([0, 2], [0, 2])]
    assert np.linalg.eigvalsh(block)[0] == pytest.approx(0, abs=1e-12)


def test_no_unit_diagonal_has_a_definite_completion_and_the_claim_is_weak():
    # Appendix E.2: no completion P ≻ 0, because γ2 > 1; but the identity, γ2 = 1, has none either
    found = complete(np.array([1.0, 0.0]))
    assert isinstance(found, Completion)
    assert found.valid
    assert np.linalg.eigvalsh(found.matrix)[0] == pytest.approx(0, abs=1e-12)
    # the claim that has content is for P ⪰ 0; there M[i, i] = 1 makes M symmetric, or none
    assert isinstance(complete(np.array([1.0, 1e-3])), Witness)


def test_the_contractions_of_the_criterion_have_norm_at_most_one():
    # Appendix E.2: a completion exists only if ‖A∘X‖ ≤ 1 for all X
    assert isinstance(complete(np.array([1.0, 0.0])), Completion)
    assert np.linalg.norm(np.eye(2) * (2 * np.eye(2)), 2) == 2


def test_it_is_gamma2_that_forbids_a_completion_not_the_norm():
    # Appendix E.2: ‖M‖ ≥ γ2(M) > 1 'implies'; but ‖M‖ > 1 alone does not
    f = np.array([0.8, 0.8])
    assert np.linalg.norm(brute.matrix(f), 2) > 1.2
    assert brute.gamma2(f)[1] < 1
    assert isinstance(complete(f), Completion)


def test_partial_positivity_asks_for_all_entries_and_the_diagonal_alone_is_weak():
    # Appendix E.2: 'since M[i, i] ≤ 1' P is partially positive; every |M[i, j]| ≤ 1 is needed
    assert Partial(brute.matrix([1.0, 2.0])).block_floor == -1


@pytest.mark.parametrize("entries", [(0.9, -0.9), (1.0, 1.0), (0.3, -1.0)])
def test_matrices_without_completion_are_of_graphs_that_are_not_chordal(entries):
    # Appendix E.2: known constructions without completion 'are of chordal graphs'; those always
    # have one (Grone, Johnson, Sá, Wolkowicz 1984): here a path, filled by the product
    a, b = entries
    path = np.array([[1, a, a * b], [a, 1, b], [a * b, b, 1]])
    assert np.linalg.eigvalsh(path)[0] > -1e-12
    # P(M) of two steps is a cycle of four, the least graph that is not chordal
    values = Partial(brute.matrix([1.0, 0.5])).values
    assert np.sum(~np.isnan(values)) - 4 == 2 * 4  # four edges,
    assert np.all(np.sum(~np.isnan(values), axis=0) == 3)  # each vertex with two
    assert isinstance(complete(np.array([1.0, 0.5])), Witness)
