import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from hushfade import InvalidType, InvalidValue
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.public.error_distribution import NormalError, SummedError, error_distribution
from tests.public.noise_outcomes import LAWS, convolved, drawn, probabilities

HALF_LIFE = 2.0 ** (-np.arange(120) / 24)
WEIGHTS = {
    "one": np.ones(1),
    "window of 3": np.ones(3),
    "window of 7": np.ones(7),
    "half-life 24": HALF_LIFE,
    "mixed": np.array([1.0, -0.7, 0.31, 0.05]),
}


def summed():
    for law in LAWS:
        for name, weights in WEIGHTS.items():
            yield f"{law!r}, {name}", SummedError(law, weights, unit=0.5)


def test_the_margin_rises_with_the_confidence():
    for name, error in summed():
        margins = [error.margin(c) for c in (0.1, 0.5, 0.9, 0.95, 0.99, 0.999999)]
        assert margins == sorted(margins), name


def test_the_tail_of_the_margin_is_what_the_confidence_leaves():
    for name, error in summed():
        for confidence in (0.5, 0.9, 0.95, 0.99, 1 - 1e-6, 1 - 1e-9):
            tail = error.tail(error.margin(confidence))
            # at most the rest: the margin may be that of an atom; 1e-4 for the interpolation
            assert tail <= (1 - confidence) * (1 + 1e-4), f"{name} at {confidence}"


def test_the_margin_scales_with_the_unit_and_ignores_signs_and_zeros():
    for law in LAWS:
        one = SummedError(law, np.array([1.0, 0.7]), unit=1.0).margin(0.95)
        other = SummedError(law, np.array([-0.7, 0.0, 1.0]), unit=0.25).margin(0.95)
        assert_allclose(other, one / 4, rtol=1e-12, err_msg=repr(law))


@pytest.mark.parametrize("slope", [0.1, 1.0, 4.0])
def test_sums_on_a_lattice_are_exact(slope):
    law = Laplace(slope=slope)
    for terms in (1, 3, 7):
        tails = convolved(law, terms)
        error = SummedError(law, np.ones(terms), unit=1.0)
        for confidence in (0.5, 0.9, 0.95, 0.99, 1 - 1e-6, 1 - 1e-9):
            expected = int(np.argmax(tails <= 1 - confidence))
            assert error.margin(confidence) == expected, f"{terms} terms at {confidence}"
            # 1e-4: the tails fold at 1e-6, and the coarsest lattice has 16 cells
            assert_allclose(error.tail(float(expected)), tails[expected], rtol=1e-4)


