"""The audit's own numbers, compared with values computed in another way."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

import hushfade as hf
from hushfade.audit import TINY, Subject, law_formulas
from hushfade.audit.exact_checks import exact_delta, persons, scaled
from hushfade.audit.findings import Chance
from hushfade.audit.records import each_record, placed, refuses, samples
from hushfade.audit.sampled_checks import event, of_law
from hushfade.audit.subject import Case, ChosenNoise, crossed, left, legible, released, right
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Laplace
from tests.audit import plans
from tests.audit.seeded_bugs import ONE, SWAP, plan

ALL_LAWS = (
    Gaussian(3.0),
    Gaussian(1e6),
    Laplace(1.0),
    Laplace(1e-4),
    Huber(0.2, 5),
    Huber(1e-4, 9000),
)


def case(made, seed=1):
    return Case(Subject(), made, TINY, Chance(seed))


# Laws -----------------------------------------------------------------------------------------


def test_tail_probabilities_are_those_of_the_sampling_table():
    for law in ALL_LAWS:
        entries = table(law)
        for place in (0, 1, len(entries.above) // 2):
            m = (place + 1) << entries.k
            exactly = Fraction((1 << 127) - entries.above[place], 1 << 128)  # one side of two
            found = float(law_formulas.beyond(law, np.array([m]))[0])
            assert found == pytest.approx(float(exactly), rel=1e-10), (law, m)


def test_tail_probabilities_of_huber_noise_are_integrals_of_its_density():
    law = Huber(0.2, 5)
    with mpmath.workdps(30):
        whole = mpmath.quad(lambda x: mpmath.exp(-energy(x)), [-mpmath.inf, -5, 5, mpmath.inf])
        for m in (1, 4, 9, 300):
            tail = mpmath.quad(lambda x: mpmath.exp(-energy(x)), sorted({m - 0.5, max(5, m), 1e4}))
            assert law_formulas.beyond(law, m) == pytest.approx(float(tail / whole), rel=1e-8)


def energy(x):
    return 0.2 * x * x / 10 if abs(x) <= 5 else 0.2 * (abs(x) - 2.5)


def test_both_tails_and_the_middle_sum_to_one():
    for law in ALL_LAWS:
        m = np.array([-5, 0, 1, 7])
        assert_allclose(law_formulas.at_least(law, m) + law_formulas.at_least(law, 1 - m), 1.0)


def test_moments_are_those_of_the_law():
    for law in ALL_LAWS:
        middle = law_formulas.sizes(law).middle
        second, _ = law_formulas.moments(law, middle**2)
        assert second == pytest.approx(law.variance, rel=3e-5), law


def test_the_loss_of_gaussian_noise_has_mean_half_mu_squared_and_variance_mu_squared():
    mean, variance = law_formulas.loss_moments(Gaussian(1e5), {20_000: 4, 30_000: 1})
    square = 4 * 0.2**2 + 0.3**2
    assert mean == pytest.approx(square / 2, rel=1e-4)
    assert variance == pytest.approx(square, rel=1e-4)


def test_the_loss_of_huber_noise_has_the_mean_of_an_integral():
    law, d = Huber(1e-3, 800), 500

    def h(x):
        size = abs(x)
        return 1e-3 * (x * x / 1600 if size <= 800 else size - 400)

    ends = {"points": [-800, -300, 0, 800, 1300], "limit": 400}
    whole = integrate.quad(lambda x: math.exp(-h(x)), -40_000, 40_000, **ends)[0]
    mean = integrate.quad(lambda x: math.exp(-h(x)) * (h(x - d) - h(x)), -40_000, 40_000, **ends)[0]
    assert law_formulas.loss_moments(law, {d: 3})[0] == pytest.approx(3 * mean / whole, rel=1e-4)


def test_delta_of_one_laplace_shift_is_the_closed_form():
    found = law_formulas.delta(Laplace(0.01), {200: 1}, np.array([0.0, 1.0, 2.0]))
    assert_allclose(found, -np.expm1(np.array([-2.0, -1.0, 0.0]) / 2), rtol=1e-4, atol=1e-12)


def test_delta_of_gaussian_noise_is_the_guarantee_that_its_mu_is_for():
    found = law_formulas.delta(Gaussian(1e6), {round(1e6 * ONE.mu): 1}, np.array([1.0]))
    assert found[0] == pytest.approx(1e-6, rel=1e-4)


def test_delta_of_many_shifts_agrees_with_the_accountant():
    for law in (Laplace(1e-4), Huber(1e-4, 9000)):
        shifts = {1500: 5, 400: 40, 90: 300}
        loss = hf.PrivacyLoss.shifted(
            law, [[hf.privacy.rounded_losses.Shift(*one) for one in shifts.items()]]
        )
        epsilons = np.array([0.0, 0.5, 1.5])
        claimed = [loss.delta(epsilon) for epsilon in epsilons]
        assert_allclose(law_formulas.delta(law, shifts, epsilons), claimed, rtol=1e-3)


def test_exact_sums_of_one_geometric_shift_are_the_closed_form():
    law, d, epsilon = Laplace(0.25), 6, 0.5
    q = math.exp(-0.25)
    mass = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-300, 301)]
    wanted = sum(max(0.0, mass[z - d] - math.exp(epsilon) * mass[z]) for z in range(d, 601))
    assert float(exact_delta(law, (d, 0), epsilon)) == pytest.approx(wanted, rel=1e-4)


def test_exact_sums_of_two_shifts_are_bounded_by_gaussian_differential_privacy():
    mu = math.hypot(5, 5) / 12
    wanted = float(stats.norm.cdf(mu / 2) - stats.norm.cdf(-mu / 2))  # δ(0)
    found = float(exact_delta(Gaussian(12.0), (5, 5), 0.0))
    assert found <= wanted
    assert found == pytest.approx(wanted, rel=2e-3)  # rounding loses about 1/(24 σ²)


def test_a_coarser_grid_keeps_the_shape():
    assert scaled(Gaussian(8.0), 0.5) == Gaussian(4.0)
    assert scaled(Laplace(0.5), 0.25) == Laplace(2.0)
    assert scaled(Huber(0.25, 8), 0.5) == Huber(0.5, 4)


def test_runs_that_coincide_by_chance_are_shorter_than_unlikely_ones():
    law = Laplace(1.0)
    p = np.array([(1 - 1 / math.e) / (1 + 1 / math.e) * math.exp(-abs(z)) for z in range(-60, 61)])
    same = float(np.sum(p**2))
    length = law_formulas.unlikely(law, 1000, 1e-12)
    assert 1000**2 * same**length <= 1e-12 < 1000**2 * same ** (length - 1)


# The mechanism --------------------------------------------------------------------------------


def test_r_is_the_dense_matrix_of_the_factorization():
    made = [plan("gaussian"), plan("laplace"), plan("huber")]
    made.append(hf.plan(hf.NoDecay(), ONE, horizon=40, method="normalized"))
    for one in made:
        dense = one.pair.matrices(40)[1] * 2.0**one.bits
        assert_allclose(right(one, np.eye(40, dtype=np.int64)), dense, atol=1e-6)


def test_l_is_the_dense_matrix_of_the_factorization():
    for one in (plan("gaussian"), plan("laplace")):
        dense = one.pair.matrices(30)[0] * one.unit
        assert_allclose(left(one, 30)[0], dense, atol=1e-12 * np.max(np.abs(dense)))


def test_chosen_noise_is_recovered_from_releases():
    rng = np.random.default_rng(1)
    for made in (plan("gaussian"), plan("laplace"), plan("huber", keys=["a", "b"])):
        z = rng.integers(-(10**6), 10**6, size=(30, made.grid.lanes))
        units = rng.integers(0, 50, size=z.shape)
        found = released(made.start(ChosenNoise(z)), units)
        assert legible(made, found) == 30
        assert np.array_equal(np.rint(crossed(made, found)), z + right(made, units))


def test_releases_that_are_too_large_are_not_legible():
    made = plan("gaussian")
    assert legible(made, np.full((30, 1), 1e12)) == 1


def test_releases_without_noise_are_the_decayed_sum():
    made = hf.plan(hf.Exponential(half_life=1), ONE, method="square_root")
    units = np.array([[1024], [0], [0]])
    found = released(made.start(ChosenNoise(0 * units)), units)
    assert_allclose(found.ravel(), [1.0, 0.5, 0.25])


# Records and persons --------------------------------------------------------------------------


def test_a_record_counts_its_clipped_units():
    made = hf.plan(hf.SlidingWindow(length=3), ONE, low=-1, high=2, resolution=0.25)
    known = {one.record: one.units.tolist() for one in each_record(case(made))}
    assert known[-1.0] == known[-1e300] == [-4]
    assert known[2.0] == known[1e300] == known[119.0] == [8]


def test_a_mean_spreads_a_record_over_two_lanes():
    made = hf.plan(
        hf.SlidingWindow(length=3), ONE, statistic=hf.Mean(low=0, high=1), resolution=0.25
    )
    assert {tuple(one.units.tolist()) for one in each_record(case(made))} >= {
        (0, 4),
        (4, 0),
        (2, 2),
    }


def test_samples_cover_every_kind_of_statistic():
    for name, made in plans.statistics():
        found = samples(made, np.random.default_rng(1))
        made.start().step(placed(made, [(0, record) for record in found]))
        assert len(found) >= 2, name


def test_the_worst_person_moves_r_by_the_sensitivity_of_the_plan():
    several = replace(ONE, protects=hf.Person(steps=3, apart=2, records_per_step=2))
    for guarantee in (ONE, SWAP, several):
        for more in ({}, {"low": -1, "high": 2}):
            made = plan("gaussian", guarantee, **more)
            worst = max(one.square for one in persons(case(made)))
            assert math.sqrt(worst) * made.unit == pytest.approx(made.sensitivity, rel=1e-9)


def test_a_replaced_record_may_move_to_another_key():
    made = plan("gaussian", SWAP, keys=["a", "b"])
    worst = max(persons(case(made)), key=lambda one: one.square)
    assert sorted(worst.units[0].tolist()) == [-1024, 1024]
    assert math.sqrt(worst.square) * made.unit == pytest.approx(made.sensitivity, rel=1e-9)


def test_persons_keep_the_limits_of_the_guarantee():
    unit = hf.Person(steps=4, apart=3)
    for made in (
        plan("gaussian", replace(ONE, protects=unit)),
        dict(plans.units())["4 steps, normalized"],
    ):
        for one in persons(case(made)):
            steps = sorted(one.steps)
            assert len(steps) <= 4
            assert min(np.diff(steps)) >= 3
            assert steps[0] >= 0


def test_shifts_are_those_of_the_taps():
    made = plan("gaussian")
    worst = max(persons(case(made)), key=lambda one: one.square)
    assert worst.sizes == Counter((1024 * made.taps.integers).tolist())


def test_a_refusal_is_one_of_hushfades_errors():
    assert refuses(lambda: plan("gaussian").start().step_units(1 << 62))
    with pytest.raises(ZeroDivisionError):
        refuses(lambda: 1 / 0)


# Statistical checks ---------------------------------------------------------------------------


def test_draws_of_the_law_pass_and_draws_of_a_narrower_law_fail():
    for law in ALL_LAWS:
        noise = hf.UnsafeSeededNoise(3).bound(b"")
        z = noise.draws(table(law), 0, 200_000, 1)[:, 0]
        assert all(one.passed for one in of_law("draws", law, z)), law
        narrow = noise.draws(table(scaled(law, 0.95)), 0, 200_000, 1)[:, 0]
        assert not all(one.passed for one in of_law("draws", law, narrow)), law


def test_the_p_values_of_correct_draws_are_spread_over_the_unit_interval():
    ps, law = [], Laplace(0.01)
    for seed in range(60):
        z = hf.UnsafeSeededNoise(seed).bound(b"").draws(table(law), 0, 5000, 1)[:, 0]
        ps += [one.p for one in of_law("draws", law, z) if one.p is not None]
    assert min(ps) > 1e-5
    assert stats.kstest(np.array(ps), "uniform").pvalue > 1e-4


def test_the_lower_bound_on_delta_is_that_of_clopper_and_pearson():
    one, other = np.repeat([2.0, 0.0], [70, 30]), np.repeat([2.0, 0.0], [20, 80])
    least, seen = event(one, other, 0.5)
    level = 1e-10 / 16
    hits = stats.binomtest(70, 100, alternative="greater").proportion_ci(1 - level).low
    false = stats.binomtest(20, 100, alternative="less").proportion_ci(1 - level).high
    assert least == pytest.approx(hits - math.exp(0.5) * false, abs=1e-6)
    assert seen == pytest.approx(0.7 - math.exp(0.5) * 0.2)


def test_two_inputs_that_differ_visibly_exceed_every_delta():
    least, _ = event(np.full(1000, 9.0), np.zeros(1000), 1.0)
    assert least > 0.85
