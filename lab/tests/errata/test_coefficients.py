"""Errata: the coefficients."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import PowerLaw
from hushfade.factors import power_series
from lab.paper.theory.families import (
    power_sum,
)
from tests.theory import brute
from tests.theory.brute import powers


@pytest.mark.parametrize(("c", "squared", "gap"), [(1, 5.96e-8, 1.597e-4), (2, 1.42e-14, 2.640e-8)])
def test_the_printed_gaps_are_squared_weights(c, squared, gap):
    # Appendix F: the gap f(n + 1)/2 - a_n at n = 2048 is 5.96e-8 (c = 1), 1.42e-14 (c = 2)
    f = powers(float(c), 2049)
    a = power_series.square_root(f)
    assert_allclose(f[2047] ** 2 / 4, squared, rtol=1e-3)
    assert f[2047] ** 2 / 4 == 2.0 ** (-2 - 22 * c)  # 2^-24 and 2^-46, all digits printed
    true_gap = f[2048] / 2 - a[2048]
    assert true_gap > 2000 * squared
    assert_allclose(true_gap, gap, rtol=5e-4)


def test_the_coefficient_bound_lacks_its_power_and_is_weak():
    # Theorem 20: a_n ≤ 1/(2(n + 1)); true for c ≥ 1, but it gives no more than c = 1 does
    c, T = 2.0, 50
    a = brute.root(powers(c, T))[1:]
    n = np.arange(1, T)
    assert np.all(a <= 1 / (2 * (n + 1)))
    assert np.all(a <= 1 / (2 * (n + 1.0) ** c))
    from_printed = 1 + np.sum(1 / (4 * (n + 1.0) ** 2))
    right = power_sum(PowerLaw(power=c), T).value
    assert (round(from_printed, 3), round(right, 3)) == (1.156, 1.021)
    slow = brute.root(powers(0.5, 3))  # below c = 1 it would be false
    assert slow[1] > 1 / 4


def test_the_hypergeometric_argument_is_plus_x():
    # proof of Theorem 19: Li_1(x)/x = ₂F₁(1, 1; 2; -x) = -ln(1 - x)/x
    x = 0.5
    symbol = -math.log(1 - x) / x
    assert abs(float(mpmath.hyp2f1(1, 1, 2, -x)) - symbol) > 0.5
    assert_allclose(float(mpmath.hyp2f1(1, 1, 2, x)), symbol, rtol=1e-14)


def test_the_derivatives_of_the_printed_hypergeometric_function_alternate():
    # proof of Theorem 19: the n-th derivative of ₂F₁(1, 1; 2; -x) at 0 is n!/(n + 1)
    def derivative(sign, n):
        return float(mpmath.diff(lambda x: mpmath.hyp2f1(1, 1, 2, sign * x), 0, n))

    for n in (1, 2, 3):
        right = math.factorial(n) / (n + 1)
        assert_allclose(derivative(-1, n), (-1) ** n * right, rtol=1e-8)
        assert_allclose(derivative(1, n), right, rtol=1e-8)
