"""The statistics over which all invariants run, with records and their true values."""

import numpy as np

import hushfade as hf

STATISTICS = {
    "mean": hf.Mean(low=-2, high=6),
    "variance": hf.Variance(low=-2, high=6),
    "share": hf.Share(),
    "share of a text": hf.Share(of="yes"),
    "ratio": hf.Ratio(numerator=6, denominator=3, most=5),
    "histogram": hf.Histogram([-2, 0, 0.3, 4, 6]),
    "quantiles": hf.Quantiles([0.1, 0.5, 0.9], -2, 6, bins=16),
    "quantiles on two levels": hf.Quantiles([0.1, 0.5, 0.9], -2, 6, bins=16, levels=2),
}


def random_records(statistic, rng, count):
    """Records of the statistic's kind, some of them at and beyond the bounds."""
    if statistic.kind == "truths":
        return rng.random(count) < 0.3
    if statistic.kind == "texts":
        return [str(word) for word in rng.choice(["yes", "no", "maybe", ""], count)]
    if statistic.kind == "pairs":
        return np.abs(rng.uniform(-2, 8, (count, 2)))
    values = rng.choice([-9.0, -2.0, 0.0, 0.3, 6.0, 60.0], count)
    return np.where(rng.random(count) < 0.5, values, rng.uniform(-3, 7, count))


def true_value(statistic, records, weights):
    """The statistic of records with weights, without noise, as a textbook defines it."""
    if statistic.name == "share":
        true = np.array(records) if statistic.of is None else np.array(records) == statistic.of
        return np.average(true, weights=weights)
    if statistic.name == "ratio":
        top, bottom = np.clip(records, 0, [statistic.numerator, statistic.denominator]).T
        return min(weights @ top / (weights @ bottom), statistic.most)
    if statistic.name == "histogram":
        clipped = np.clip(records, statistic.edges[0], statistic.edges[-1])
        return np.histogram(clipped, statistic.edges, weights=weights)[0]
    clipped = np.clip(records, statistic.low, statistic.high)
    if statistic.name == "quantiles":
        order = np.argsort(clipped, kind="stable")
        below = np.cumsum(weights[order]) / np.sum(weights)
        places = np.searchsorted(below, np.array(statistic.quantiles) - 1e-12)
        return clipped[order][np.minimum(places, len(order) - 1)]
    mean = np.average(clipped, weights=weights)
    if statistic.name == "mean":
        return mean
    return np.average((clipped - mean) ** 2, weights=weights)
