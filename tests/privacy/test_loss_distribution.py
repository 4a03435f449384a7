"""δ(ε) of shifted noise is an upper bound, and tight."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushfade import delta_of
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.laws.law import between
from hushfade.privacy import loss_distribution, rounded_losses
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.loss_distribution import COARSE, Losses
from hushfade.privacy.rounded_losses import Shift

UNIT = 1 << 16
SLACK = 1e-3  # in ε: what the bound may exceed the truth by

LAWS = {
    "laplace": Laplace(0.5 / UNIT),
    "sharp": Huber(0.5 / UNIT, UNIT // 4),
    "huber": Huber(0.4 / UNIT, 4 * UNIT),
    "blunt": Huber(0.6 / UNIT, 20 * UNIT),
    "gaussian": Gaussian(4.0 * UNIT),
}
SHIFTS = {
    "one": [Shift(UNIT, 1)],
    "three": [Shift(UNIT // 3, 3)],
    "falling": [Shift(UNIT // n, n) for n in (1, 2, 3, 5, 8)],
    "many": [Shift(UNIT, 1), Shift(UNIT // 50, 1000)],
}


def geometric_delta(sizes, epsilon):
    """δ(ε) for q = ½, exactly: losses are whole multiples of ln 2."""
    half, masses = Fraction(1, 2), {0: Fraction(1)}
    for d in sizes:
        single = {}
        for z in range(-200, 200 + d):
            k = abs(z - d) - abs(z)
            single[k] = single.get(k, 0) + Fraction(1, 3) * half ** abs(z)
        new = {}
        for (a, p), (b, q) in itertools.product(masses.items(), single.items()):
            new[a + b] = new.get(a + b, 0) + p * q
        masses = new
    with mpmath.workdps(40):
        log2, e = mpmath.log(2), mpmath.mpf(epsilon)
        return float(sum(
            mpmath.mpf(p.numerator) / p.denominator * (1 - mpmath.exp(e - k * log2))
            for k, p in masses.items() if k * log2 > e
        ))  # fmt: skip


def test_the_bound_meets_exact_enumeration_of_geometric_noise():
    for sizes in ([1], [3], [1, 1], [2, 1], [3, 2, 1, 1], [1] * 6):
        counted = [Shift(d, sizes.count(d)) for d in sorted(set(sizes))]
        loss = Losses([(Laplace(math.log(2.0)), counted)])
        for epsilon in (0.0, 0.2, 0.7, 1.5, 2.3):
            exact = geometric_delta(sizes, epsilon)
            above = geometric_delta(sizes, max(epsilon - SLACK, 0.0)) if epsilon else exact * 1.001
            found = loss.delta(epsilon)
            where = f"shifts {sizes}, ε = {epsilon}"
            assert found >= exact * (1 - 1e-12), where
            assert found <= above + 1e-12, where


def test_the_bound_meets_the_closed_form_of_one_laplace_shift():
    loss = Losses([(Laplace(1e-5), [Shift(100_000, 1)])])  # ε = 1
    for epsilon in (0.0, 0.1, 0.5, 0.9, 0.999):
        exact = 1.0 - math.exp((epsilon - 1.0) / 2.0)
        assert exact * (1 - 1e-9) <= loss.delta(epsilon) <= exact + 5e-4, epsilon
    assert loss.delta(loss.largest) == 0.0 < loss.largest - 1.0 < 1e-15  # 1e-5 is rounded up


def test_the_bound_meets_gaussian_privacy_however_the_shift_is_cut():
    for mu in (0.1, 0.236704, 1.0, 3.0):
        for parts in (1, 4, 100):
            size = round(UNIT * 64 / math.sqrt(parts))
            true = size * math.sqrt(parts) / (UNIT * 64) * mu
            loss = Losses([(Gaussian(64 * UNIT / mu), [Shift(size, parts)])])
            for epsilon in (0.2, 1.0, 4.0):
                exact = delta_of(true, epsilon)
                nearer = delta_of(true, epsilon - SLACK)
                if exact > 1e-200:
                    found = loss.delta(epsilon)
                    where = f"μ = {mu} in {parts}, ε = {epsilon}: {found} for {exact}"
                    assert exact * (1 - 1e-9) <= found <= nearer, where


def test_the_bound_is_never_below_dp_accounting_and_at_most_half_a_percent_above():
    from dp_accounting.pld import privacy_loss_distribution as pld

    def peer(optimistic):
        made = [
            pld.from_laplace_mechanism(
                parameter=1.0 / slope, value_discretization_interval=1e-4,
                pessimistic_estimate=not optimistic, use_connect_dots=not optimistic,
            ).self_compose(times)
            for slope, times in parts
        ]  # fmt: skip
        made += [
            pld.from_gaussian_mechanism(
                standard_deviation=1.0 / mu, value_discretization_interval=1e-4,
                pessimistic_estimate=not optimistic, use_connect_dots=not optimistic,
            )
        ] if mu else []  # fmt: skip
        total = made[0]
        for one in made[1:]:
            total = total.compose(one)
        return total

    for parts, mu in (
        ([(0.5, 2)], 0.0),
        ([(0.1, 30)], 0.0),
        ([(0.3, 3), (0.05, 40)], 0.2),
        ([(1.0, 1), (0.2, 5)], 0.5),
    ):
        shifted = [(Laplace(slope / UNIT), [Shift(UNIT, times)]) for slope, times in parts]
        if mu:
            shifted.append((Gaussian(UNIT / mu), [Shift(UNIT, 1)]))
        loss = Losses(shifted)
        for delta in (1e-3, 1e-5, 1e-7):
            found = loss.epsilon(delta)
            low = peer(optimistic=True).get_epsilon_for_delta(delta)
            high = peer(optimistic=False).get_epsilon_for_delta(delta)
            assert low * (1 - 1e-6) <= found <= high * 1.005, (parts, mu, delta, found, low, high)


@pytest.mark.slow
def test_the_bound_meets_importance_sampling_at_delta_1e_6():
    # half-life 60, r = 1 + ½ (√g - 1), κ = 2, slope 0.467 for records in [0, 1]
    a = np.cumprod(np.append(1.0, 1.0 - 0.5 / np.arange(1, 300))) * 0.5 ** (np.arange(300) / 60)
    sizes = np.rint(np.append(1.0, 0.5 * a[1:]) * 256).astype(int) * (UNIT // 256)
    slope = 0.467 / UNIT
    law = Huber(slope, round(2.0 / slope))
    counted = zip(*np.unique(sizes, return_counts=True), strict=True)
    shifts = [Shift(int(d), int(n)) for d, n in counted if d]
    bound = Losses([(law, shifts)]).delta(1.0)
    estimate, error = sampled_delta(law, sizes[sizes > 0], 1.0, 200_000, seed=1)
    assert error < 0.04 * estimate
    assert abs(bound - estimate) < 5 * error, (bound, estimate, error)


def sampled_delta(law, sizes, epsilon, count, seed, tilt=20.0):
    """δ(ε) by drawing z from p(z)^(1+θ) p(z - d)^-θ, and weighting back."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-60 / law.slope, 60 / law.slope, 40_001)
    log_p = np.where(
        np.abs(grid) <= law.core,
        -law.slope * grid**2 / (2 * law.core),
        -law.slope * (np.abs(grid) - law.core / 2),
    )
    total, log_weight = np.zeros(count), np.zeros(count)
    for d, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        shifted = np.abs(grid - d)
        log_q = np.where(
            shifted <= law.core,
            -law.slope * shifted**2 / (2 * law.core),
            -law.slope * (shifted - law.core / 2),
        )
        loss = log_p - log_q
        p = np.exp(log_p)
        p /= p.sum()
        tilted = p * np.exp(tilt * loss)
        mass = tilted.sum()
        cumulative = np.cumsum(tilted / mass)
        for _ in range(times):
            at = np.minimum(np.searchsorted(cumulative, rng.random(count)), len(grid) - 1)
            total += loss[at]
            log_weight += math.log(mass) - tilt * loss[at]
    terms = np.exp(log_weight) * -np.expm1(np.minimum(epsilon - total, 0.0))
    return float(terms.mean()), float(terms.std() / math.sqrt(count))


