from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from hushfade.audit import Subject
from hushfade.audit.noise_probabilities import described
from hushfade.audit.randomness import Chance
from hushfade.audit.sampler import (
    LAWS,
    binned,
    edges_of,
    low_bits,
    p_value,
    probabilities,
    sampler,
)
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Laplace


@pytest.mark.parametrize("law", [Gaussian(1.0), *LAWS], ids=described)
@pytest.mark.parametrize("draws", [10_000, 1_000_000])
def test_the_bins_have_all_probability_and_enough_of_it_each(law, draws):
    edges = edges_of(law, draws)
    found = probabilities(law, edges)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.min() * draws >= 40
    assert np.all(np.diff(edges) > 0)


def test_probabilities_agree_with_arithmetic_of_50_digits():
    edges = np.array([-9, -1, 0, 4, 12])
    with mpmath.workdps(50):
        below = [mpmath.ncdf((edge + mpmath.mpf(1) / 2) / 3) for edge in edges.tolist()]
        exact = [below[0], *(b - a for a, b in pairwise(below)), 1 - below[-1]]
    np.testing.assert_allclose(
        probabilities(Gaussian(3.0), edges), [float(p) for p in exact], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("law", "bits", "off"), [(Gaussian(13.0), 3, 1e-12), (Laplace(0.001), 4, 7e-5)], ids=repr
)
def test_low_bits_are_uniform_where_they_are_said_to_be(law, bits, off):
    # by adding up exact probabilities of each residue; Laplace: 2e-5 · Σ_{j≠0} 1/j² = 6.6e-5
    reach = round(40 * law.stddev)
    values = np.arange(-reach, reach + 1)
    each = np.exp(law.log_probability(values))
    sums = [each[values % 2**bits == rest].sum() for rest in range(2**bits)]
    assert low_bits(law) == bits
    np.testing.assert_allclose(sums, 1 / 2**bits, rtol=off)


@pytest.mark.parametrize("law", [Gaussian(3.0), Gaussian(700.0), Laplace(0.5), Huber(0.01, 100)])
def test_the_right_sampler_passes_and_a_wrong_scale_does_not(law):
    assert all(found.passed for found in sampler(Subject(), law, 200_000, Chance(3)))
    z = Chance(3).noise().bound(b"").draws(table(law), 0, 1_000_000, 1)[:, 0]
    edges = edges_of(law, len(z))
    assert p_value(binned(z, edges), probabilities(law, edges)) > 1e-6
    field = "sigma" if isinstance(law, Gaussian) else "slope"
    wrong = replace(law, **{field: 1.03 * getattr(law, field)})
    assert p_value(binned(z, edges), probabilities(wrong, edges)) < 1e-12


def test_counts_that_fit_too_well_are_noticed():
    exact = np.full(200, 1 / 200)
    assert p_value(np.full(200, 1000), exact) < 1e-100
