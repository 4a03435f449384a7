import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import CustomDecay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import Diverges, InvalidType, InvalidValue
from hushfade.theory.bound_values import Bound
from lab.paper.theory.bounds import (
    bounds,
    for_ever,
    frobenius,
    half_weights,
    largest_weight,
    output_noise,
    root,
    two_steps,
)
from tests.decays import ALL_DECAYS, LOG_CONVEX, OTHERS
from tests.loops import for_each
from tests.theory import brute

GRID = [
    NoDecay(),
    *[PowerLaw(power=c) for c in [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5]],
    *[Exponential.from_alpha(alpha) for alpha in [1.001, 1.01, 1.1, 1.5, 2, 10]],
    *[SlidingWindow(length=w) for w in [1, 2, 3, 16, 100]],
]
DECAYS = list(dict.fromkeys(GRID + ALL_DECAYS))
ROUNDING = 1e-9  # the brute force stops at a gap of 1e-9


@for_each("n", [1, 2, 3, 10, 18])
@for_each("decay", DECAYS)
def test_every_bound_is_on_its_side_of_gamma2(decay, n):
    lower, upper = brute.gamma2(decay.weights(n))
    for bound in bounds(decay, n):
        if bound.side == "lower":
            assert bound.value <= upper + ROUNDING, bound
        else:
            assert bound.value >= lower - ROUNDING, bound


@for_each("n", [40, 160])
@for_each("decay", GRID)
def test_every_upper_bound_is_above_the_mean_singular_value(decay, n):
    # uniform weights in the dual: γ2 ≥ ‖M‖_* / T
    mean = np.mean(np.linalg.svd(brute.matrix(decay.weights(n)), compute_uv=False))
    assert all(b.value >= mean for b in bounds(decay, n) if b.side == "upper")


@for_each("n", [1, 2, 3, 10, 100, 1000, 20000])
@for_each("decay", DECAYS)
def test_no_lower_bound_is_above_an_upper_one(decay, n):
    listed = bounds(decay, n)
    highest = max(bound.value for bound in listed if bound.side == "lower")
    lowest = min(bound.value for bound in listed if bound.side == "upper")
    assert highest <= lowest * (1 + 1e-12)


@for_each("decay", DECAYS)
def test_the_list_has_lower_bounds_first_then_goes_by_value(decay):
    listed = bounds(decay, 50)
    assert all(bound.quantity == "gamma2" for bound in listed)
    assert [(b.side, b.value) for b in listed] == sorted((b.side, b.value) for b in listed)
    assert len({(bound.side, bound.name) for bound in listed}) == len(listed)


@for_each("n", [1, 2, 7, 60])
@for_each("decay", ALL_DECAYS)
def test_root_is_the_factor_of_the_matrix_square_root(decay, n):
    f = decay.weights(n)
    H = brute.matrix(brute.root(f))
    assert_allclose(H @ H, brute.matrix(f), atol=1e-11)
    longest = np.max(np.linalg.norm(H, axis=1)) * np.max(np.linalg.norm(H, axis=0))
    assert_allclose(root(decay, n).value, longest, rtol=1e-12)


@for_each("n", [2, 3, 10, 100, 1000])
@for_each("decay", LOG_CONVEX)
def test_half_weights_are_above_the_root(decay, n):
    assert half_weights(decay, n).value >= root(decay, n).value * (1 - 1e-14)


@for_each("decay", [d for d in DECAYS if d.horizon_free])
def test_the_root_rises_to_the_limit_and_never_passes_it(decay):
    limit = for_ever(decay).value
    values = [root(decay, n).value for n in [1, 2, 3, 10, 100, 1000, 10000]]
    assert values == sorted(values)
    assert values[-1] <= limit * (1 + 1e-13)


@pytest.mark.parametrize(
    "decay",
    [Exponential.from_alpha(1.1), PowerLaw(power=1), SlidingWindow(length=16)],
    ids=repr,
)
def test_gamma2_itself_tends_to_the_limit_from_below(decay):
    # by Bennett's theorem; at 48 steps the rest is of order 1/T for the slowest of these
    limit = for_ever(decay).value
    early, late = brute.gamma2(decay.weights(24)), brute.gamma2(decay.weights(48))
    assert early[1] < late[0] + ROUNDING < limit + 2 * ROUNDING
    assert limit - late[0] < 0.8 * (limit - early[0])