def test_delta_falls_and_epsilon_inverts_it():
    for name, law in LAWS.items():
        for kind, shifts in SHIFTS.items():
            loss = Losses([(law, shifts)])
            values = [loss.delta(e) for e in (0.0, 0.3, 0.6, 1.0, 2.0)]
            assert all(a >= b for a, b in itertools.pairwise(values)), (name, kind, values)
            for delta in (1e-2, 1e-8):
                epsilon = loss.epsilon(delta)
                assert loss.delta(epsilon) <= delta, (name, kind, delta)
                if 0 < epsilon < loss.largest:
                    assert loss.delta(epsilon * (1 - 3e-6)) > delta * 0.999, (name, kind, delta)


def test_a_finer_grid_gives_a_smaller_bound_and_the_slack_is_small():
    finest = loss_distribution.Fineness(0.005, 0.001)
    for name, law in LAWS.items():
        for kind in ("one", "falling"):
            for delta in (1e-3, 1e-9):
                fine = Losses([(law, SHIFTS[kind])]).epsilon(delta)
                where = f"{name}, {kind}, δ = {delta}, ε = {fine}"
                finer = Losses([(law, SHIFTS[kind])], finest)
                assert finer.delta(fine) <= delta * 1.001, where
                assert finer.delta(max(fine - SLACK, 0.0)) >= delta, where
                coarse = Losses([(law, SHIFTS[kind])], COARSE).delta(fine)
                assert coarse >= delta * 0.999 or fine >= finer.largest * (1 - 1e-5), where


