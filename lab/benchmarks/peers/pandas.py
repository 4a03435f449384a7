"""pandas: an exponentially weighted mean of a complete series, without privacy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lab.benchmarks.peers.protocol import Work, serve

pandas: Any = import_module("pandas")

STEPS = 10**6


def weighted() -> Work:
    """10^6 steps of the weighted mean with half-life 24: `run` without noise, scaled."""
    series = pandas.Series(np.random.default_rng(2).integers(0, 100, size=STEPS).astype(float))
    return Work(lambda: series.ewm(halflife=24, adjust=False).mean(), STEPS)


if __name__ == "__main__":
    serve({"ewm mean, half-life 24": weighted}, ["pandas", "numpy"])
