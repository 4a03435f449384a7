"""Prepared answers of the service, made by formulas: the same at every run."""

from __future__ import annotations

import math
from typing import Any

from tests.serve.page.service import Service

GUARANTEE = (
    "Adding or removing any one record changes the probability of any published outcome by at most "
    "a factor of 2.72 (epsilon = 1), plus 0.000001 (delta); mu = 0.2368, rho = 0.0281."
)

KEYS = ["at", "ch", "de", "fr", "it", "li", "nl"]


def stream(name: str, **changes: Any) -> dict[str, Any]:
    """A stream of the list."""
    return {
        "name": name, "dataset": "clinics", "decay": "Exponential(half_life=24.0)",
        "guarantee": GUARANTEE, "epsilon": 1.0, "delta": 1e-6, "keys": None, "every": "1h",
        "step": 0, "stddev": 7.68, "closed": None, "ended": False, "together": None,
        "limits": "The guarantee covers one record.",
    } | changes  # fmt: skip


def release(step: int, value: float | list[float], stddev: float) -> dict[str, Any]:
    """A release, one an hour."""
    day, hour = divmod(step, 24)
    closed = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{hour:02}:00:00Z"
    return {
        "step": step,
        "closed": closed,
        "value": value,
        "stddev": stddev,
        "margin": 1.959964 * stddev,
    }


def wave(step: int, lane: int = 0) -> float:
    """A value that goes up and down by day, and wanders."""
    day = 40 * math.sin(step / 24 * 2 * math.pi + lane)
    return 260 + 90 * lane + day + 30 * math.sin(step / 150 + lane) + 8 * math.sin(step**1.7)


def deviation(step: int) -> float:
    """A standard deviation that grows to 7.68."""
    return 7.68 - 2 * math.exp(-step / 10)


def plan(question: dict[str, Any]) -> dict[str, Any]:
    """A plan whose error is 7.68 / epsilon, whatever the decay."""
    size = 7.68 / question["epsilon"]
    steps = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 1000]
    return {
        "guarantee": GUARANTEE,
        "stddev": size,
        "step": steps[-1],
        "over_time": "A record reveals at most epsilon = 0.7267 at delta = 0.000001 in the release "
        "of its own step.",
        "optimum": "Over the first 1000 steps no Gaussian factorization mechanism can have less "
        "than 99.85 % of this error.",
        "curve": {
            "step": steps,
            "stddev": [deviation(step) / question["epsilon"] for step in steps],
        },
        "alternatives": [
            {"name": "square root, Laplace noise", "largest": 1.47 * size, "ratio": 1.47},
            {"name": "input noise", "largest": 1.7 * size, "ratio": 1.7},
            {"name": "Honaker online", "largest": 3.05 * size, "ratio": 3.05},
            {"name": "one-shot releases", "largest": 1100 * size, "ratio": 1100},
        ],
        "shown": {"true": 100, "low": 100 - 1.96 * size, "high": 100 + 1.96 * size},
        "code": "import hushfade as hf\n\nplan = hf.plan(\n    hf.Exponential(half_life=24),\n"
        "    hf.Guarantee(epsilon=1, delta=1e-6),\n)",
        "command": "hushfade plan --half-life 24 --epsilon 1 --delta 1e-6 -o plan.json",
    }


def service() -> Service:
    """Three streams of two datasets: one sum, seven keys, and one that has ended."""
    releases = {
        "visits": [release(t, wave(t), deviation(t)) for t in range(1, 621)],
        "by country": [
            release(t, [wave(t, lane) for lane in range(len(KEYS))], deviation(t))
            for t in range(1, 201)
        ],
        "pilot": [release(t, wave(t) / 100, 0.25) for t in range(1, 41)],
    }
    streams = [
        stream(
            "visits", step=620, not_for_publication={"late": 12, "repeated": 3, "open_records": 345}
        ),
        stream("by country", step=200, keys=KEYS, decay="SlidingWindow(length=168)"),
        stream("pilot", step=40, dataset="sensors", ended=True, every=None, decay="NoDecay()"),
    ]
    datasets = [
        {"name": "clinics", "epsilon": 2.26, "delta": 1e-6, "spent_epsilon": 1.29,
         "left_epsilon": 1.77, "spent_delta": 1e-6, "left_delta": 1e-6, "composition": "gaussian",
         "mu": 0.5, "spent": 0.3, "left": 0.4, "next_epsilon": 1.9, "unit": None},
        {"name": "sensors", "epsilon": 1.06, "delta": 1e-6, "spent_epsilon": 1.04,
         "left_epsilon": 0.18, "spent_delta": 1e-6, "left_delta": 1e-6, "composition": "gaussian",
         "mu": 0.25, "spent": 0.2449, "left": 0.0502, "next_epsilon": 1.5, "unit": None},
    ]  # fmt: skip
    return Service(streams, datasets, releases, plan)
