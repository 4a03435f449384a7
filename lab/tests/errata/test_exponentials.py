"""Errata: exponentials."""

import math

import mpmath
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay
from lab.paper.theory.bounds import half_weights, root
from lab.paper.theory.families import (
    counting_sum,
    exponential_closed,
    exponential_sum,
)


def test_the_closed_form_of_the_exponential_sum_is_weak():
    # Claim 14: S ≤ α²/(α² - 1)² - α²/(T(α² - 1)α^2T)
    decay = Exponential.from_alpha(1.01)
    printed, exact = exponential_closed(decay, 1 << 16).value, exponential_sum(decay, 1 << 16).value
    assert (f"{printed:.1f}", f"{exact:.3f}") == ("804.7", "2.250")
    elliptic = float(2 / mpmath.pi * mpmath.ellipk(mpmath.mpf(1.01) ** -2))
    assert_allclose(root(decay, 1 << 16).value, elliptic, rtol=1e-10)
    assert elliptic < exact


@pytest.mark.parametrize("T", [2, 3, 10])
def test_the_proof_of_the_closed_form_has_a_false_equation(T):
    # proof of Claim 14: S (1 - α^-2) = α^-2 (1 + α^-2 + ⋯ + α^-2(T-2)) - α²/(T α^2T)
    q = 1 / 4  # α = 2
    left = sum(q**n / n for n in range(1, T)) * (1 - q)
    printed = q * sum(q**n for n in range(T - 1)) - q ** (T - 1) / T
    right = q - sum(q**n / (n * (n - 1)) for n in range(2, T)) - q**T / (T - 1)
    assert abs(left - printed) > 0.02
    assert_allclose(left, right, rtol=1e-14)


@pytest.mark.parametrize(("alpha", "T", "tighter"), [(1.01, 2, 0), (2, 1000, 0), (1.5, 1000, 1)])
def test_the_exponential_sum_is_tighter_for_slow_decays_only(alpha, T, tighter):
    # after Theorem 3: 'one can get a tighter bound' for f(n) = α^-n; but 1/π > 1/4 at n = 1
    decay = Exponential.from_alpha(alpha)
    by_weights, by_sum = half_weights(decay, T).value, exponential_sum(decay, T).value
    assert (by_sum < by_weights) == bool(tighter)
    # below both; at T = 2 it equals the first, a sum of two terms, in exact arithmetic
    assert root(decay, T).value <= min(by_weights, by_sum) * (1 + 1e-14)


def test_the_two_bounds_on_exponentials_cross_at_alpha_1_64():
    # q/(4(1 - q)) = ln(1/(1 - q))/π, q = α^-2, for many steps
    for alpha, tighter in [(1.63, True), (1.65, False)]:
        decay = Exponential.from_alpha(alpha)
        assert (exponential_sum(decay, 999).value < half_weights(decay, 999).value) == tighter


@pytest.mark.parametrize(("T", "more"), [(32, 0.116), (4096, 0.183)])
def test_the_bound_for_the_count_is_not_the_one_it_recovers_exactly_and_is_weak(T, more):
    # abstract, Section 1.2 (C): recovers 'exactly' the results for the count, which Section 3.6
    # quotes as 1 + ln(w)/π + 2/w; Theorem 4 at α = 1 is 1 + H_{T-1}/π.  The mechanism is the same
    quoted = 1 + math.log(T) / math.pi + 2 / T
    assert_allclose(counting_sum(T).value - quoted, more, atol=5e-4)
    assert root(NoDecay(), T).value <= counting_sum(T).value
