"""The error of a mean and a share, compared with other ways to spend the same guarantee.

Where the count n is large, the error of a ratio is linear in the noise.  Records lie in [0, 1], and
m is their mean.  Per record of n the standard errors are

    lanes               σ √((1 - m)² + m²)               two lanes with the noise of a count, σ
    sum over count      √(σ_sum² + m² σ_count²)
    around the middle   √(σ_sum² + (m - ½)² σ_count²)    the sum of x - ½, which changes by ½
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

import hushfade as hf
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.planning.joint_plans import JointPlan
from lab.progress import progress
from lab.tables.page import table

DECAYS: dict[str, Decay] = {
    "window of 7": hf.SlidingWindow(length=7),
    "half-life 24": hf.Exponential(half_life=24),
    "half-life 60": hf.Exponential(half_life=60),
}
MEANS = (0.1, 0.5, 0.9)
STEPS = 1000
WEIGHTS = ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))  # of the sum and the count in a joint plan
GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)
COUNTS = (14, 140, 1400)  # records in a window of 7 steps
COPIES = 4000


def separate() -> tuple[str, float]:
    """Means and shares against two plans, and the largest ratio to two plans of sum and count."""
    rows, largest = [], 0.0
    for name, decay in DECAYS.items():
        lanes = {
            "mean": hf.plan(decay, GUARANTEE, statistic=hf.Mean(low=0, high=1)).max_stddev(STEPS),
            "share": hf.plan(decay, GUARANTEE, statistic=hf.Share()).max_stddev(STEPS),
        }
        for mean in MEANS:
            for statistic, lane in lanes.items():
                ours = lane * math.hypot(1 - mean, mean)
                two, middle = (
                    min(
                        math.hypot(both.errors[0], shift * both.errors[1])
                        for both in _joint(decay, low, statistic)
                    )
                    for low, shift in ((0.0, mean), (-0.5, mean - 0.5))
                )
                largest = max(largest, ours / two)
                laws = sorted({p.law.name for both in _joint(decay, 0.0, statistic)
                               for p in both.plans})  # fmt: skip
                rows.append([name, statistic, f"{mean:g}", f"{ours / two:.2f}",
                             f"{ours / middle:.2f}", ", ".join(laws)])  # fmt: skip
        progress(f"against two plans: {name}")
    heads = ["decay", "statistic", "true value", "over two plans", "over around the middle",
             "laws of two plans"]  # fmt: skip
    return table(heads, rows), largest


@cache
def _joint(decay: Decay, low: float, statistic: str) -> tuple[JointPlan, ...]:
    """Plans of a sum and a count under one guarantee, with several weights."""
    grid = 1.0 if statistic == "share" and low == 0.0 else None
    both = [
        hf.Series(decay=decay, low=low, high=low + 1.0, resolution=grid),
        hf.Series(decay=decay, resolution=1.0),
    ]
    return tuple(hf.plan_together(both, GUARANTEE, weights=weights) for weights in WEIGHTS)


def simulated() -> str:
    """Root mean square errors of means of few records, by both ways."""
    decay = DECAYS["window of 7"]
    keys = [str(copy) for copy in range(COPIES)]
    one = hf.plan(decay, GUARANTEE, statistic=hf.Mean(low=0, high=1), keys=keys)
    rows = []
    for count in COUNTS:
        for mean in MEANS:
            records = np.full(count // 7, mean)
            units = one.grid.record_sums({keys[0]: records})[:2]
            totals = np.tile(np.tile(units, COPIES), (7, 1))
            lanes = one.start(hf.UnsafeSeededNoise(count)).run_units(totals)
            values = [one.readings(lanes[-1:], np.array([7], dtype=np.int64)).value[0]]
            for low in (0.0, -0.5):
                both = _joint(decay, low, "mean")[0]
                total, number = _noisy(both, keys, count, mean + low)
                share = np.divide(total, number, out=np.full(COPIES, 0.5 + low), where=number > 0.0)
                values.append(np.clip(share - low, 0.0, 1.0))
            errors = [math.sqrt(float(np.mean((value - mean) ** 2))) for value in values]
            rows.append([f"{count}", f"{mean:g}", *(f"{error:.4f}" for error in errors),
                         *(f"{errors[0] / other:.2f}" for other in errors[1:])])  # fmt: skip
    heads = ["records", "true mean", "hushfade", "two plans", "around the middle", "over two plans",
             "over around the middle"]  # fmt: skip
    return table(heads, rows)


def _noisy(both: JointPlan, keys: list[str], count: int, mean: float) -> Iterator[Column]:
    """Released sums and counts of the same number of records per step, one per key."""
    for place, (made, each) in enumerate(zip(both.plans, (mean, 1.0), strict=True)):
        plan = replace(made, grid=replace(made.grid, keys=tuple(keys)))
        step = plan.grid.record_sums({keys[0]: np.full(count // 7, each)})[0]
        units = np.full((7, len(keys)), step, dtype=np.int64)
        yield plan.start(hf.UnsafeSeededNoise(place)).run_units(units)[-1]


def one_shot() -> str:
    """A single release, and a release at each step of a window of 7, by other libraries' ways."""
    rows = []
    pure = hf.Guarantee(epsilon=1, delta=0)
    for words, guarantee in (("delta = 0", pure), ("delta = 1e-6", GUARANTEE)):
        for releases, decay in ((1, hf.SlidingWindow(length=1)), (7, DECAYS["window of 7"])):
            lane = hf.plan(decay, guarantee, statistic=hf.Share()).max_stddev(STEPS)
            for mean in MEANS:
                ours = lane * math.hypot(1 - mean, mean)
                opendp = _split(guarantee, releases, 1.0, mean)
                google = _split(guarantee, releases, 0.5, mean - 0.5)
                numbers = ours, opendp, google, ours / opendp, ours / google
                cells = [f"{one:.2f}" for one in numbers]
                rows.append([words, f"{releases}", f"{mean:g}", *cells])
    heads = ["guarantee", "releases of a record", "true value", "hushfade", "sum over count",
             "around the middle", "over sum over count", "over around the middle"]  # fmt: skip
    return table(heads, rows)


def _split(guarantee: hf.Guarantee, releases: int, change: float, shift: float) -> float:
    """Half of the budget for a sum and half for a count, in each of several releases.

    The better of Laplace noise, whose epsilons add up, and Gaussian noise, whose mu² add up.
    """
    laplace = math.sqrt(2.0) * 2.0 * releases / guarantee.epsilon
    noise = laplace
    if guarantee.delta > 0.0:
        noise = min(noise, math.sqrt(2.0 * releases) / guarantee.mu)
    return noise * math.hypot(change, shift)
