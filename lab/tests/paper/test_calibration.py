"""The noise of Algorithm 1."""

import math
from dataclasses import replace

import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtr

from hushfade import NoDecay
from lab.paper import calibration
from lab.paper.document import QUICK, Claim, Figure, Table
from lab.paper.samples import sampled
from lab.tests.paper.reading import named


@pytest.fixture(scope="module")
def found():
    return list(calibration.blocks(QUICK))


@pytest.fixture(scope="module")
def sample():
    return sampled(9, NoDecay(), 32, 32, 300)


def delta(mu, epsilon):
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def tight_mu(epsilon):
    return brentq(lambda mu: delta(mu, epsilon) - 1e-6, 0.02, 1.0, xtol=1e-14)


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [
        ("Definition 17", "weak"),  # two values of σ
        ("Section 3.5", "false"),  # Δ for 2Δ
        ("Theorem 5", "false"),  # no condition on ε
        ("Section 3.5", "false"),  # σ for σ²
    ]


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_tables_and_figures_have_names_of_their_own(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]
    assert len(set(names)) == len(names) == 2
    assert all(name.startswith("calibration-") for name in names)


def test_the_multipliers_are_those_of_the_formulas(found):
    for epsilon, tight, main, ratio, main_delta, appendix, appendix_delta in named(
        found, "calibration-multipliers"
    ).rows:
        log = math.log(1.25e6)
        assert_allclose(main, 2 * math.sqrt(2 * log) / epsilon, rtol=1e-12)
        assert_allclose(appendix, 2 * math.sqrt(log) / epsilon, rtol=1e-12)
        least = 2 / tight_mu(epsilon)
        assert_allclose([tight, ratio], [least, main / least], rtol=1e-6)
        # the difference of two Φ loses digits
        assert_allclose(main_delta, delta(2 / main, epsilon), rtol=1e-5)
        assert_allclose(appendix_delta, delta(2 / appendix, epsilon), rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda x: {"square": 2 * x.square}, 0),
        (lambda x: {"noise": 1.2 * x.noise}, 1),
        (lambda x: {"bias": x.bias + 0.6 * x.stddevs}, 2),
        (lambda x: {"covariance": 2 * x.covariance}, 3),
    ],
    ids=["deviation", "noise", "bias", "covariance"],
)
def test_wrong_noise_would_be_seen(sample, change, place):
    def verdicts(x):
        return [c.verdict for c in calibration._law({"counting": x}, {}) if isinstance(c, Claim)]

    assert verdicts(sample) == ["holds"] * 4
    assert verdicts(replace(sample, **change(sample)))[place] == "false"
