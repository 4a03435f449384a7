"""The number of bins of quantiles: the predicted error, and the choice with the smallest one."""

import math
from functools import cache

import numpy as np

import hushfade as hf
from hushfade.planning import quantile_bins
from hushfade.planning.search_taps import compared_steps
from hushfade.public.statistics.quantiles import branches

WEEK, ONE = hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6)


@cache
def planned(statistic):
    return hf.plan(WEEK, ONE, statistic=statistic)


def asked(expect, bins=None, levels=1):
    return hf.Quantiles([0.5, 0.9], 0, 1, bins=bins, levels=levels, expect=expect)


def test_the_predicted_noise_is_the_noise_of_ranks():
    """The variance of 2000 simulated ranks of Gaussian noise; its relative error is 3.2 %."""
    rng = np.random.default_rng(1)
    for bins, levels in ((64, 1), (64, 2), (64, 3)):
        statistic = asked(1e-9, bins, levels)  # no records: the error is the noise alone
        assert branches(bins, levels) is not None
        lanes = rng.normal(0.0, 3.0, (2000, len(statistic.parts)))
        below = statistic.tree.below(lanes)
        variance = np.mean([np.var(below - q * below[:, -1:], axis=0).mean() for q in (0.5, 0.9)])
        predicted = quantile_bins.rank_error(statistic, bins, levels, 3.0)
        assert abs(variance / predicted**2 - 1.0) < 5 * 0.032, (bins, levels)


def test_the_choice_is_the_best_of_all_bins_and_levels():
    """Levels that were left out early would not have been better."""
    for expect in (50, 1000, 10_000, 1_000_000):
        errors = {}
        for levels, several in quantile_bins._BINS.items():
            trial = planned(asked(None, several[0], levels))
            noise = trial.max_stddev(compared_steps(WEEK, None))
            for bins in several:
                errors[bins, levels] = quantile_bins.settled_error(
                    asked(expect), bins, levels, noise
                )
        chosen = quantile_bins.chosen_bins(
            asked(expect), lambda one: planned(asked(None, one.bins, one.levels))
        ).statistic
        assert errors[chosen.bins, chosen.levels] == min(errors.values()), expect


def test_the_chosen_plan_is_the_plan_of_its_bins():
    chosen = hf.plan(WEEK, ONE, statistic=asked(1000), keys=["a", "b"])
    direct = hf.plan(WEEK, ONE, statistic=chosen.statistic, keys=["a", "b"])
    assert chosen.to_json() == direct.to_json()
    assert chosen.digest == direct.digest
    assert chosen.statistic.expect == 1000


def test_more_expected_records_have_more_bins():
    bins = [
        quantile_bins.chosen_bins(
            asked(expect), lambda one: planned(asked(None, one.bins, one.levels))
        ).statistic.bins
        for expect in (100, 10_000, 1_000_000)
    ]
    assert bins == sorted(bins)
    assert bins[0] < bins[-1]


def test_the_error_inside_a_bin_falls_with_the_number_of_bins():
    found = [quantile_bins.rank_error(asked(1e6), bins, 1, 1e-6) for bins in (8, 64)]
    assert math.isclose(found[0], 8 * found[1], rel_tol=1e-6)
