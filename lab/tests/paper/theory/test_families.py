import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.baselines import window_blocks as mechanism
from hushfade.errors import InvalidType, InvalidValue
from lab.paper.theory.bounds import for_ever, half_weights, root
from lab.paper.theory.families import (
    counting_sum,
    exponential_closed,
    exponential_elliptic,
    exponential_logarithm,
    exponential_sum,
    mathias_lower,
    mathias_upper,
    power_closed,
    power_sum,
    power_zeta,
    window_blocks,
)
from tests.loops import for_each
from tests.theory import brute

STEPS = [1, 2, 3, 10, 100, 1000, 30000]
POWERS = [0.1, 0.25, 0.5, 0.500001, 1, 1.5, 2, 3, 5]
ALPHAS = [1.001, 1.01, 1.1, 1.5, 2, 10]
WIDTHS = [1, 2, 3, 16, 100]
SLACK = 1 + 1e-13  # sums of up to 30,000 rounded terms


@for_each("n", STEPS)
@for_each("c", POWERS)
def test_the_power_bounds_stand_in_order(c, n):
    decay = PowerLaw(power=c)
    exact, summed, closed = root(decay, n), power_sum(decay, n), power_closed(decay, n)
    assert exact.value <= summed.value * SLACK
    assert summed.value <= closed.value * SLACK
    if c > 0.5:
        assert summed.value <= power_zeta(decay).value * SLACK


@for_each("n", STEPS)
@for_each("c", POWERS)
def test_the_power_sum_is_half_weights(c, n):
    decay = PowerLaw(power=c)
    assert_allclose(power_sum(decay, n).value, half_weights(decay, n).value, rtol=1e-13)


@for_each("n", STEPS)
@for_each("c", [0.1, 0.25, 1, 1.5, 3])
def test_the_closed_power_is_the_fraction_of_the_paper_with_t(c, n):
    expected = 1 + (1 - n ** (1 - 2 * c)) / (4 * (2 * c - 1))
    assert_allclose(power_closed(PowerLaw(power=c), n).value, expected, rtol=1e-13)


@for_each("n", STEPS)
def test_the_closed_power_is_a_logarithm_at_one_half(n):
    assert_allclose(power_closed(PowerLaw(power=0.5), n).value, 1 + math.log(n) / 4, rtol=1e-15)


@pytest.mark.parametrize("c", [1, 1.5, 2, 3, 5])
def test_the_power_sum_tends_to_the_zeta_form(c):
    limit = 1 + (float(mpmath.zeta(2 * c)) - 1) / 4
    assert_allclose(power_zeta(PowerLaw(power=c)).value, limit, rtol=1e-14)
    # the rest of the sum is below ∫_n^∞ x^-2c dx / 4
    n = 1000
    rest = n ** (1 - 2 * c) / (4 * (2 * c - 1))
    assert -1e-14 <= limit - power_sum(PowerLaw(power=c), n).value <= rest + 1e-14


@for_each("n", STEPS)
@for_each("alpha", ALPHAS)
def test_the_exponential_bounds_stand_in_order(alpha, n):
    decay = Exponential.from_alpha(alpha)
    exact, summed = root(decay, n), exponential_sum(decay, n)
    assert exact.value <= summed.value * SLACK
    assert summed.value <= exponential_closed(decay, n).value * SLACK
    assert summed.value <= exponential_logarithm(decay).value * SLACK
    assert exact.value <= exponential_elliptic(decay).value * SLACK
    assert exponential_elliptic(decay).value <= exponential_logarithm(decay).value


@for_each("alpha", ALPHAS)
def test_the_logarithm_is_far_below_the_papers_closed_form(alpha):
    decay = Exponential.from_alpha(alpha)
    assert exponential_logarithm(decay).value < exponential_closed(decay, 1 << 20).value


@for_each("alpha", ALPHAS)
def test_the_elliptic_integral_is_the_limit_of_the_root(alpha):
    decay = Exponential.from_alpha(alpha)
    with mpmath.workdps(30):
        modulus = 1 / mpmath.mpf(2) ** (1 / mpmath.mpf(decay.half_life))
        expected = float(2 / mpmath.pi * mpmath.ellipk(modulus**2))
    assert_allclose(exponential_elliptic(decay).value, expected, rtol=1e-14)
    assert_allclose(for_ever(decay).value, expected, rtol=1e-11)
    assert_allclose(root(decay, 30000).value, expected, rtol=1e-11)


@for_each("n", [1, 2, 3, 10, 100, 5000])
@for_each("alpha", ALPHAS)
def test_the_closed_exponential_is_the_formula_of_claim_14(alpha, n):
    with mpmath.workdps(40):
        y = mpmath.mpf(2) ** (2 / mpmath.mpf(Exponential.from_alpha(alpha).half_life))
        expected = 1 + (y / (y - 1) ** 2 - y / (n * (y - 1) * y**n)) / mpmath.pi
    value = exponential_closed(Exponential.from_alpha(alpha), n).value
    assert_allclose(value, float(expected), rtol=1e-13)


@for_each("n", STEPS)
def test_a_slow_exponential_has_the_bound_of_the_count(n):
    slow = exponential_sum(Exponential(half_life=1e12), n).value
    assert_allclose(slow, counting_sum(n).value, rtol=1e-7)
    assert root(NoDecay(), n).value <= counting_sum(n).value * SLACK


@for_each("n", [*range(1, 13), 24, 48])
def test_mathias_brackets_gamma2_of_the_count(n):
    lower, upper = brute.gamma2(np.ones(n))
    assert mathias_lower(n).value <= upper
    assert lower <= mathias_upper(n).value * SLACK