def test_weights_with_a_common_measure_are_a_lattice():
    law = Laplace(slope=1.0)
    p, wide = probabilities(law), np.zeros(2 * len(probabilities(law)) - 1)
    wide[::2] = p
    total = np.convolve(p, wide)  # z_0 + 2 z_1
    tails = 2.0 * np.cumsum(total[: len(total) // 2][::1])[::-1]
    expected = 1 + int(np.argmax(tails[1:] <= 0.05)) if tails[0] > 0.05 else 0
    assert SummedError(law, np.array([0.5, 1.0]), unit=1.0).margin(0.95) == expected / 2


def test_one_laplace_term_has_its_closed_form():
    # Laplace noise on a fine grid: P[|e| > m] = e^-m; 1e-4 for the grid of 1e-4
    error = SummedError(Laplace(slope=1e-4), np.ones(1), unit=1e-4)
    for confidence in (0.9, 0.99, 1 - 1e-6, 1 - 1e-12):
        assert_allclose(error.margin(confidence), -math.log(1 - confidence), rtol=1e-4)


def test_two_laplace_terms_have_their_closed_form():
    law = Laplace(slope=1e-4)
    equal = SummedError(law, np.ones(2), unit=1e-4)
    other = SummedError(law, np.array([1.0, 0.7]), unit=1e-4)
    share = 1.0 / (1.0 - 0.49)  # partial fractions of 1/(1 - s²)(1 - 0.49 s²)
    for m in (1.0, 3.0, 6.0, 15.0, 30.0):  # down to 1e-12
        assert_allclose(equal.tail(m), (1 + m / 2) * math.exp(-m), rtol=1e-3)
        expected = share * math.exp(-m) + (1 - share) * math.exp(-m / 0.7)
        assert_allclose(other.tail(m), expected, rtol=1e-3)


def test_a_sum_of_huber_terms_agrees_with_the_integral_of_its_characteristic_function():
    law, weights = Huber(slope=1e-3, core=1000), (1.0, 0.6, 0.3)
    a, unit = law.core * law.slope, law.slope  # in units of 1/slope the core ends at a

    def transform(u):
        """E cos(uX) of the continuous law, before it is normalised."""
        z = math.sqrt(a / 2) * (1 - 1j * u)  # erf(z) = 1 - exp(-z²) w(iz) does not overflow
        beyond = (np.exp(-a / 2 + 1j * a * u) * special.wofz(1j * z)).real
        inner = math.sqrt(math.pi * a / 2) * (np.exp(-a * u * u / 2) - beyond)
        tail = (np.cos(u * a) - u * np.sin(u * a)) / (1 + u * u)
        return 2 * (inner + math.exp(-a / 2) * tail)

    nodes, sizes = np.polynomial.legendre.leggauss(20)  # on each of 400 parts of [0, 40]
    u = (np.arange(400)[:, None] + (nodes + 1) / 2) / 10
    product = np.prod([transform(weight * u) / transform(0.0) for weight in weights], axis=0)
    error = SummedError(law, np.array(weights), unit=unit)
    for m in (2.0, 5.0):
        inside = np.sum(sizes / 20 * product * np.sin(u * m) / u)
        # 1e-3: the grid of 1e-3, and the integral ends at u = 40
        assert_allclose(error.tail(m), 1 - 2 * inside / math.pi, rtol=1e-3)


def test_gaussian_noise_has_normal_errors():
    error = error_distribution(Gaussian(sigma=1000.0), np.array([0.5, 1.0001]), 0.01)
    assert isinstance(error, NormalError)
    assert_allclose(error.margin(0.95), stats.norm.ppf(0.975) * error.stddev, rtol=1e-12)
    assert_allclose(error.tail(30.0), 2 * stats.norm.sf(30.0 / error.stddev), rtol=1e-9)
    general = SummedError(Gaussian(sigma=1000.0), np.array([0.5, 1.0001]), 0.01)
    for confidence in (0.5, 0.95, 1 - 1e-9):  # 1e-5: the interpolation
        assert_allclose(general.margin(confidence), error.margin(confidence), rtol=1e-5)
        assert_allclose(general.tail(error.margin(confidence)), 1 - confidence, rtol=1e-3)


def test_many_terms_become_normal():
    error = SummedError(Laplace(slope=1e-3), np.full(100_000, 0.01), unit=1.0)
    for confidence in (0.9, 0.99):  # the fourth cumulant moves the quantile by about 1e-5
        expected = stats.norm.ppf(0.5 + confidence / 2) * error.stddev
        assert_allclose(error.margin(confidence), expected, rtol=1e-4)


def covered(errors, margin):
    return np.mean(np.abs(errors) <= margin * (1 + 1e-12), axis=-1)


def allowed(confidence, n):
    """Five and a half standard deviations of a share: a false alarm in fewer than 1e-7 cases."""
    return 5.5 * math.sqrt(confidence * (1 - confidence) / n)


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say():
    n, rng = 100_000, np.random.default_rng(20)
    for law in LAWS:
        for name in ("window of 3", "window of 7", "half-life 24"):
            weights = WEIGHTS[name]
            error = SummedError(law, weights, unit=1.0)
            sums = np.zeros(n)
            for weight in weights:
                sums += weight * drawn(law, rng, n)
            for confidence in (0.9, 0.95, 0.99):
                margin = error.margin(confidence)
                # on a lattice the exact share is above the confidence
                share, exact = covered(sums, margin), 1 - error.tail(margin)
                told = f"{law!r}, {name}, {confidence}: {share}"
                assert share >= confidence - allowed(confidence, n), told
                assert abs(share - exact) <= allowed(exact, n) + 2e-3 * (1 - exact), told


def test_normal_intervals_of_laplace_noise_are_noticed():
    # a seeded bug: 2.576 standard deviations at 99 %
    law, n, rng = Laplace(slope=0.1), 100_000, np.random.default_rng(21)
    sums = drawn(law, rng, (3, n)).sum(axis=0)
    margin = NormalError(SummedError(law, np.ones(3), unit=1.0).stddev).margin(0.99)
    assert covered(sums, margin) < 0.99 - allowed(0.99, n)


def test_no_tail_beyond_everything_and_all_of_it_below_zero():
    for name, error in summed():
        assert error.tail(-1.0) == 1.0, name
        assert error.tail(1e6 * error.stddev) <= 1e-300, name


@pytest.mark.parametrize("confidence", [0, 1, 2, -1, float("nan")])
def test_bad_confidence_is_refused(confidence):
    for error in (NormalError(1.0), SummedError(Laplace(slope=1.0), np.ones(1), 1.0)):
        with pytest.raises(InvalidValue, match="confidence must be"):
            error.margin(confidence)


def test_bad_weights_and_tails_are_refused():
    with pytest.raises(InvalidValue, match="weights must not all be 0"):
        SummedError(Laplace(slope=1.0), np.zeros(3), 1.0)
    with pytest.raises(InvalidValue, match="unit must be > 0"):
        SummedError(Laplace(slope=1.0), np.ones(3), 0.0)
    with pytest.raises(InvalidValue, match="m must be finite"):
        SummedError(Laplace(slope=1.0), np.ones(3), 1.0).tail(math.nan)
    with pytest.raises(InvalidType, match="confidence must be a real number"):
        NormalError(1.0).margin("0.95")