@for_each("f0", [0.5, 1.0, 3.0])
@for_each("ratio", [-3, -1.2, -0.5, 0, 0.3, 1, 1.4, 1.5, 1.9, 4])
def test_two_steps_is_exactly_gamma2_of_two_steps(f0, ratio):
    f = np.array([f0, f0 * ratio])
    lower, upper = brute.gamma2(f)
    assert upper - lower < 1e-5  # the fixed point is slow near ratio = √2
    assert lower - ROUNDING <= two_steps(CustomDecay(f), 2).value <= upper + ROUNDING


@for_each("n", [2, 10, 200])
@for_each("decay", GRID)
def test_bounds_scale_with_the_weights(decay, n):
    for law in [largest_weight, two_steps, root, output_noise]:
        assert_allclose(law(3 * decay, n).value, 3 * law(decay, n).value, rtol=1e-13)
    if decay in LOG_CONVEX:
        scaled = half_weights(3 * decay, n).value
        assert_allclose(scaled, 3 * half_weights(decay, n).value, rtol=1e-13)


@for_each("n", [1, 5, 40])
@for_each("decay", ALL_DECAYS)
def test_noise_on_the_output_or_the_input_has_one_factor(decay, n):
    M = brute.matrix(decay.weights(n))
    expected = output_noise(decay, n).value
    assert_allclose(np.max(np.linalg.norm(M, axis=0)), expected, rtol=1e-14)
    assert_allclose(np.max(np.linalg.norm(M, axis=1)), expected, rtol=1e-14)


@for_each("n", [1, 2, 10, 60])
@for_each("decay", ALL_DECAYS)
def test_gamma_f_lies_between_its_dual_and_root_t_times_gamma2(decay, n):
    f = decay.weights(n)
    H = brute.matrix(brute.root(f))
    attained = np.linalg.norm(H) * np.max(np.linalg.norm(H, axis=0))
    dual = np.sum(np.linalg.svd(brute.matrix(f), compute_uv=False)) / np.sqrt(n)
    bound = frobenius(root(decay, n), n)
    assert bound.quantity == "gamma_f"
    assert bound.side == "upper"
    assert dual * (1 - 1e-12) <= attained <= bound.value * (1 + 1e-12)


ROOTS = {
    (NoDecay(), 1024): "3.2726",
    (NoDecay(), 4096): "3.7139",
    (NoDecay(), 1 << 20): "5.4790",
    (Exponential.from_alpha(1.01), 1024): "2.1400",
    (Exponential.from_alpha(1.1), 1024): "1.4782",
    (Exponential.from_alpha(2), 1024): "1.0732",
    (PowerLaw(power=0.5), 1024): "1.3544",
    (PowerLaw(power=0.5), 4096): "1.3587",
    (PowerLaw(power=1), 1024): "1.1081",
    (PowerLaw(power=2), 1024): "1.0191",
    (SlidingWindow(length=16), 1024): "2.1132",
    (SlidingWindow(length=256), 1024): "3.2304",
    (SlidingWindow(length=256), 4096): "3.2365",
}


@for_each(("decay", "n"), ROOTS)
def test_known_roots(decay, n):
    assert f"{root(decay, n).value:.4f}" == ROOTS[decay, n]


def test_the_count_has_squared_central_binomials():
    ratio = 1 - 0.5 / np.arange(1, 5000)  # C(2k,k)/4^k by its quotients
    expected = 1 + np.sum(np.cumprod(ratio) ** 2)
    assert_allclose(root(NoDecay(), 5000).value, expected, rtol=1e-12)


NOISES = {
    NoDecay(): "32.000",
    Exponential.from_alpha(1.01): "7.124",
    Exponential.from_alpha(1.1): "2.400",
    Exponential.from_alpha(2): "1.155",
    PowerLaw(power=0.5): "2.740",
    PowerLaw(power=1): "1.282",
    PowerLaw(power=2): "1.040",
    SlidingWindow(length=16): "4.000",
    SlidingWindow(length=256): "16.000",
}


@for_each("decay", NOISES)
def test_known_output_noise(decay):
    assert f"{output_noise(decay, 1024).value:.3f}" == NOISES[decay]


def test_the_limit_of_a_window_of_two_is_four_over_pi():
    assert_allclose(for_ever(SlidingWindow(length=2)).value, 4 / np.pi, rtol=1e-12)


