"""Plans of every decay, law, method, relation, unit and statistic, for the audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import hushfade as hf
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.planner import plan

ONE, PURE = hf.Guarantee(1, 1e-6), hf.Guarantee(1, 0)
SWAP = replace(ONE, neighbours="replace")
DAY, WEEK = hf.Exponential(half_life=8), hf.SlidingWindow(length=7)
MIXED = 0.7 * hf.Exponential(half_life=12) + 0.3 * hf.PowerLaw(power=1)
METHODS: tuple[tuple[Method, LawName], ...] = (
    ("square_root", "gaussian"), ("input", "laplace"), ("blend", "huber"),
)  # fmt: skip


def statistics() -> Iterator[tuple[str, hf.Plan]]:
    """A plan of every statistic."""
    yield "share", plan(WEEK, ONE, statistic=hf.Share(of="late"))
    yield "variance, Huber", plan(DAY, ONE, statistic=hf.Variance(low=-2, high=6), method="blend")
    yield "ratio", plan(WEEK, ONE, statistic=hf.Ratio(numerator=6, denominator=3, most=5))
    edges = [0, 1, 5, 10]
    yield "histogram, Laplace", plan(WEEK, PURE, statistic=hf.Histogram(edges), keys=["a", "b"])
    found = hf.Quantiles([0.5], 0, 10, bins=16, levels=2)
    yield "quantiles, Gaussian", plan(DAY, SWAP, statistic=found, method="square_root")
    several = replace(SWAP, protects=hf.Person(records_per_step=2))
    yield "mean, replaced", plan(WEEK, several, statistic=hf.Mean(low=-2, high=6), keys=["a", "b"])
    yield "count", plan(WEEK, ONE, statistic=hf.Count())


def units() -> Iterator[tuple[str, hf.Plan]]:
    """A plan of every unit, and plans of whole numbers."""
    person = hf.Person
    often, week = (
        replace(ONE, protects=person(steps=4, apart=3)),
        replace(ONE, protects=person(within=7)),
    )
    month = replace(SWAP, protects=person(period="month", steps=3, records_per_step=2))
    far = replace(ONE, protects=person(steps=2, apart=200))
    yield "4 steps, root", plan(DAY, often, method="square_root")
    yield "within 7, window", plan(WEEK, week, method="square_root")
    yield "3 days of a month", plan(DAY, month, every="1d", low=-1, high=2, method="square_root")
    yield "2 steps, Huber", plan(WEEK, far, law="huber")
    yield (
        "4 steps, normalized",
        plan(hf.NoDecay(), often, horizon=64, method="normalized", resolution=2.0**-6),
    )
    moved = replace(SWAP, protects=person(records_per_step=2))
    yield "moved keys", plan(hf.PowerLaw(power=1), moved, keys=list("abcd"), law="gaussian")
    yield "whole numbers, pure", plan(WEEK, PURE, resolution=1.0)
    yield "whole numbers, large epsilon", plan(WEEK, hf.Guarantee(8, 0), resolution=1.0)
    yield "unbounded", plan(hf.NoDecay(), ONE, method="unbounded", expect=1 << 16)
    yield "blocks, window", plan(hf.SlidingWindow(length=60), PURE, method="blocks")
    yield "one step", plan(hf.NoDecay(), ONE, horizon=1)
    yield "mu", plan(DAY, hf.Guarantee.from_mu(0.5))
    yield "fine grid", plan(DAY, ONE, high=5.0, resolution=2.0**-30)


def mechanisms() -> Iterator[tuple[str, hf.Plan]]:
    """Plans of every decay, relation, method and law."""
    decays = {
        "exponential": DAY, "power ½": hf.PowerLaw(power=0.5), "power 2": hf.PowerLaw(power=2),
        "window": WEEK, "list": hf.CustomDecay((1, 0.5, 0.25, 0.1)), "mixture": MIXED,
        "counting": hf.NoDecay(),
    }  # fmt: skip
    for name, decay in decays.items():
        for guarantee in (ONE, SWAP):
            horizon = 64 if not decay.horizon_free else None
            title = f"{name}, {guarantee.neighbours}"
            for method, law in METHODS:
                made = plan(decay, guarantee, horizon=horizon, method=method, law=law)
                yield f"{title}, {method}, {law}", made
            made = plan(decay, guarantee, horizon=64, method="normalized")
            yield f"{title}, normalized", made
