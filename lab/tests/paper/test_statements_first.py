"""Statements of the paper's first sections that no other test checks as they stand."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import bolot_exponential
from hushfade.baselines.square_roots import square_root
from hushfade.factors import factorization, power_series
from lab.paper.theory.bell_polynomials import partial
from tests.loops import for_each
from tests.theory import brute

DECAYS = [NoDecay(), Exponential.from_alpha(1.1), PowerLaw(power=1), SlidingWindow(length=3)]


@for_each(("one", "two"), list(itertools.product(DECAYS, DECAYS)))
@for_each("n", [1, 2, 20])
def test_the_symbol_of_a_product_is_the_product_of_the_symbols(one, two, n):
    """Theorem 11, for lower triangular operators; every n × n corner is exact."""
    f, g = one.weights(n), two.weights(n)
    A, B = brute.matrix(f), brute.matrix(g)
    product = brute.matrix(power_series.multiply(f, g))
    assert_allclose(A @ B, product, rtol=1e-12, atol=1e-12)
    assert_allclose(B @ A, product, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("decay", DECAYS, ids=repr)
def test_algorithm_1_as_printed_has_our_mean_and_our_covariance(decay):
    """Row t of L times L x', plus z_t of N(0, σ² L Lᵀ): the same law as L(L x + z)."""
    n = 12
    guarantee = Guarantee(epsilon=0.5, delta=1e-6)
    L = brute.matrix(brute.root(decay.weights(n)))
    x = np.random.default_rng(1).uniform(-1, 1, n)
    printed = []
    for t in range(n):
        seen = np.where(np.arange(n) <= t, x, 0)  # only the steps so far
        printed.append(L[t] @ (L @ seen))
    assert_allclose(printed, brute.matrix(decay.weights(n)) @ x, atol=1e-12)
    sigma = guarantee.noise_multiplier * np.linalg.norm(L[:, 0])
    ours = square_root(decay, n).stddevs(guarantee)
    assert_allclose(np.sqrt(np.diag(sigma**2 * L @ L.T)), ours, rtol=1e-12)
    left, right = factorization.square_root(decay).matrices(n)
    assert_allclose([left, right], [L, L], atol=1e-12)


@for_each("n", range(1, 9))
def test_the_recurrence_in_the_proof_of_theorem_13(n):
    """B_{n,k} = (1/k) Σ_{l=k-1}^{n-1} C(n, l) y_{n-l} B_{l,k-1}, for 1 ≤ k ≤ n, exactly."""
    y = [3, -1, 4, 1, -5, 9, 2, 6][:n]
    B = partial(y)
    for k in range(1, n + 1):
        terms = [math.comb(n, i) * y[n - i - 1] * B[i][k - 1] for i in range(k - 1, n)]
        assert sum(terms) == k * B[n][k]


def test_the_exponents_of_bell_are_not_negative():
    """A slip: the sum is over all integral j with Σ j_i = k, Σ i j_i = n; here n = 3, k = 1."""
    found = [
        j
        for j in itertools.product(range(-9, 10), repeat=3)
        if sum(j) == 1 and j[0] + 2 * j[1] + 3 * j[2] == 3
    ]
    assert (-1, 2, 0) in found  # a term with 1/(-1)! and s_1^-1
    assert len(found) == 9  # and more outside of ±9
    assert [j for j in found if min(j) >= 0] == [(0, 0, 1)]  # B_{3,1} = s_3
    assert partial([2, 3, 7])[3][1] == 7


def test_faa_di_bruno_of_order_zero_needs_the_term_of_k_zero():
    """A slip of Theorem 8: n in N, 0 among them (N₊ is another set), with a sum from k = 1."""
    value = math.exp(math.sin(0.3))
    outer, triangle = [value] * 4, partial([math.cos(0.3), -math.sin(0.3), -math.cos(0.3)])

    def derivative(n, first):
        return sum(outer[k] * triangle[n][k] for k in range(first, n + 1))

    assert derivative(0, first=1) == 0 != value == derivative(0, first=0)
    for n in (1, 2, 3):  # from n = 1 on B_{n,0} = 0, and the term changes nothing
        assert derivative(n, first=1) == derivative(n, first=0)


@pytest.mark.parametrize("n", [4, 64, 1024])
def test_the_square_root_beats_the_trees_of_exponentials_and_counts(n):
    """Section 1.2, (B.2) and (C): largest and mean square error, with Gaussian noise for both."""
    cases = [
        (Exponential.from_alpha(alpha), bolot_exponential) for alpha in (1.001, 1.01, 1.1, 1.49)
    ]
    for decay, tree in [*cases, (NoDecay(), binary_tree)]:
        rival, ours = tree(decay, n), square_root(decay, n)
        assert ours.error_factor < rival.error_factor
        squares = [np.mean(m.errors**2) * m.sensitivity**2 for m in (ours, rival)]
        assert squares[0] < squares[1]
