"""The noise of ranks, and the error inside a bin as a share of the average records per bin.

Simulated releases with normal noise, on records of several shapes, for all bins and levels that a
plan compares.  A factor is good if the bins that it chooses have nearly the smallest error.
"""

from __future__ import annotations

import math

import numpy as np

import hushfade as hf
from hushfade.check import Column, Matrix
from hushfade.public.statistics.quantiles import branches
from lab.progress import progress
from lab.tables.page import table

FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0)
COUNTS = (100, 1000, 10_000, 100_000)
ASKED = (0.5, 0.9)
REPEATS = 60
SMALL = 0.001  # a rank error that does not matter, as a share of the records
CHOICES = [(1 << k, 1) for k in range(3, 11)] + [
    (16, 2), (64, 2), (256, 2), (1024, 2), (64, 3), (512, 3), (4096, 3), (256, 4),
]  # fmt: skip


def factor_table(real: dict[str, Column], noises: dict[str, dict[int, float]]) -> tuple[str, str]:
    """Words and a table: the error of the chosen bins over the smallest error of all bins."""
    rng = np.random.default_rng(1)
    shapes: dict[str, tuple[Column, float, float]] = {
        "delays": (real["delays"], -31.5, 224.5),
        "visits": (real["visits"], -0.5, 63.5),
        "lognormal": (rng.lognormal(5.0, 0.8, 100_000), 0.0, 2000.0),
        "uniform": (rng.uniform(0.0, 1.0, 100_000), 0.0, 1.0),
        "normal, bounds at 10 standard deviations": (rng.normal(size=100_000), -10.0, 10.0),
        "normal, bounds at 40 standard deviations": (rng.normal(size=100_000), -40.0, 40.0),
    }
    ratios: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    for levels_noise in noises.values():
        for count in COUNTS:
            for name, (records, low, high) in shapes.items():
                whole = name in real
                found = {
                    one: _error(rng, records, low, high, count, levels_noise, one, whole)
                    for one in CHOICES
                }
                for factor in FACTORS:
                    chosen = min(CHOICES, key=lambda c: _predicted(c, count, factor, levels_noise))
                    # an error of zero would make ratios meaningless
                    most = SMALL * count
                    ratios[factor].append((found[chosen] + most) / (min(found.values()) + most))
            progress(f"factors of bins, {count}")
    words = (
        f"{len(shapes)} shapes of records (delays, visits, a uniform, a lognormal and two normal "
        f"distributions), {len(COUNTS)} counts from {COUNTS[0]} to {COUNTS[-1]:,}, and the noise "
        f"of {' and of '.join(f'a {name}' for name in noises)}.  A ratio is the rank error of the "
        "chosen bins over the smallest error of all bins, each plus 0.1 % of the records."
    )
    rows = [
        [f"{factor:g}", f"{math.exp(np.mean(np.log(found))):.2f}", f"{max(found):.2f}"]
        for factor, found in ratios.items()
    ]
    return words, table(["factor", "geometric mean ratio", "largest ratio"], rows)


def _statistic(low: float, high: float, choice: tuple[int, int]) -> hf.Quantiles:
    bins, levels = choice
    return hf.Quantiles(ASKED, low, high, bins=bins, levels=levels)


def _predicted(
    choice: tuple[int, int], count: int, factor: float, noise: dict[int, float]
) -> float:
    bins, levels = choice
    assert branches(bins, levels) is not None
    tree = _statistic(0.0, 1.0, choice).tree
    energy = np.mean([np.mean(tree.rank_moments(q).energy) for q in ASKED])
    return math.hypot(noise[levels] * math.sqrt(energy), factor * count / bins)


def _error(
    rng: np.random.Generator, records: Column, low: float, high: float, count: int,
    noise: dict[int, float], choice: tuple[int, int], whole: bool,
) -> float:  # fmt: skip
    """The root mean square rank error of some releases, in records."""
    statistic = _statistic(low, high, choice)
    drawn = rng.choice(records, count)
    lanes = np.zeros(len(statistic.parts))
    places, _ = statistic.lanes(statistic.codes(drawn), 1)
    np.add.at(lanes, places.ravel(), 1.0)
    values = statistic.value(lanes + rng.normal(0.0, noise[choice[1]], (REPEATS, len(lanes))))
    ordered = np.sort(np.clip(drawn, low, high))
    values = np.rint(values) if whole else values
    wanted = np.array(ASKED) * count
    below, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    errors = np.maximum(np.maximum(below - wanted, wanted - upto), 0.0)
    return float(np.sqrt(np.mean(errors**2)))


def squares_table(noises: dict[int, float]) -> str:
    """The noise of ranks with least squares and without, relative to flat bins."""
    rows = []
    flat = noises[1]
    for bins, levels in ((64, 2), (256, 2), (64, 3), (512, 3), (4096, 3)):
        statistic = hf.Quantiles(ASKED, 0, 1, bins=bins, levels=levels)
        noise = noises[levels]
        alone = hf.Quantiles(ASKED, 0, 1, bins=bins)
        energies = [
            [np.mean(one.tree.rank_moments(q).energy) for q in ASKED] for one in (alone, statistic)
        ]
        fewest = [np.mean(np.square(_fewest(statistic, q)).sum(axis=1)) for q in ASKED]
        base = flat * math.sqrt(np.mean(energies[0]))
        rows.append([
            f"{bins}", f"{levels}", f"{noise * math.sqrt(np.mean(fewest)) / base:.2f}",
            f"{noise * math.sqrt(np.mean(energies[1])) / base:.2f}",
        ])  # fmt: skip
    return table(["bins", "levels", "fewest counts", "least squares"], rows)


def _fewest(statistic: hf.Quantiles, quantile: float) -> Matrix:
    """The weights of the lanes in a rank minus its share of the count, (edges, lanes)."""
    sizes, bins = statistic.sizes, statistic.sizes[-1]
    starts = np.cumsum((0, *sizes))
    weights = np.zeros((bins + 1, starts[-1]))
    for edge in range(bins + 1):
        done = 0
        for start, size in zip(starts, sizes, strict=False):
            below = edge * size // bins
            weights[edge, start + done : start + below] = 1.0
            done = below * sizes[0]
    return np.asarray(weights - quantile * weights[-1])
