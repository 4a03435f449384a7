import json
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from numpy.testing import assert_allclose

from hushfade import (
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    Person,
    classical_noise_multiplier,
    composed_mu,
    delta_of,
    epsilon_of,
    plan,
)
from tests.loops import for_each

EPSILONS = [1e-3, 0.01, 0.1, 0.5, 1, 3, 10, 50]
DELTAS = [1e-30, 1e-12, 1e-6, 1e-3, 0.1]


def exact_delta(mu, epsilon):
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def phi(x):
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return phi(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@for_each("epsilon", EPSILONS)
@for_each("delta", DELTAS)
def test_the_calibration_is_tight_and_never_above(epsilon, delta):
    mu = Guarantee(epsilon, delta).mu
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-8), epsilon) > delta


@for_each("epsilon", EPSILONS)
@for_each("delta", DELTAS)
def test_both_directions_agree(epsilon, delta):
    mu = Guarantee(epsilon, delta).mu
    assert_allclose(epsilon_of(mu, delta), epsilon, rtol=1e-6)
    assert_allclose(delta_of(mu, epsilon), delta, rtol=3e-9)


@for_each("epsilon", EPSILONS)
@for_each("mu", [1e-4, 0.01, 0.2, 1, 4, 12])
def test_delta_is_right_in_every_tail(mu, epsilon):
    exact = float(exact_delta(mu, epsilon))
    if exact > 1e-300:
        assert_allclose(delta_of(mu, epsilon), exact, rtol=1e-7)


@for_each("power", range(2, 400))
def test_epsilons_beyond_all_reason_are_calibrated_too(power):
    # √(2 epsilon) is mu at delta = ½, and a power of two every other time
    mu = Guarantee(epsilon=2.0**power, delta=0.5).mu
    assert_allclose(mu, math.sqrt(2.0 * 2.0**power), rtol=2.0 ** (1 - power / 2) + 1e-12)


@for_each("epsilon", [0.1, 1, 3, 10])
@for_each("delta", [1e-10, 1e-6, 1e-3])
def test_dp_accounting_agrees(epsilon, delta):
    found = Guarantee(epsilon, delta)
    other = GaussianPrivacyLoss(standard_deviation=found.noise_multiplier)
    assert_allclose(other.get_delta_for_epsilon(epsilon), delta, rtol=1e-6)
    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    sigma = GaussianPrivacyLoss.from_privacy_guarantee(parameters).standard_deviation
    assert_allclose(found.noise_multiplier, sigma, rtol=1e-3)


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.1, 1.46), (0.5, 1.32), (0.999999, 1.25)])
def test_the_classical_noise_is_larger_by_the_reference_ratio(epsilon, ratio):
    found = classical_noise_multiplier(epsilon, 1e-6) / Guarantee(epsilon, 1e-6).noise_multiplier
    assert_allclose(found, ratio, atol=0.005)


def test_the_appendix_formula_would_break_the_promise():
    # the paper's appendix: σ = (2/ε) √ln(1.25/δ) at swing 2: δ is 3.6e-6 for claimed (0.5, 1e-6)
    sigma = 2 / 0.5 * math.sqrt(math.log(1.25 / 1e-6))
    assert_allclose(delta_of(2 / sigma, 0.5), 3.6e-6, rtol=0.02)


def test_drawing_again_costs_what_the_reference_says():
    mu = Guarantee(1, 1e-6).mu
    again = [epsilon_of(mu * math.sqrt(m), 1e-6) for m in (2, 4, 10)]
    assert_allclose(again, [1.45, 2.12, 3.52], atol=0.006)


def test_mu_and_rho_are_kept_exactly():
    assert Guarantee.from_mu(0.5, delta=1e-5).mu == 0.5
    assert_allclose(Guarantee.from_rho(0.02, delta=1e-5).rho, 0.02, rtol=1e-15)
    assert_allclose(Guarantee.from_rho(0.125, delta=1e-5).mu, 0.5, rtol=1e-15)
    assert (
        Guarantee.from_mu(0.5, neighbours="replace", protects=Person(steps=3)).protects.steps == 3
    )


def test_rho_gives_the_largest_mu_that_it_allows():
    for rho in (0.02, 0.125, 1 / 3, 1e-9, 7.0, 1e3):
        mu = Guarantee.from_rho(rho, delta=1e-9).mu
        assert Fraction(mu) ** 2 <= 2 * Fraction(rho)
        assert Fraction(math.nextafter(mu, math.inf)) ** 2 > 2 * Fraction(rho)


def test_what_is_declared_is_kept_and_the_rest_follows():
    plain = Guarantee(1, 1e-6)
    assert (plain.declared_mu, plain.declared_rho) == (None, None)
    assert Guarantee.from_mu(0.3).declared_mu == 0.3
    assert Guarantee.from_rho(0.3).declared_rho == 0.3
    assert replace(Guarantee.from_mu(0.3), neighbours="replace").mu == 0.3
    assert replace(plain, epsilon=2).mu == Guarantee(2, 1e-6).mu
    with pytest.raises(FrozenInstanceError):
        plain.epsilon = 2.0


