"""The audit's own probabilities agree with the exact ones, to which they owe nothing."""

import math

import numpy as np
import pytest

from hushfade.audit.noise_probabilities import (
    beyond,
    coincidence,
    cumulative,
    described,
    energy,
    energy_moments,
    expected,
    nonzero,
    quantiles,
    variance,
)
from hushfade.audit.sampler import LAWS
from hushfade.crossing.sampling_tables import exact_law
from hushfade.laws import Gaussian, Huber, Laplace

ALL = [*LAWS, Laplace(8.0), Laplace(30.0), Huber(1.0, 1), Gaussian(30_000.0), Laplace(3e-5)]


@pytest.mark.parametrize("law", ALL, ids=described)
def test_tails_and_single_probabilities_are_exact(law):
    exact = exact_law(law)
    for z in (1, 2, round(law.stddev) + 1, round(3 * law.stddev) + 1):
        single = beyond(law, np.array([z, z + 1]))
        # the difference of two tails loses the digits that both have in common
        loses = 1e-15 * single[0] / float(exact.probability(z))
        assert single[0] - single[1] == pytest.approx(
            float(exact.probability(z)), rel=1e-12 + 4 * loses
        )


@pytest.mark.parametrize("law", ALL, ids=described)
def test_moments_are_those_of_the_law(law):
    assert variance(law) == pytest.approx(law.variance, rel=1e-9)
    assert expected(law, np.ones_like) == pytest.approx(1.0, rel=1e-12)
    mean, spread = energy_moments(law)
    if isinstance(law, Gaussian):
        assert mean == pytest.approx(law.variance / law.sigma**2 / 2, rel=1e-9)
    if isinstance(law, Laplace):
        assert mean == pytest.approx(law.slope / math.sinh(law.slope), rel=1e-8)
    assert spread > 0


@pytest.mark.parametrize("law", ALL, ids=described)
def test_both_sides_of_an_edge_have_all_probability_and_the_law_is_symmetric(law):
    edges = np.array([-7, -1, 0, 6])
    below, above = cumulative(law, edges)
    np.testing.assert_allclose(below + above, 1.0, rtol=1e-15)
    np.testing.assert_allclose(below, above[::-1], rtol=1e-15)
    np.testing.assert_array_equal(energy(law, -edges), energy(law, edges))


@pytest.mark.parametrize("law", ALL, ids=described)
def test_a_quantile_is_the_first_magnitude_whose_tail_is_small_enough(law):
    shares = np.array([0.4, 0.1, 1e-6])
    m = quantiles(law, shares)
    assert np.all(beyond(law, m) <= shares)
    assert np.all((m == 1) | (beyond(law, np.maximum(m - 1, 1)) > shares))


def test_coincidence_by_hand():
    # Σ P[z]² of the two-sided geometric law: ((1 - q)/(1 + q))² (1 + q²)/(1 - q²)
    for slope in (1.0, 8.0, 1e-6):
        q = math.exp(-slope)
        exactly = (math.tanh(slope / 2)) ** 2 * (1 + q * q) / -math.expm1(-2 * slope)
        assert coincidence(Laplace(slope)) == pytest.approx(exactly, rel=1e-9)
    assert coincidence(Gaussian(900.0)) == pytest.approx(1 / (1800 * math.sqrt(math.pi)), rel=1e-6)
    assert nonzero(Laplace(math.log(2))) == pytest.approx(2 / 3, rel=1e-12)
