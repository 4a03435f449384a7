"""What one record can reveal through the lanes of a statistic, by brute force.

Every case enumerates or draws neighbouring datasets, computes how their lanes differ, and compares
the exact privacy loss of that difference with the loss that the plan states.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import hushfade as hf
from hushfade.laws import Huber, Laplace
from hushfade.planning import shifts
from hushfade.privacy.loss import PrivacyLoss
from tests.public.statistics.all_statistics import STATISTICS, random_records

PLANS = {  # a law each: noise on the inputs, on a blend, and on the square root
    "laplace": (hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6)),
    "huber": (hf.Exponential(half_life=30), hf.Guarantee(1, 1e-6)),
    "gaussian": (hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6)),
}


def pieces(plan):
    counts = {}
    for value, length in zip(*plan.taps.pieces, strict=True):
        counts[abs(int(value))] = counts.get(abs(int(value)), 0) + int(length)
    return sorted(counts.items())


def lanes_of(plan, records):
    return plan.grid.record_sums(records)


def pairs_of(statistic, rng, count):
    """Two records each."""
    return zip(*(random_records(statistic, rng, count) for _ in "12"), strict=True)


def test_a_record_adds_the_same_whole_to_every_level_whatever_it_is():
    rng = np.random.default_rng(1)
    for name, statistic in STATISTICS.items():
        plan = hf.plan(
            hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=statistic, method="input"
        )
        whole = plan.grid.lane_units[1]
        sizes = getattr(statistic, "sizes", (len(statistic.parts),))
        sizes = (1, 2) if statistic.name == "ratio" else sizes
        for record in random_records(statistic, rng, 100):
            lanes = lanes_of(plan, [record])
            assert (lanes >= 0).all(), name
            levels = np.split(lanes, np.cumsum(sizes)[:-1])
            sums = [level.sum() for level in levels]
            if statistic.name == "ratio":  # the numerator has no rest
                assert sums[0] <= whole == sums[1]
            else:
                assert sums == [whole] * statistic.levels, name


@pytest.mark.parametrize("law", PLANS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_change_of_one_record_reveals_more_than_the_plan_states(law, neighbours):
    """Random records, every statistic, with keys and without; the loss of each actual change."""
    rng = np.random.default_rng(2)
    for name, statistic in STATISTICS.items():
        for keys in (None, ["a", "b"]) if law == "laplace" else (["a", "b"],):
            decay, one = PLANS[law]
            guarantee = hf.Guarantee(one.epsilon, one.delta, neighbours=neighbours)
            plan = hf.plan(decay, guarantee, statistic=statistic, law=law, keys=keys)
            stated = shifts.statistic_change(guarantee, plan.grid)
            tried = set()
            for before, after in pairs_of(statistic, rng, 40):
                change = lanes_of(plan, [before] if keys is None else {rng.choice(keys): [before]})
                if neighbours == "replace":
                    later = [after] if keys is None else {rng.choice(keys): [after]}
                    change = change - lanes_of(plan, later)
                assert (change**2).sum() <= shifts.squared_change(guarantee, plan.grid), name
                assert np.abs(change).sum() <= sum(stated), name
                tried.add(tuple(sorted(int(size) for size in np.abs(change) if size)))
            if law == "gaussian":
                continue
            promised = plan.privacy.delta(guarantee.epsilon)
            assert promised <= guarantee.delta, name
            for change in sorted(tried)[:: max(1, len(tried) // 3)]:
                if not change:
                    continue
                actual = PrivacyLoss.shifted(plan.law, [shifts.merged(change, pieces(plan), 1)])
                # both sides round losses up, by less than a part in 10^3 of delta
                for epsilon in (0.3, guarantee.epsilon):
                    most = plan.privacy.delta(epsilon)
                    assert actual.delta(epsilon) <= most * (1 + 1e-3) + 1e-12, (name, change)


@pytest.mark.parametrize("law", PLANS)
def test_several_records_of_a_person_are_covered(law):
    rng = np.random.default_rng(3)
    for name in ("mean", "variance", "quantiles on two levels"):
        statistic = STATISTICS[name]
        for neighbours in ("add_remove", "replace"):
            decay, one = PLANS[law]
            guarantee = hf.Guarantee(
                one.epsilon,
                one.delta,
                neighbours=neighbours,
                protects=hf.Person(records_per_step=3),
            )
            plan = hf.plan(decay, guarantee, statistic=statistic, law=law, keys=["a", "b"])
            for _ in range(50):
                totals = []
                for _ in range(1 if neighbours == "add_remove" else 2):
                    of = {key: [] for key in ("a", "b")}
                    for record in random_records(statistic, rng, 3):
                        of[str(rng.choice(["a", "b"]))].append(record)
                    totals.append(lanes_of(plan, of))
                change = totals[0] - (totals[1] if len(totals) > 1 else 0)
                assert (change**2).sum() <= shifts.squared_change(guarantee, plan.grid), name
                for side in (change, -change):
                    most = 3 * plan.grid.lane_units[1] * statistic.levels
                    assert np.maximum(side, 0).sum() <= most, name


# Why one lane is the worst ----------------------------------------------------------------------


def exact_delta(probabilities, changes, ratio):
    """Σ max(0, P - e^ε Q) over all outcomes of some lanes with independent noise; e^ε = ratio."""
    reach = max(probabilities)
    total = Fraction(0)
    sides = [range(-reach, reach + 1 + change) for change in changes]
    for outcome in itertools.product(*sides):
        p = q = Fraction(1)
        for z, change in zip(outcome, changes, strict=True):
            p *= probabilities.get(z, Fraction(0))
            q *= probabilities.get(z - change, Fraction(0))
        total += max(Fraction(0), p - ratio * q)
    return total


def tabulated(law, reach):
    """A log-concave table of integers, as exact fractions: it need not be the law to the end."""
    weights = {z: Fraction(math.exp(float(law.log_density(z)))) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


class _Density:
    """ln p up to a constant, of the shape of a law."""

    def __init__(self, slope, core):
        self.slope, self.core = slope, core

    def log_density(self, z):
        z = abs(z)
        if z <= self.core:
            return -self.slope * z * z / (2 * self.core)
        return -self.slope * (z - self.core / 2)


@pytest.mark.parametrize(("slope", "core"), [(0.7, 0.01), (0.9, 2.0), (1.1, 40.0)])
def test_a_shift_of_one_lane_covers_every_division_of_it_among_lanes(slope, core):
    """Exact, for noise like Laplace's, Huber's and Gauss's, cut off: all of them log-concave."""
    probabilities = tabulated(_Density(slope, core), 7)
    for whole in (2, 3, 4):
        for first in range(1, whole):
            for ratio in (Fraction(1), Fraction(3, 2), Fraction(3), Fraction(8), Fraction(1, 2)):
                one = exact_delta(probabilities, (whole,), ratio)
                two = exact_delta(probabilities, (first, whole - first), ratio)
                assert two <= one, (whole, first, ratio)
    ratio = Fraction(3, 2)
    assert exact_delta(probabilities, (1, 1, 1), ratio) <= exact_delta(probabilities, (3,), ratio)