@pytest.mark.parametrize("n", [100, 1000, 30000, 1 << 20])
def test_mathias_brackets_the_mean_singular_value_and_the_root(n):
    # singular values of the count: 1/(2 sin((2j-1)π/(4T+2))); their mean is below γ2
    angles = np.arange(1, 2 * n, 2) * (np.pi / (4 * n + 2))
    mean = np.mean(0.5 / np.sin(angles))
    assert mean < mathias_upper(n).value < counting_sum(n).value
    assert mathias_lower(n).value < mean


def test_known_bounds_of_the_count():
    assert f"{mathias_upper(1024).value:.4f}" == "3.1876"
    assert f"{mathias_upper(65536).value:.4f}" == "4.5114"
    assert f"{mathias_upper(1 << 20).value:.4f}" == "5.3940"
    assert mathias_lower(1024).value < 2.96147 < mathias_upper(1024).value  # γ2 at 1024


@pytest.mark.parametrize("w", [1, 2, 3, 5, 16])
def test_the_blocks_are_a_factorization_of_the_window_with_that_factor(w):
    # noise of the block itself, and of the block before: ℓ_j and ℓ_w - ℓ_j
    for n in [1, w - 1, w, w + 1, w + 2, 2 * w - 1, 2 * w, 3 * w + 1]:
        if n < 1:
            continue
        L1 = brute.matrix(brute.root(np.ones(w)))
        L, R = np.zeros((n, n + w)), np.zeros((n + w, n))
        for t in range(n):
            block, j = divmod(t, w)
            L[t, block * w : block * w + w] = L1[j]
            R[block * w : block * w + w, t] = L1[:, j]
            if block:
                L[t, (block - 1) * w : block * w] = L1[-1] - L1[j]
        R[n:] = 0.0  # these rows lie beyond the horizon
        assert_allclose(L @ R, brute.matrix(SlidingWindow(length=w).weights(n)), atol=1e-13)
        factor = np.max(np.linalg.norm(L[:, :n], axis=1)) * np.max(np.linalg.norm(R, axis=0))
        assert_allclose(window_blocks(SlidingWindow(length=w), n).value, factor, rtol=1e-13)


@for_each("n", [1, 2, 3, 10, 100, 1000])
@for_each("w", WIDTHS)
def test_blocks_are_never_better_than_the_plain_square_root(w, n):
    decay = SlidingWindow(length=w)
    assert window_blocks(decay, n).value >= root(decay, n).value / SLACK


@pytest.mark.parametrize("w", WIDTHS)
def test_within_the_first_block_a_window_is_a_count(w):
    decay = SlidingWindow(length=w)
    assert_allclose(window_blocks(decay, w).value, root(NoDecay(), w).value, rtol=1e-14)


@pytest.mark.parametrize(("w", "printed"), [(16, "2.891"), (256, "4.439"), (4096, "5.974")])
def test_known_blocks_and_what_the_square_root_saves(w, printed):
    blocks = window_blocks(SlidingWindow(length=w), 3 * w).value
    assert f"{blocks:.3f}" == printed
    assert 0.26 < 1 - for_ever(SlidingWindow(length=w)).value / blocks < 0.28


def test_a_million_steps():
    n = 1 << 20
    assert_allclose(power_sum(PowerLaw(power=1), n).value, 1 + (np.pi**2 / 6 - 1) / 4, atol=1e-6)
    assert_allclose(exponential_sum(Exponential.from_alpha(1.01), n).value, 2.24998, atol=5e-6)
    harmonic = float(mpmath.harmonic(n - 1))
    assert_allclose(counting_sum(n).value, 1 + harmonic / np.pi, rtol=1e-13)
    assert 4.4 < window_blocks(SlidingWindow(length=256), n).value < 4.5


@pytest.mark.parametrize("half_life", [1e-3, 1e200])
def test_extreme_half_lives_have_bounds(half_life):
    decay = Exponential(half_life=half_life)
    found = [exponential_sum(decay, 9), exponential_closed(decay, 9)]
    found += [exponential_logarithm(decay), exponential_elliptic(decay)]
    assert all(bound.value >= 1 for bound in found)


@pytest.mark.parametrize("c", [0.1, 0.5])
def test_the_zeta_form_needs_a_sum_that_converges(c):
    with pytest.raises(InvalidValue, match=rf"power must be > 0.5 for the zeta form, got {c}"):
        power_zeta(PowerLaw(power=c))


@for_each(
    ("law", "kind"),
    [
        (lambda decay: power_sum(decay, 5), "PowerLaw"),
        (power_zeta, "PowerLaw"),
        (lambda decay: power_closed(decay, 5), "PowerLaw"),
        (lambda decay: exponential_sum(decay, 5), "Exponential"),
        (lambda decay: exponential_closed(decay, 5), "Exponential"),
        (exponential_logarithm, "Exponential"),
        (exponential_elliptic, "Exponential"),
        (lambda decay: window_blocks(decay, 5), "SlidingWindow"),
    ],
)
def test_a_bound_of_one_family_refuses_the_others(law, kind):
    with pytest.raises(InvalidType, match=f"decay must be an? {kind}, got NoDecay"):
        law(NoDecay())


@pytest.mark.parametrize("law", [counting_sum, mathias_lower, mathias_upper])
def test_no_steps_are_refused(law):
    with pytest.raises(InvalidValue, match="n must be an integer >= 1, got 0"):
        law(0)


def test_the_bound_for_windows_is_the_error_factor_of_the_mechanism():
    for w in (1, 2, 3, 16, 64):
        for n in (1, 2, 5, 63, 200):
            decay = SlidingWindow(length=w)
            found = mechanism.window_blocks(decay, n).error_factor
            assert_allclose(found, window_blocks(decay, n).value, rtol=1e-13)