def test_larger_shifts_reveal_more():
    for name, law in LAWS.items():
        losses = [
            Losses([(law, [Shift(size, 3)])]).delta(0.3) for size in (UNIT // 2, UNIT, 2 * UNIT)
        ]
        assert losses == sorted(losses), name


def test_rounding_to_the_grid_keeps_both_probabilities():
    # Σ p = 1 under z, and Σ p e^-ℓ = 1 under the shifted z
    for name, law in LAWS.items():
        found = rounded_losses.block(law, [Shift(UNIT, 1), Shift(UNIT // 100, 1)], 0.05)
        losses = found.step[:, None] * np.arange(-found.reach, found.reach + 1)
        np.testing.assert_allclose(found.masses.sum(axis=1), 1.0, rtol=1e-7, err_msg=name)
        other = np.sum(found.masses * np.exp(-losses), axis=1)
        np.testing.assert_allclose(other, 1.0, rtol=1e-7, err_msg=name)


def test_probabilities_between_outcomes_are_accurate_in_both_tails():
    law = LAWS["huber"]
    low = np.array([-3e6, 2e6, -1.0, 1e5])
    high = np.array([-2e6, 3e6, 1.0, 1.1e5])
    found, _ = (column[:, 0] for column in between(law, np.stack([high, low], axis=1)))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    with mpmath.workdps(30):
        s, c = mpmath.mpf(law.slope), law.core

        def density(x):
            inside = abs(x) <= c
            return mpmath.exp(-s * x * x / (2 * c) if inside else -s * (abs(x) - mpmath.mpf(c) / 2))

        whole = 2 * mpmath.quad(density, [0, c, c + 10 / s, c + 100 / s])
        for a, b, value in zip(low, high, found, strict=True):
            exact = mpmath.quad(density, [a, b]) / whole
            assert float(exact) == pytest.approx(value, rel=1e-9)


def test_nothing_shifted_has_no_loss():
    assert Losses([]).delta(0.0) == 0.0
    assert Losses([(LAWS["huber"], [Shift(0, 5)])]).epsilon(1e-9) == 0.0


# Seeded bugs: each understates the loss, and a test above would notice --------------------------


def test_forgetting_a_tap_or_a_repetition_is_noticed():
    law, shifts = LAWS["huber"], [Shift(UNIT, 1), Shift(UNIT // 4, 10)]
    right = Losses([(law, shifts)]).delta(1.0)
    for wrong in ([Shift(UNIT, 1)], [Shift(UNIT, 1), Shift(UNIT // 4, 9)]):
        assert Losses([(law, wrong)]).delta(1.0) < 0.97 * right


def test_rounding_losses_down_is_noticed(monkeypatch):
    def down(law, shifts, fineness, right=rounded_losses.block):
        found = right(law, shifts, fineness)
        lower = np.append(found.masses[:, 1:], np.zeros((len(found.step), 1)), axis=1)
        return rounded_losses.Block(found.step, lower, found.times, found.infinite)

    monkeypatch.setattr(loss_distribution, "block", down)
    loss = Losses([(Laplace(1e-5), [Shift(100_000, 1)])])
    assert loss.delta(0.5) < 1.0 - math.exp(-0.25)


def test_the_grid_stays_small_for_any_epsilon():
    """A tiny ε is no point of the grid; a loss far wider than its deviation has a coarser one."""
    several = Losses([(Huber(0.01, 100), [Shift(60, 1), Shift(7, 90)])])
    at_zero = several.delta(0.0)
    for epsilon in (1e-5, 1e-8, 1e-300):
        assert 0.999 * at_zero <= several.delta(epsilon) <= at_zero * (1 + 1e-9)
    for slope in (33.0, 64.0):
        law, q = Laplace(slope), math.exp(-slope)
        # every draw but a share of about 2 q is 0, whose loss is the largest
        assert 1 / (1 + q) ** 3 * -math.expm1(-slope) <= Losses([(law, [Shift(1, 3)])]).delta(
            2 * slope
        )


def test_a_loss_beyond_the_range_of_exp_is_bounded():
    law = Laplace(5.0)
    truth = 1 / (1 + math.exp(-5.0)) * -math.expm1(-700.0)
    assert truth <= Losses([(law, [Shift(200, 1)])]).delta(300.0) <= 1.0
    assert Losses([(law, [Shift(1000, 1)])]).delta(300.0) <= 1.0


def test_a_delta_below_the_range_of_float64_is_not_zero():
    """All of 4000 losses are positive with a probability below 1e-1000, which is not 0."""
    largest = 4000 * LAWS["laplace"].largest_loss(UNIT)
    far = Losses([(LAWS["laplace"], [Shift(UNIT, 4000)])])
    assert 0.0 < far.delta(0.99 * largest) < 1e-300
    assert far.delta(largest) == 0.0
    assert 0.0 < PrivacyLoss.gaussian(0.1).delta(50.0) < 1e-300


def test_the_largest_loss_is_never_rounded_down():
    rng = np.random.default_rng(1)
    for slope, size, times in zip(
        rng.uniform(0.1, 1, 300), rng.integers(1, 2000, 300), rng.integers(1, 9, 300), strict=True
    ):
        largest = Losses([(Laplace(slope), [Shift(int(size), int(times))])]).largest
        assert Fraction(slope) * int(size) * int(times) <= Fraction(largest)
