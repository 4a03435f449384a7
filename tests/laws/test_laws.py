"""Every law states the truth about itself: against mpmath, direct sums and brute force."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.laws.law import between
from tests.noise_laws import ALL_LAWS, probability, probability_within

# narrow enough that all probabilities can be added up
NARROW = [
    Gaussian(1.0), Gaussian(17.3), Gaussian(300.0), Laplace(3.0), Laplace(1.0), Laplace(0.05),
    Huber(1.0, 1), Huber(0.5, 3), Huber(0.1, 40), Huber(0.03, 300), Huber(0.02, 1),
]  # fmt: skip


def values(law):
    """All values that matter: beyond them lies less than 1e-17."""
    end = math.ceil(45 * law.stddev) + 10
    return np.arange(-end, end + 1)


def test_probabilities_are_symmetric_and_sum_to_one():
    for law in NARROW:
        p = np.exp(law.log_probability(values(law)))
        assert_allclose(p.sum(), 1.0, rtol=1e-12, err_msg=repr(law))
        assert np.array_equal(p, p[::-1]), law


def test_log_probabilities_agree_with_mpmath():
    for law in ALL_LAWS:
        scale = max(1, int(law.stddev))
        places = {0, 1, 2, 5, scale // 2, scale, 3 * scale + 1, 5 * scale}
        if isinstance(law, Huber):
            places |= {law.core - 1, law.core + 1, law.core + 2}
        for z in places:
            with mpmath.workdps(200):
                exact = float(mpmath.log(probability(law, z)))
            stated = float(law.log_probability(np.array(float(z))))
            # differences of distribution functions lose about log10(scale) of 16 digits
            assert abs(stated - exact) < 1e-8, (law, z)


def test_the_variance_is_the_sum_of_the_squares():
    for law in NARROW:
        z = values(law)
        variance = np.sum(z**2.0 * np.exp(law.log_probability(z)))
        assert_allclose(law.variance, variance, rtol=1e-9, err_msg=repr(law))
        assert law.stddev == math.sqrt(law.variance)


def test_rounding_adds_a_twelfth_to_the_variance_of_wide_laws():
    assert_allclose(Gaussian(1e4).variance, 1e8 + 1 / 12, rtol=1e-15)
    # Huber's law at κ = 1, by hand: see docs/explanation/noise.md
    assert_allclose(Huber(0.01, 100).stddev, 149.8155, atol=5e-5)
    assert_allclose(Laplace(1.0).variance, 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2)


def test_the_characteristic_function_is_the_mean_of_the_cosine():
    # where rounded laws are narrow, copies of the spectrum at 2π are below 1e-9 only for small u
    for law in NARROW:
        if law.stddev < 10 and not isinstance(law, Laplace):
            continue
        z = values(law)
        p = np.exp(law.log_probability(z))
        for u in (0.0, 0.1 / law.stddev, 0.5 / law.stddev, 2.0 / law.stddev):
            stated = float(law.characteristic(np.array([u]))[0])
            tolerance = 1e-10 if isinstance(law, Laplace | Gaussian) else 2.0 / law.stddev**2
            assert abs(stated - np.sum(p * np.cos(u * z))) < tolerance, (law, u)


def test_below_and_between_have_relative_accuracy_in_both_tails():
    for law in ALL_LAWS:
        scale = max(1, int(law.stddev))
        for m in (1, 2, scale, 3 * scale, 8 * scale, 12 * scale):
            with mpmath.workdps(300):  # P[Z < ½ - m] = P[noise ≤ -m]
                exact = (1 - probability_within(law, m)) / 2
                ring = (probability_within(law, m + scale) - probability_within(law, m)) / 2
                exact, ring = float(exact), float(ring)
            low = float(law.below(np.array(0.5 - m)))
            assert low == pytest.approx(exact, rel=1e-10), (law, m)
            edges = np.array([0.5 - m, 0.5 - m - scale])
            left = float(between(law, edges)[0][0])
            assert left == pytest.approx(ring, rel=1e-9, abs=1e-300), (law, m)
            if not isinstance(law, Laplace):  # whose right-hand edges are not those of a mirror
                right = float(between(law, -edges[::-1])[0][0])
                assert right == left, (law, m)


def test_between_adds_up_to_one():
    for law in NARROW:
        edges = np.concatenate([[1e9], np.arange(40.5, -41.0, -1.0), [-1e9]])
        parts, _ = between(law, edges)
        assert np.all(parts >= 0), law
        assert_allclose(parts.sum(), 1.0, rtol=1e-12, err_msg=repr(law))