def test_the_limit_of_an_exponential_is_an_elliptic_integral():
    expected = 2 / mpmath.pi * mpmath.ellipk(mpmath.mpf(1.01) ** -2)
    assert_allclose(for_ever(Exponential.from_alpha(1.01)).value, float(expected), rtol=1e-11)


def test_two_steps_by_hand():
    assert two_steps(NoDecay(), 9).value == 2 / np.sqrt(3)
    assert two_steps(SlidingWindow(length=1), 9).value == 1.0
    assert two_steps(CustomDecay([1, 1.9]), 2).value == 1.9


@for_each("decay", GRID)
def test_one_step_has_nothing_to_bound(decay):
    exact = {bound.value for bound in [root(decay, 1), half_weights(decay, 1)]}
    assert exact == {largest_weight(decay, 1).value} == {output_noise(decay, 1).value} == {1.0}


def test_a_million_steps_are_listed():
    listed = bounds(PowerLaw(power=1), 1 << 20)
    assert len(listed) == 11
    assert_allclose(listed[1].value, 2 / np.sqrt(3.75), rtol=1e-14)
    assert_allclose(listed[2].value, 1.10810, atol=5e-6)


def test_a_root_beyond_float64_is_left_out_of_the_list():
    growing = CustomDecay([1, 1.9, 2.71])
    names = [b.name for b in bounds(growing, 3000)]
    assert "square root" not in names
    assert set(names) == {
        "two steps",
        "largest weight",
        "circulant test",
        "circulant",
        "noise on the output",
    }


@pytest.mark.parametrize("decay", [SlidingWindow(length=2), OTHERS[4]], ids=repr)
def test_half_weights_refuse_a_root_with_a_negative_coefficient(decay):
    with pytest.raises(InvalidValue, match=r"without negative coefficients, got a_\d+ = -"):
        half_weights(decay, 100)
    assert "half weights" not in {bound.name for bound in bounds(decay, 100)}


def test_a_window_is_in_class_f_until_it_ends():
    assert half_weights(SlidingWindow(length=7), 7).value == 1 + 6 / 4
    with pytest.raises(InvalidValue, match="a_7 = "):
        half_weights(SlidingWindow(length=7), 8)


def test_a_long_window_is_in_class_f_until_it_ends():
    w = 5000  # beyond what membership decides
    assert half_weights(SlidingWindow(length=w), w).value == 1 + (w - 1) / 4
    with pytest.raises(InvalidValue, match="a_5000 = "):
        half_weights(SlidingWindow(length=w), w + 1)


def test_a_root_that_ends_is_in_class_f():
    square = CustomDecay([1, 2, 3, 2, 1])  # (1 + x + x²)²
    assert_allclose(half_weights(square, 5000).value, 1 + (4 + 9 + 4 + 1) / 4)


def test_a_window_has_the_upper_bounds_of_the_count_until_it_ends():
    names = [
        {b.name for b in bounds(SlidingWindow(length=7), n) if b.side == "upper"} for n in (7, 8)
    ]
    assert names[0] - names[1] == {"harmonic sum", "mean cosecant", "half weights"}


def test_two_steps_need_two_steps():
    with pytest.raises(InvalidValue, match="n must be an integer >= 2, got 1"):
        two_steps(NoDecay(), 1)


def test_the_count_has_no_bound_for_ever():
    with pytest.raises(Diverges):
        for_ever(NoDecay())


def test_gamma_f_takes_upper_bounds_on_gamma2_only():
    with pytest.raises(InvalidValue, match="bound must be an upper bound on gamma2"):
        frobenius(two_steps(NoDecay(), 2), 2)
    with pytest.raises(InvalidValue, match="bound must be an upper bound on gamma2"):
        frobenius(Bound(1.0, "upper", "sensitivity", "", ""), 2)


@pytest.mark.parametrize("law", [bounds, largest_weight, two_steps, root, half_weights])
def test_what_is_no_decay_or_no_count_is_refused(law):
    with pytest.raises(InvalidType, match="decay must be a decay, got list"):
        law([1.0, 0.5], 2)
    with pytest.raises(InvalidValue, match="n must be an integer"):
        law(NoDecay(), 0)
    with pytest.raises(InvalidType, match="n must be an integer"):
        law(NoDecay(), 2.0)
