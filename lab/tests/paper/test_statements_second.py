"""Statements of the paper that no other file tests, from Lemma 16 on; and two that go beyond it.

Letters: T steps, f_k weights, a_n the coefficients of √g, M the matrix of f.
"""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.privacy.guarantee import delta_of
from hushfade.theory import optimum
from lab.paper.theory.bell_polynomials import root_coefficients
from tests.loops import for_each
from tests.theory import brute
from tests.theory.brute import powers

# 1e-9 is what the brute-force bracket of γ2 leaves open
OPEN = 1e-8


@for_each("seed", range(20))
def test_the_square_root_beats_noise_on_the_output_for_every_decay_that_does_not_rise(seed):
    # Lemma 16, extended.  g_T = Σ_{k<T} f_k x^k has no zero in the disk (Eneström and Kakeya), so
    # Σ_{n<T} a_n² ≤ mean of |g_T| on the circle ≤ root of the mean of |g_T|² = √(Σ f_k²)
    generator = np.random.default_rng(seed)
    f = np.sort(generator.random(int(generator.integers(2, 40))) ** (seed % 5 + 0.2))[::-1]
    f = f / f[0]
    a = brute.root(f)
    circle = np.mean(np.abs(np.fft.fft(f, 1 << 14)))  # a mean over so many points errs by 1e-5
    assert np.sum(a**2) < circle * (1 + 1e-4)
    assert circle < np.linalg.norm(f)


@for_each("seed", range(10))
def test_the_root_is_analytic_in_the_whole_disk_for_weights_that_do_not_rise(seed):
    # Lemma 24 and Claim 25, extended: |(1 - x) g| ≥ 1 - Σ (f_{k-1} - f_k)|x|^k > 0 for |x| < 1
    f = np.sort(np.random.default_rng(seed).random(12))[::-1]
    assert np.all(np.abs(np.roots(f[::-1])) >= 1 - 1e-12)


@for_each("epsilon", [1e-3, 0.1, 0.5, 0.9, 0.9999])
@for_each("delta", [1e-12, 1e-6, 0.1, 0.5, 0.9, 0.9999])
def test_the_gaussian_mechanism_is_private_for_all_epsilon_and_delta_below_one(epsilon, delta):
    # Theorem 18, with the noise of Definition 17 and with √2 less
    sigma = 2 * math.sqrt(math.log(1.25 / delta)) / epsilon
    assert delta_of(1 / sigma, epsilon) <= delta
    assert delta_of(math.sqrt(2) / sigma, epsilon) <= delta


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_coefficients_of_power_laws_are_those_of_bell_in_mpmath(c):
    # Theorems 19 and 20, equation (16): the same from the derivatives of √(Li_c(x)/x)
    exact = root_coefficients([Fraction(1, (k + 1) ** c) for k in range(6)])
    with mpmath.workdps(40):
        taylor = mpmath.taylor(lambda x: mpmath.sqrt(ratio(c, x)), 0, 5)
    assert_allclose([float(a) for a in exact], [float(a) for a in taylor], rtol=1e-10)


def ratio(c, x):
    """Li_c(x)/x, with its value 1 at 0."""
    return mpmath.polylog(c, x) / x if x else mpmath.mpf(1)


@for_each("seed", range(8))
def test_the_norm_of_a_schur_product_is_at_most_the_product_of_norms(seed):
    # Theorem 27, complex and not square
    generator = np.random.default_rng(seed)
    A, B = generator.normal(size=(2, 5, 3)) + 1j * generator.normal(size=(2, 5, 3))
    assert np.linalg.norm(A * B, 2) < np.linalg.norm(A, 2) * np.linalg.norm(B, 2)


@pytest.mark.parametrize("f", [np.ones(9), powers(1.0, 9), np.array([1.0, 1.0, 0, 0, 0])])
def test_gamma2_is_at_most_the_spectral_norm(f):
    # Appendix E: what Theorem 27 is for; for the count of two steps γ2 = 1.15, the norm 1.62
    assert brute.gamma2(f)[0] < np.linalg.norm(brute.matrix(f), 2)


@pytest.mark.parametrize("f", [np.ones(9), powers(1.0, 9), np.array([1.0, 1.0, 0, 0, 0])])
def test_gamma2_is_the_most_that_schur_products_stretch_the_trace_norm(f):
    # Lemma 26: P = √p √qᵀ, of rank one, reaches it; nothing passes it
    lower, upper = brute.gamma2(f)
    M, best = brute.matrix(f), optimum.solve(f, gap=1e-8)
    P = np.outer(np.sqrt(best.row_weights), np.sqrt(best.column_weights))
    assert_allclose(np.linalg.norm(P, "nuc"), 1, rtol=1e-9)
    assert_allclose(np.linalg.norm(M * P, "nuc"), lower, rtol=1e-6)
    generator = np.random.default_rng(0)
    for _ in range(50):
        X = generator.normal(size=M.shape) + 1j * generator.normal(size=M.shape)
        assert np.linalg.norm(M * X, "nuc") <= upper * np.linalg.norm(X, "nuc")
        assert np.linalg.norm(M * X, 2) <= upper * np.linalg.norm(X, 2)  # Theorem 21


@pytest.mark.parametrize("f", [np.ones(12), powers(1.0, 12), np.array([1.0, 0.2, 0.2, 0, 0, 0])])
def test_gamma2_never_falls_with_the_steps(f):
    # Claim 23: a pair for T + 1 steps, with a row and a column left out, is one for T
    brackets = [brute.gamma2(f[:T]) for T in range(1, len(f) + 1)]
    for (_, upper), (lower, _) in pairwise(brackets):
        assert upper - OPEN <= lower


def test_theorem_3_needs_class_f():
    # the window of two steps never rises, is not in F, and passes the bound 5/4
    f = np.array([1.0, 1.0, 0, 0, 0, 0, 0, 0])
    assert brute.root(f)[2] == -1 / 8
    assert brute.gamma2(f)[0] > 1.26 > 1 + np.sum(f[1:] ** 2) / 4


def test_the_polylogarithm_and_the_hypergeometric_function_have_the_derivatives_of_appendix_a():
    x = mpmath.mpf("0.3")
    for c in (1, 2, 3):
        slope = mpmath.diff(lambda y, c=c: mpmath.polylog(c + 1, y), x)
        assert_allclose(float(x * slope), float(mpmath.polylog(c, x)), rtol=1e-10)
    a, b, c, n = 1.5, 2.0, 3.5, 2
    factor = mpmath.rf(a, n) * mpmath.rf(b, n) / mpmath.rf(c, n)
    assert_allclose(
        float(mpmath.diff(lambda y: mpmath.hyp2f1(a, b, c, y), x, n)),
        float(factor * mpmath.hyp2f1(a + n, b + n, c + n, x)),
        rtol=1e-9,
    )
