"""Errata: power laws."""

import math

import numpy as np
import pytest

from hushfade import PowerLaw
from lab.paper.theory.bounds import for_ever, frobenius
from lab.paper.theory.families import (
    power_closed,
    power_sum,
)
from tests.loops import for_each
from tests.theory import brute
from tests.theory.brute import powers


def test_the_generalised_harmonic_sum_runs_to_t():
    # Theorem 3: γ2 ≤ 1 + (H - 1)/4 with H = Σ_{n=1}^{T-1} n^-2c
    T, c = 2, 1
    printed = 1 + (sum(n ** (-2 * c) for n in range(1, T)) - 1) / 4
    lower, _ = brute.gamma2(powers(1.0, T))
    assert printed == 1
    assert 1.032 < lower < power_sum(PowerLaw(power=c), T).value


def test_the_sum_of_theorem_19_starts_at_zero():
    # Theorem 19: γ2 ≤ Σ_{n=1}^{T} a_n²
    a = brute.root(powers(1.0, 101))
    lower, _ = brute.gamma2(powers(1.0, 10))
    assert np.sum(a[1:] ** 2) < 0.11  # at T = 100, while γ2 is above 1 from T = 2 on
    assert 1 < lower <= np.sum(a[:10] ** 2)


@pytest.mark.parametrize("T", [1, 2, 3, 100])
def test_the_constant_of_theorem_19_is_five_quarters(T):
    # Theorem 19: 1 + Σ_{n=1}^{T} 1/(4(n + 1)²) ≤ 9/8 - 1/(4(T + 1))
    total = 1 + sum(1 / (4 * (n + 1) ** 2) for n in range(1, T + 1))
    printed = 9 / 8 - 1 / (4 * (T + 1))
    assert total > printed + 0.03
    assert total <= 5 / 4 - 1 / (4 * (T + 1))
    if T == 3:  # the sum breaks it; γ2 itself stays below
        assert brute.gamma2(powers(1.0, T))[1] < printed


def test_the_end_of_theorem_19_holds_though_its_middle_does_not():
    # γ2 ≤ 9/8 - 1/(4(T + 1)): up to 14 steps by computation, then by the limit of γ2, 1.1081
    for T in range(2, 15):
        assert brute.gamma2(powers(1.0, T))[1] < 9 / 8 - 1 / (4 * (T + 1))
    assert for_ever(PowerLaw(power=1)).value < 9 / 8 - 1 / (4 * 15)


def test_theorem_20_at_power_one_contradicts_theorem_19():
    # Appendix B says that Theorem 19 can be derived from Theorem 20, which asks c ≥ 2
    T = 3
    of_theorem_20 = 1 + 1 / 4 - 1 / (4 * (T + 1))
    assert of_theorem_20 == 5 / 4 - 1 / (4 * (T + 1)) > 9 / 8 - 1 / (4 * (T + 1))
    assert power_closed(PowerLaw(power=1), T).value < of_theorem_20


@for_each("c", [1.0, 2.0])
@for_each("T", [1, 2, 10, 1000])
def test_the_closed_form_of_theorem_20_is_weak_by_one_step(c, T):
    # Theorem 20: 1 + (1 - (T + 1)^(1-2c)) / (4(2c - 1)), from a sum to T instead of T - 1
    printed = 1 + (1 - (T + 1) ** (1 - 2 * c)) / (4 * (2 * c - 1))
    right = power_closed(PowerLaw(power=c), T).value
    assert power_sum(PowerLaw(power=c), T).value <= right < printed


def test_the_frobenius_bound_of_theorem_20_sums_once_too_often_and_is_weak():
    # Theorem 20: γ_F ≤ √T (1 + Σ_{n=1}^{T} b), b = 1 + 1/(4(2c-1)) - (T+1)^(1-2c)/(4(2c-1))
    T, c = 10, 2.0
    b = 1 + (1 - (T + 1) ** (1 - 2 * c)) / (4 * (2 * c - 1))
    printed = math.sqrt(T) * (1 + T * b)
    trivial = np.linalg.norm(brute.matrix(powers(c, T)))  # L = M, R = I
    right = frobenius(power_sum(PowerLaw(power=c), T), T).value
    assert right < 1.01 * trivial < printed / 11