def test_a_declared_mu_must_give_its_epsilon():
    exact = Guarantee.from_mu(0.3)
    weaker = replace(exact, epsilon=exact.epsilon * 1.5)  # says less than it keeps
    assert weaker.mu == 0.3
    for short in (1e-3, 5e-10, 1e-12, 2e-15):  # no rounding is granted
        with pytest.raises(InvalidValue, match=r"epsilon must be at least 1\.2.* for this mu"):
            replace(exact, epsilon=exact.epsilon * (1 - short))
        with pytest.raises(InvalidValue, match="epsilon must be at least"):
            replace(exact, declared_mu=0.3 * (1 + short))
    with pytest.raises(InvalidValue, match="epsilon must be at least"):
        Guarantee(1, 1e-6, declared_mu=0.5)
    with pytest.raises(InvalidType, match="must not both be declared"):
        Guarantee(1, 1e-6, declared_mu=0.1, declared_rho=0.1)
    for value in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidValue, match="mu must be"):
            Guarantee(1, 1e-6, declared_mu=value)
        with pytest.raises(InvalidValue, match="rho must be"):
            Guarantee(1, 1e-6, declared_rho=value)


def test_squared_changes_are_exact():
    for neighbours in ("add_remove", "replace"):
        for records in (1, 3):
            promised = Guarantee(1, 1e-6, neighbours, protects=Person(records_per_step=records))
            for low, high in ((0, 1024), (-7, 3), (2, 5), (-(2**40), 2**40 - 1)):
                for keyed in (False, True):
                    change = promised.change(low, high, keyed=keyed)
                    square = promised.squared_change(low, high, keyed=keyed)
                    assert_allclose(float(square), float(change) ** 2, rtol=1e-15)
            norm = promised.vector_change(1025.0)
            assert promised.squared_vector_change(1025) == norm**2


def test_numbers_of_numpy_are_numbers():
    promised = Guarantee(np.float32(0.5), np.float64(1e-6), protects=Person(steps=np.int64(3)))
    assert promised == Guarantee(0.5, 1e-6, protects=Person(steps=3))
    text = plan(Exponential(half_life=3), promised).to_json()
    assert json.loads(text)["guarantee"]["protects"]["steps"] == 3


def test_composition_is_exact_in_mu():
    parts = [Guarantee(1, 1e-6), Guarantee(0.5, 1e-9)]
    total = composed_mu(parts)
    assert_allclose(total**2, parts[0].mu ** 2 + parts[1].mu ** 2, rtol=1e-15)
    assert composed_mu([]) == 0.0
    with pytest.raises(InvalidValue, match="same unit of privacy"):
        composed_mu([Guarantee(1, 1e-6), Guarantee(1, 1e-6, "replace")])
    with pytest.raises(InvalidValue, match="same unit of privacy"):
        composed_mu([Guarantee(1, 1e-6), Guarantee(1, 1e-6, protects=Person(steps=2))])


def test_change_by_every_rule():
    add, swap = Guarantee(1, 1e-6), Guarantee(1, 1e-6, "replace")
    assert add.change(0, 1) == 1
    assert add.change(-3, 2) == 3
    assert add.change(-3, 2, keyed=True) == 3
    assert swap.change(0, 1) == 1
    assert swap.change(-3, 2) == 5
    assert swap.change(10, 12) == 2
    assert_allclose(swap.change(0, 1, keyed=True), math.sqrt(2))
    assert swap.change(-1, 1, keyed=True) == 2
    assert_allclose(swap.change(10, 12, keyed=True), 12 * math.sqrt(2))
    assert add.vector_change(5) == 5
    assert swap.vector_change(5) == 10


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_several_records_in_a_step_change_it_so_many_times_as_much(neighbours):
    one = Guarantee(1, 1e-6, neighbours)
    three = Guarantee(1, 1e-6, neighbours, protects=Person(records_per_step=3))
    for keyed in (False, True):
        assert_allclose(three.change(-3, 2, keyed=keyed), 3 * one.change(-3, 2, keyed=keyed))
    assert three.vector_change(5) == 3 * one.vector_change(5)
    assert three.mu == one.mu
    assert (
        Guarantee.from_mu(one.mu, protects=Person(records_per_step=3)).protects.records_per_step
        == 3
    )
    assert (
        Guarantee.from_rho(one.rho, protects=Person(records_per_step=3)).protects.records_per_step
        == 3
    )


