"""Quantiles of records with ties, at edges and at the bounds, on one level and on several."""

import math
from functools import cache

import numpy as np
import pytest

import hushfade as hf

COPIES = 1000
KEYS = tuple(str(key) for key in range(COPIES))
QUANTILES = [0.25, 0.5, 0.9]
# two steps; with weights 1 in the window every rank is a whole number
RECORDS = {
    "one value at an edge": np.full(40, 4.0),
    "one value inside a bin": np.full(40, 4.1),
    "all below the range": np.full(40, -7.0),
    "all at the upper bound": np.full(40, 8.0),
    "a tie exactly at the rank": np.repeat([2.0, 4.0, 7.0], [10, 10, 20]),
    "whole numbers": np.tile(np.arange(9.0), 12),
    "one record": np.array([3.0]),
}


@cache
def planned(bins, levels):
    asked = hf.Quantiles(QUANTILES, 0, 8, bins=bins, levels=levels)
    return hf.plan(hf.SlidingWindow(length=3), hf.Guarantee(1, 1e-6), statistic=asked, keys=KEYS)


def truth(records):
    """The smallest value with at least a share q of the records at or below it."""
    clipped = np.sort(np.clip(records, 0, 8))
    return clipped[[math.ceil(q * len(clipped)) - 1 for q in QUANTILES]]


@pytest.mark.parametrize(("bins", "levels"), [(4, 1), (16, 1), (16, 2), (512, 3)])
def test_intervals_cover_ties_at_edges_and_at_the_bounds(bins, levels):
    """Few bins or many: it does not matter whether more or fewer records were expected."""
    plan = planned(bins, levels)
    for seed, (name, records) in enumerate(RECORDS.items()):
        totals = np.tile(plan.grid.record_sums({KEYS[0]: records})[: len(plan.statistic.parts)],
                         COPIES)  # fmt: skip
        readings = plan.readings(plan.start(hf.UnsafeSeededNoise(seed)).run_units(totals[None]))
        lower, upper = (end[0] for end in readings.interval(0.9))
        covered = ((lower <= truth(records)) & (truth(records) <= upper)).mean(axis=0)
        assert covered.min() >= 0.9 - 5 * math.sqrt(0.9 * 0.1 / COPIES), (name, covered)
        assert (lower <= upper).all(), name


def test_margins_of_one_lane_instead_of_a_rank_cover_too_little():
    """The control of the test above: a rank has the noise of several lanes."""
    plan, records = planned(16, 1), RECORDS["a tie exactly at the rank"]
    totals = np.tile(plan.grid.record_sums({KEYS[0]: records})[:16], COPIES)
    readings = plan.readings(plan.start(hf.UnsafeSeededNoise(5)).run_units(totals[None]))
    margins = readings._margins(0.9)
    few = type(margins)(
        margins.stddevs / 4, margins.multiples, margins.atoms / 4, margins.single / 4, 0.9
    )
    lower, upper = plan.statistic.interval(readings.lanes[0], few)
    covered = ((lower <= truth(records)) & (truth(records) <= upper)).mean(axis=0)
    assert covered.min() < 0.8, covered


def test_without_noise_every_quantile_is_in_its_own_bin():
    for name, records in RECORDS.items():
        asked = hf.Quantiles(QUANTILES, 0, 8, bins=16, levels=2)
        lanes = np.zeros(len(asked.parts))
        places, _ = asked.lanes(asked.codes(records), 1)
        np.add.at(lanes, places.ravel(), 1.0)
        (value,) = asked.value(lanes[None])
        assert (np.abs(value - truth(records)) <= 0.5 + 1e-9).all(), name


def test_many_bins_need_memory_for_their_lanes_only():
    asked = hf.Quantiles([0.5], 0, 1, bins=1 << 16)
    lanes = np.zeros((1, 1 << 16))
    lanes[0, 1 << 14] = 7.0
    assert asked.value(lanes)[0, 0] == pytest.approx(0.25, abs=2**-16)


def test_levels_without_bins_are_refused():
    with pytest.raises(hf.InvalidValue, match="levels needs bins"):
        hf.Quantiles([0.5], 0, 1, levels=2)
