"""Errata: the largest error."""

import math

import pytest
from scipy.integrate import quad
from scipy.special import erf

from hushfade.theory.accuracy import expected_maximum


@pytest.mark.parametrize("T", [1, 2, 16, 1024])
def test_the_expected_maximum_exceeds_root_log_t(T):
    # Theorem 5: E‖error‖∞ ≤ σ Δ γ2 √(log T); here for f = (1, 0, ...), γ2 = 1, L = R = I
    edge = math.sqrt(2 * math.log(2 * T))
    exact = quad(lambda x: 1 - erf(x / math.sqrt(2)) ** T, 0, edge + 9, points=[edge])[0]
    assert exact > math.sqrt(math.log2(T)) >= math.sqrt(math.log(T))  # whatever 'log' is
    assert exact < expected_maximum(1.0, T, noise_multiplier=1, change=1).value
    if T == 1024:
        assert (f"{exact:.3f}", f"{math.sqrt(math.log(T)):.3f}") == ("3.442", "2.633")


@pytest.mark.parametrize("T", [2, 16, 1024])
def test_with_probability_two_thirds_the_maximum_needs_a_factor_too(T):
    # Theorem 15: |error| ≤ σ ‖L‖ ‖R‖ √(log T) at all steps, with probability ≥ 2/3
    printed, right = math.sqrt(math.log(T)), math.sqrt(2 * math.log(3 * T))
    assert erf(printed / math.sqrt(2)) ** T < 0.36 < 2 / 3
    assert erf(right / math.sqrt(2)) ** T > 2 / 3
    if T == 2:  # even the last step of a count alone misses it
        assert erf(printed / math.sqrt(2)) < 0.6
