"""Errata: the weights and the norms."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import NoDecay, SlidingWindow, series
from hushfade.theory.bounds import root, two_steps
from tests.theory import brute
from tests.theory.brute import powers


def test_an_operator_norm_is_the_largest_stretch_not_the_least():
    # Section 1.1: ‖A‖_{p→q} = min_{‖x‖_p = 1} ‖A x‖_q
    L, R = np.eye(2), brute.matrix(np.ones(2))
    left = np.max(np.abs(L @ [math.sqrt(0.5), math.sqrt(0.5)]))  # one x with ‖x‖₂ = 1
    right = np.linalg.norm(R @ [0.5, -0.5])  # one x with ‖x‖₁ = 1
    assert left * right < 0.36  # so 'γ2' ≤ 0.36, below the paper's own bound 1
    rows, columns = np.linalg.norm(L, axis=1), np.linalg.norm(R, axis=0)
    assert max(rows) * max(columns) >= brute.gamma2(np.ones(2))[1] > 1


@pytest.mark.parametrize("alpha", [1.1, 2.0])
def test_the_exponential_starts_at_one(alpha):
    # Section 1.1: f(n) = α^-n, with f(1) = 1 and symbol (1 - x/α)^-1
    printed = alpha ** -np.arange(1.0, 9)
    right = alpha ** -np.arange(0.0, 8)
    symbol = series.inverse(np.array([1, -1 / alpha, 0, 0, 0, 0, 0, 0]))
    assert printed[0] != 1
    assert_allclose(right, symbol, rtol=1e-14)
    # the lower bound of Theorem 2 then fails at T = 2, and holds for the right weights
    lower = 2 / math.sqrt(4 - alpha**-2)
    assert brute.gamma2(printed[:2])[1] < 2 / math.sqrt(4 - alpha**-4)
    assert_allclose(brute.gamma2(right[:2]), lower, rtol=1e-6)


def test_the_power_law_starts_at_one():
    # proof of Theorem 6: f(n) = (n + 1)^-c
    printed = powers(1.0, 3)[1:]
    assert printed[0] != 1
    assert brute.gamma2(printed)[1] < 1  # against γ2 > 1
    assert brute.gamma2(powers(1.0, 2))[0] > 1


def test_the_lower_bound_needs_two_steps():
    # Theorem 2: 1 < 2/√(4 - f(2)²) ≤ γ2(M_f), for every T
    printed = 2 / math.sqrt(4 - 1)
    assert brute.gamma2([1.0])[1] == 1 < printed
    assert brute.gamma2([1.0, 1.0])[1] >= printed == two_steps(NoDecay(), 2).value


def test_gamma2_is_above_one_only_for_f2_above_zero():
    # Theorem 2: 1 < γ2(M_f); Theorem 7 has windows, and that of length 1 has f(2) = 0
    identity = SlidingWindow(length=1)
    assert_allclose(brute.gamma2(identity.weights(9)), 1, rtol=1e-14)
    assert two_steps(identity, 9).value == 1


def test_gamma2_is_at_most_the_sum_of_squares_not_equal():
    # proof of Theorem 5: γ2(M_f) = Σ r(i)²
    _, upper = brute.gamma2(np.ones(10))
    assert upper < root(NoDecay(), 10).value - 0.19
