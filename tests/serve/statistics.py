"""Plans with each statistic, with keys and without, and records for them as JSON and in Python."""

import numpy as np

import hushfade as hf

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
KEYS = ("at", "ch")
STATISTICS = {
    "mean": hf.Mean(low=0, high=100),
    "share": hf.Share(),
    "category": hf.Share(of="yes"),
    "variance": hf.Variance(low=0, high=100),
    "histogram": hf.Histogram(edges=[0, 18, 65, 120]),
    "quantiles": hf.Quantiles([0.5, 0.9], low=0, high=100, bins=8),
    "ratio": hf.Ratio(numerator=10, denominator=100, most=1),
}
KEYED = ("mean", "quantiles", "ratio")  # one number, several outputs, records that are lists
PLANS = {
    name: hf.plan(hf.SlidingWindow(length=3), ONE, statistic=statistic, law="laplace")
    for name, statistic in STATISTICS.items()
} | {
    f"{name} by key": hf.plan(
        hf.SlidingWindow(length=3), ONE, statistic=STATISTICS[name], keys=KEYS, law="laplace"
    )
    for name in KEYED
}  # Laplace noise is planned fast
KINDS = {"truths": "boolean", "texts": "string", "pairs": "pair"}


def values(plan, count, seed):
    """Records of the plan's kind, without keys."""
    random = np.random.default_rng(seed)
    numbers = random.uniform(-10, 130, count).round(1)
    match plan.statistic.kind:
        case "truths":
            return [bool(one > 60) for one in numbers]
        case "texts":
            return ["yes" if one > 60 else "no" for one in numbers]
        case "pairs":
            return [[one / 10, one] for one in numbers.tolist()]
    return numbers.tolist()


def records(plan, count, seed):
    """Records as they are sent, and as `Stream.step` takes them."""
    listed = values(plan, count, seed)
    if plan.keys is None:
        return listed, listed
    keys = [KEYS[place % len(KEYS)] for place in range(count)]
    sent = [{"key": key, "value": one} for key, one in zip(keys, listed, strict=True)]
    return sent, {key: listed[place :: len(KEYS)] for place, key in enumerate(KEYS)}
