"""Errata: Toeplitz operators, special functions, streams."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import circulant, toeplitz

from hushfade import NoDecay
from tests.theory import brute
from tests.theory.brute import powers


def corner(a, b, size):
    """The corner of the product of two semi-infinite Toeplitz matrices of symbols {power: weight}.

    The middle index needs to run only as far as the weights reach beyond the corner.
    """
    reach = size + max(abs(k) for k in [*a, *b])
    A = np.array([[a.get(i - k, 0.0) for k in range(reach)] for i in range(size)])
    B = np.array([[b.get(k - j, 0.0) for j in range(size)] for k in range(reach)])
    return A @ B


def test_the_symbol_of_a_product_is_the_product_only_beside_a_triangular_factor():
    # Theorem 11: a(x) b(x) is the symbol of AB and BA, for any two Toeplitz operators
    x, inverse = {1: 1.0}, {-1: 1.0}  # the shift and its transpose; x · x⁻¹ = 1
    down, up = corner(x, inverse, 5), corner(inverse, x, 5)
    assert_allclose(up, np.eye(5))
    assert down[0, 0] == 0 != down[1, 1]  # not even Toeplitz
    # right: AB has the symbol ab if b has no negative powers, or a no positive ones
    a, b = {-1: 2.0, 0: 1.0, 2: 3.0}, {0: 1.0, 1: 0.5}
    product = {-1: 2.0, 0: 2.0, 1: 0.5, 2: 3.0, 3: 1.5}
    expected = toeplitz([product.get(k, 0) for k in range(5)], [2.0, 2.0, 0, 0, 0])
    assert_allclose(corner(a, b, 5), expected)
    assert not np.allclose(corner(b, a, 5), expected)  # and BA has not


@pytest.mark.parametrize("T", [2, 5, 40])
def test_lower_triangular_toeplitz_matrices_commute_at_every_size(T):
    # Appendix D: they 'commute asymptotically'; weak, and false with negative powers
    A, B = brute.matrix(powers(1.0, T)), brute.matrix(2.0 ** -np.arange(T))
    assert_allclose(A @ B, B @ A, rtol=1e-13)
    shift = brute.matrix(np.eye(T)[1])
    difference = shift @ shift.T - shift.T @ shift
    assert_allclose(np.linalg.norm(difference, 2), 1)  # and it stays so as T grows


@pytest.mark.parametrize("T", [2, 5, 40])
def test_a_symbol_without_negative_powers_is_as_defective_as_the_example(T):
    # Appendix D: the example τ + x⁻¹ has no basis of eigenvectors, 'the situation is different'
    # without negative powers; but τ + x is its transpose
    M = brute.matrix(powers(1.0, T))
    assert np.linalg.matrix_rank(M - np.eye(T)) == T - 1  # one eigenvector for T eigenvalues 1


def test_eigenvalues_are_values_of_the_symbol_not_its_coefficients():
    # Appendix D: 'the diagonal entry then corresponds to the coefficients of its symbol'
    coefficients = np.array([1.0, 0.5, 0.25, 0.0, 0.0, 0.0])
    eigenvalues = np.linalg.eigvals(circulant(coefficients))
    on_the_circle = np.polynomial.polynomial.polyval(
        np.exp(2j * np.pi * np.arange(6) / 6), coefficients
    )
    assert_allclose(np.sort_complex(eigenvalues), np.sort_complex(on_the_circle), atol=1e-13)
    assert_allclose(max(abs(eigenvalues)), 1.75)  # g(1), not a coefficient


def test_a_positive_square_root_may_have_negative_entries():
    # Appendix D: positive diagonal entries, so the root has 'only positive entries'
    assert_allclose(brute.root([1.0, 1.0, 0.0]), [1, 1 / 2, -1 / 8])  # a window; all eigenvalues 1
    C = circulant([1.0, 0.4, 0.0, 0.4])  # where the argument does diagonalise
    values, vectors = np.linalg.eigh(C)
    assert values.min() > 0.19
    H = (vectors * np.sqrt(values)) @ vectors.T
    assert_allclose(H @ H, C, atol=1e-14)
    assert H[0, 2] < -0.05


def test_the_operators_of_the_count_and_of_one_over_n_are_unbounded():
    # Appendix D speaks of bounded operators; weak, as powers of x alone need no bound
    for f in (NoDecay().weights(1024), powers(1.0, 1024)):
        norms = [np.linalg.norm(brute.matrix(f[:T]), 2) for T in (4, 32, 256, 1024)]
        assert np.all(np.diff(norms) > 1)
    M = brute.matrix(powers(2.0, 1024))
    assert np.linalg.norm(M, 2) < math.pi**2 / 6  # c = 2 is bounded, by g(1)


def test_the_factorial_of_the_hypergeometric_function_rises_and_is_weak():
    # Appendix A: (a)_n = a(a+1)⋯(a+n-1), called falling, as (m)_n = m(m-1)⋯ is in Section 3.1
    assert mpmath.rf(3, 2) == 12
    assert mpmath.ff(3, 2) == 6
    x, order = mpmath.mpf(1) / 2, range(3)  # to second order; ₂F₁(1, 1; 2; x) = 1 + x/2 + x²/3 + ⋯
    rising, falling = (
        sum(f(1, n) ** 2 / f(2, n) * x**n / mpmath.factorial(n) for n in order)
        for f in (mpmath.rf, mpmath.ff)
    )
    assert_allclose(float(rising), 1 + 1 / 4 + 1 / 12)
    assert float(falling) == 1 + 1 / 4  # (1)_2 = 1 · 0 ends the series
    assert_allclose(float(mpmath.hyp2f1(1, 1, 2, x)), 2 * math.log(2), rtol=1e-14)