def test_without_log_concave_noise_one_lane_is_not_the_worst():
    """The control: noise with two peaks, which hides a shift by their distance."""
    probabilities = {-1: Fraction(1, 2), 1: Fraction(1, 2)}
    one = exact_delta(probabilities, (2,), Fraction(1))
    assert exact_delta(probabilities, (1, 1), Fraction(1)) > one


@pytest.mark.parametrize("law", [Laplace(slope=0.05), Huber(slope=0.05, core=20)])
def test_the_accountant_agrees_that_one_lane_is_the_worst(law):
    for parts in [(10, 10), (1, 19), (5, 5, 5, 5), (15, 3, 2)]:
        for epsilon in (0.0, 0.3, 0.8):
            one = PrivacyLoss.shifted(law, [shifts.merged((20,), [(1, 3)], 1)]).delta(epsilon)
            other = PrivacyLoss.shifted(law, [shifts.merged(parts, [(1, 3)], 1)]).delta(epsilon)
            assert other <= one * (1 + 1e-6), (parts, epsilon)


# Numbers known by hand --------------------------------------------------------------------------


def test_every_lane_of_a_statistic_has_the_noise_of_a_count():
    decay, guarantee = hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6)
    counted = hf.plan(decay, guarantee, statistic=hf.Count())
    for statistic in (hf.Share(), hf.Histogram([0, 1, 2])):
        plan = hf.plan(decay, guarantee, statistic=statistic)
        assert plan.law == counted.law
    mean = hf.plan(decay, guarantee, statistic=hf.Mean(low=5, high=7))
    plain = hf.plan(decay, guarantee, low=0, high=2)
    assert mean.law == plain.law
    assert mean.stddev(7) == plain.stddev(7)


def test_replacing_a_record_shifts_two_lanes():
    guarantee = hf.Guarantee(1, 1e-6, neighbours="replace")
    plan = hf.plan(hf.SlidingWindow(length=7), guarantee, statistic=hf.Mean(low=0, high=1))
    assert shifts.statistic_change(guarantee, plan.grid) == (1024, 1024)
    assert shifts.squared_change(guarantee, plan.grid) == 2 * 1024**2


def test_a_record_of_quantiles_shifts_a_lane_per_level():
    guarantee = hf.Guarantee(1, 1e-6)
    flat, deep = (
        hf.plan(
            hf.Exponential(half_life=24),
            guarantee,
            statistic=hf.Quantiles([0.5], 0, 1, bins=16, levels=levels),
            law="gaussian",
        )
        for levels in (1, 2)
    )
    # rounding to the grid adds 1/12 of a unit² to both variances
    assert deep.stddev(100) == pytest.approx(math.sqrt(2) * flat.stddev(100), rel=1e-6)
