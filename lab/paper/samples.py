"""Many streams per decay, and the errors of their releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from hushfade.check import Column, Matrix
from hushfade.crossing.noise_sources import UnsafeSeededNoise
from hushfade.decays import Decay
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee
from lab.paper.decays import DECAYS
from lab.paper.document import Extent

GUARANTEE = Guarantee(epsilon=0.5, delta=1e-6, neighbours="replace")  # and x_t in [-1, 1]: Δ = 1
CHANGE = GUARANTEE.change(-1.0, 1.0)  # 2Δ
LANES = 250  # streams that run together; limited by the memory of plans without a horizon
HEAD = 8  # steps whose covariances are compared with L Lᵀ
PICTURED = "counting", "exponential, α = 1.1", "power 1", "window 16"


@dataclass(frozen=True, eq=False)
class Sample:
    """Statistics of the errors of many streams of one plan."""

    plan: Plan
    truth: Column
    first: Column  # one stream's releases
    bias: Column  # mean error by step
    square: Column  # mean squared error by step
    largest: Matrix  # of each stream, over the first `ends` steps: (ends, releases)
    ends: Column
    covariance: Matrix  # of the first steps
    noise: float  # mean square of z, recovered from the errors

    @property
    def releases(self) -> int:
        return len(self.largest[0])

    @property
    def stddevs(self) -> Column:
        """The standard deviations that the plan states."""
        return self.plan.stddevs(len(self.truth))


@cache  # two chapters use the same streams
def known(extent: Extent) -> Mapping[str, Sample]:
    """Streams of every decay whose plan has the horizon T."""
    steps = _steps(extent)
    return {name: sampled(k, decay, steps, steps, extent.releases)
            for k, (name, decay) in enumerate(DECAYS.items())}  # fmt: skip


@cache
def endless(extent: Extent) -> Mapping[str, Sample]:
    """Streams of the same length of decays that need no horizon, with plans without one."""
    return {
        name: sampled(50 + k, decay, None, _steps(extent), extent.releases)
        for k, (name, decay) in enumerate(DECAYS.items())
        if decay.horizon_free and (extent.full or name in PICTURED)
    }


def _steps(extent: Extent) -> int:
    return 1024 if extent.full else 256


def totals(steps: int) -> Column:
    """The stream of totals: a sine wave plus twenty people who each contribute -1 or 1."""
    rng = np.random.default_rng(5)
    people = rng.choice([-1.0, 1.0], size=(steps, 20))
    return np.asarray(np.rint(12.0 * np.sin(np.arange(steps) / 30.0)) + np.sum(people, axis=1))


def sampled(seed: int, decay: Decay, horizon: int | None, steps: int, releases: int) -> Sample:
    """Error statistics of `releases` streams of the plan with independent noise."""
    from scipy.linalg import solve_triangular

    names = [f"stream {k}" for k in range(LANES)]
    made = plan(
        decay, GUARANTEE, low=-1.0, high=1.0, horizon=horizon, keys=names, method="square_root"
    )
    x = totals(steps)
    truth = np.convolve(x, decay.weights(steps))[:steps]
    ends = np.unique(np.append(1 << np.arange(1, steps.bit_length()), steps))
    left, _ = made.pair.matrices(steps)
    total, square, noise = np.zeros(steps), np.zeros(steps), 0.0
    products, largest, first = np.zeros((HEAD, HEAD)), [], truth
    for batch in range(-(-releases // LANES)):
        stream = made.start(UnsafeSeededNoise(1000 * seed + batch))
        found = stream.run(np.repeat(x[:, None], LANES, axis=1))
        found = found[:, : releases - batch * LANES]
        error = found - truth[:, None]
        first = found[:, 0] if batch == 0 else first
        total += np.sum(error, axis=1)
        square += np.sum(error**2, axis=1)
        products += error[:HEAD] @ error[:HEAD].T
        largest.append(np.maximum.accumulate(np.abs(error), axis=0)[ends - 1])
        noise += float(np.sum(solve_triangular(left, error, lower=True) ** 2))
    return Sample(
        made, truth, first, total / releases, square / releases, np.hstack(largest), ends,
        products / releases, noise / (releases * steps),
    )  # fmt: skip
