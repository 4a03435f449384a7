"""Algorithm 1 at work."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import erf, ndtr

from hushfade import NoDecay
from lab.paper import releases
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.paper.samples import sampled
from lab.tests.paper.reading import named


@pytest.fixture(scope="module")
def found():
    return list(releases.blocks(QUICK))


@pytest.fixture(scope="module")
def sample():
    return sampled(9, NoDecay(), 32, 32, 300)


def tight_mu():
    def delta(mu):
        return ndtr(mu / 2 - 0.5 / mu) - math.exp(0.5) * ndtr(-mu / 2 - 0.5 / mu)

    return brentq(lambda mu: delta(mu) - 1e-6, 0.02, 1.0, xtol=1e-14)


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [
        ("Theorem 5", "false"),  # √(log T)
        ("Theorem 15", "false"),  # the same, with probability 2/3
        ("Theorem 6", "false"),  # H to T - 1
        ("Theorem 6", "weak"),  # far above for slow decays
    ]


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 4
    assert all(name.startswith("releases-") for name in names)


def test_independent_errors_have_the_largest_mean_of_normals(found):
    for row in named(found, "releases-largest").rows:
        exact = quad(lambda x: 1 - erf(x / math.sqrt(2)) ** 256, 0, 14, points=[2, 4])[0]
        assert_allclose(row[4], exact, rtol=1e-6)


def test_two_steps_have_the_largest_error_of_a_plain_simulation(found):
    # counting: L = [[1, 0], [1/2, 1]], and the largest deviation is √(5/4)
    z = np.random.default_rng(1).standard_normal((2, 200_000))
    largest = np.maximum(np.abs(z[0]), np.abs(z[0] / 2 + z[1])) / math.sqrt(1.25)
    row = next(x for x in named(found, "releases-largest").rows if x[0] == "counting")
    # 400 streams: five standard errors
    assert abs(row[6] - np.mean(largest)) < 5 * np.std(largest) / math.sqrt(400)
    # Theorem 5 at T = 2: 1 + 1/4 + 9/64 for 1 + 1/4
    assert_allclose(row[7], math.sqrt(math.log(2)) * (1.25 + 9 / 64) / 1.25, rtol=1e-12)


def test_the_mean_square_of_a_count_is_the_formula(found):
    # σ² Σ_t S_t S_T / T with S_t = Σ_{k<t} (C(2k, k)/4^k)², σ = 2/μ
    a = np.cumprod(np.append(1.0, (2 * np.arange(1, 256) - 1) / (2 * np.arange(1, 256))))
    S = np.cumsum(a**2)
    sigma = 2 / tight_mu()
    row = next(x for x in named(found, "releases-mean-square").rows if x[0] == "counting")
    assert_allclose(row[3], sigma**2 * np.mean(S) * S[-1], rtol=1e-6)
    last = a[-1] * 511 / 512  # a_256, which Theorem 5's sum has too
    assert_allclose(row[4], sigma**2 * (S[-1] + last**2) ** 2, rtol=1e-6)


def test_the_mean_square_of_two_steps_is_above_the_printed_harmonic_bound(found):
    # 1/n, L = R = [[1, 0], [1/4, 1]]: (1 + 17/16)/2 · 17/16 against 1, the bound with H = 1
    claim = next(x for x in found if isinstance(x, Claim) and "to T - 1" in x.says)
    least = 1 / ((1 + 17 / 16) / 2 * 17 / 16)
    assert_allclose(float(claim.found.split(" to ")[0]), least, atol=6e-5)
    assert claim.found.endswith("below 1 at T = 2, 3")


def test_errors_that_stay_small_would_save_the_printed_bound(sample):
    calm = replace(sample, largest=0.5 * sample.largest)
    names = "counting", "exponential, α = 2", "power 1", "window 16"
    claims = [c for c in releases._largest(dict.fromkeys(names, calm)) if isinstance(c, Claim)]
    assert [c.verdict for c in claims] == ["holds"] * 4