def test_the_keyed_rule_is_the_worst_of_all_moves():
    rng = np.random.default_rng(1)
    for _ in range(200):
        low, high = np.sort(rng.normal(size=2) * 3)
        a, b = rng.uniform(low, high, size=2)
        bound = Guarantee(1, 1e-6, "replace").change(low, high, keyed=True)
        assert abs(a - b) <= bound + 1e-12
        assert math.hypot(a, b) <= bound + 1e-12


def test_the_sentence_names_who_is_protected():
    assert "any one record" in Guarantee(1, 1e-6).sentence()
    many = Guarantee(1, 1e-6, "replace", protects=Person(steps=5, apart=24)).sentence()
    assert "any 5 records of one person, at least 24 steps apart" in many
    assert many.startswith("Replacing")
    assert "in different steps" in Guarantee(1, 1e-6, protects=Person(steps=2)).sentence()
    several = Guarantee(1, 1e-6, protects=Person(records_per_step=3))
    assert "any 3 records of one person in one step changes" in several.sentence()
    both = Guarantee(1, 1e-6, protects=Person(steps=5, apart=24, records_per_step=3)).sentence()
    assert "one person's records, up to 3 in each of 5 steps at least 24 steps apart, ch" in both


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_bad_epsilon_mu_and_rho_are_refused(value):
    with pytest.raises(InvalidValue, match=r"^epsilon must be"):
        Guarantee(value, 1e-6)
    with pytest.raises(InvalidValue, match=r"^mu must be"):
        Guarantee.from_mu(value)
    with pytest.raises(InvalidValue, match=r"^rho must be"):
        Guarantee.from_rho(value)


@pytest.mark.parametrize("value", [1, -0.1, 2, float("nan")])
def test_bad_delta_is_refused(value):
    with pytest.raises(InvalidValue, match=r"^delta must be"):
        Guarantee(1, value)
    with pytest.raises(InvalidValue, match=r"^delta must be"):
        epsilon_of(1.0, value)


def test_other_bad_arguments_are_refused():
    with pytest.raises(InvalidValue, match="neighbours must be 'add_remove' or 'replace'"):
        Guarantee(1, 1e-6, "swap")
    with pytest.raises(InvalidType, match="neighbours must be a str"):
        Guarantee(1, 1e-6, None)
    with pytest.raises(InvalidValue, match="steps must be an integer >= 1"):
        Guarantee(1, 1e-6, protects=Person(steps=0))
    with pytest.raises(InvalidValue, match="apart must be an integer >= 1"):
        Guarantee(1, 1e-6, protects=Person(apart=0))
    with pytest.raises(InvalidValue, match="records_per_step must be an integer >= 1"):
        Guarantee(1, 1e-6, protects=Person(records_per_step=0))
    with pytest.raises(InvalidValue, match="same unit of privacy"):
        composed_mu([Guarantee(1, 1e-6), Guarantee(1, 1e-6, protects=Person(records_per_step=2))])
    with pytest.raises(InvalidValue, match=r"epsilon must be < 1 for the classical formula"):
        classical_noise_multiplier(1, 1e-6)
    with pytest.raises(InvalidValue, match="delta must be below"):
        Guarantee.from_mu(1e-3, delta=0.5)


@for_each("epsilon", [1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 0.1, 3.0, 300.0])
def test_delta_is_never_exceeded_however_small_epsilon_and_delta_are(epsilon):
    """By 400 digits; what cannot be calibrated so well is refused."""
    for delta in (1e-200, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.5):
        try:
            mu = Guarantee(epsilon, delta).mu
        except InvalidValue:
            assert epsilon <= 1e-4
            continue
        with mpmath.workdps(400):
            shift, half = mpmath.mpf(epsilon) / mpmath.mpf(mu), mpmath.mpf(mu) / 2
            true = mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)
            assert 1 - 1e-6 < true / mpmath.mpf(delta) <= 1


def test_a_guarantee_from_mu_or_rho_never_exceeds_its_delta():
    mus = [4.658487201686465e-05, *np.geomspace(1.01e-5, 1e-3, 60), *np.geomspace(2e-3, 20.0, 20)]
    for mu in mus:
        for delta in (1e-12, 1e-6):
            made = [
                Guarantee.from_mu(float(mu), delta=delta),
                Guarantee.from_rho(float(mu) ** 2 / 2, delta=delta),
            ]
            for found in made:
                with mpmath.workdps(60):
                    m, e = mpmath.mpf(found.mu), mpmath.mpf(found.epsilon)
                    far = mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
                    true = mpmath.ncdf(m / 2 - e / m) - far
                assert 1 - 1e-8 < true / delta <= 1, (mu, delta)


def test_a_guarantee_too_small_to_calibrate_is_refused():
    with pytest.raises(InvalidValue, match="must allow a mu >= 1e-05"):
        Guarantee(epsilon=1e-12, delta=1e-30)
    assert Guarantee(epsilon=1e-12, delta=0.5).mu > 1e-5
