from itertools import pairwise

import mpmath
import numpy as np
import pytest

from hushfade.audit import Subject
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import (
    binned,
    edges_of,
    low_bits,
    p_value,
    probabilities,
    sampler,
)
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian


@pytest.mark.parametrize("sigma", [1.0, 3.0, 300.0, 65_536.0])
@pytest.mark.parametrize("draws", [10_000, 1_000_000])
def test_the_bins_have_all_probability_and_enough_of_it_each(sigma, draws):
    edges = edges_of(sigma, draws)
    found = probabilities(sigma, edges)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.min() * draws >= 40
    assert np.all(np.diff(edges) > 0)


def test_probabilities_agree_with_arithmetic_of_50_digits():
    edges = np.array([-9, -1, 0, 4, 12])
    with mpmath.workdps(50):
        below = [mpmath.ncdf((edge + mpmath.mpf(1) / 2) / 3) for edge in edges.tolist()]
        exact = [below[0], *(b - a for a, b in pairwise(below)), 1 - below[-1]]
    np.testing.assert_allclose(probabilities(3.0, edges), [float(p) for p in exact], rtol=1e-12)


def test_low_bits_are_uniform_where_they_are_said_to_be():
    # by adding up exact probabilities of each residue
    sigma = 13.0
    bits = low_bits(sigma)
    values = np.arange(-300, 301)
    each = np.exp(Gaussian(sigma).log_probability(values))
    sums = [each[values % 2**bits == rest].sum() for rest in range(2**bits)]
    assert bits == 3
    np.testing.assert_allclose(sums, 1 / 2**bits, rtol=1e-12)


@pytest.mark.parametrize("sigma", [3.0, 700.0])
def test_the_right_sampler_passes_and_a_wrong_sigma_does_not(sigma):
    assert all(found.passed for found in sampler(Subject(), sigma, 200_000, Chance(3)))
    drawer = Chance(3).noise().bound(b"")
    z = drawer.draws(table(Gaussian(sigma)), 0, 1_000_000, 1)[:, 0]
    edges = edges_of(sigma, len(z))
    assert p_value(binned(z, edges), probabilities(sigma, edges)) > 1e-6
    assert p_value(binned(z, edges), probabilities(1.02 * sigma, edges)) < 1e-12


def test_counts_that_fit_too_well_are_noticed():
    exact = np.full(200, 1 / 200)
    assert p_value(np.full(200, 1000), exact) < 1e-100
