"""The μ-test: does the mechanism shift its output by more than the guarantee allows?

Two neighbouring streams differ in one person's records.  The likelihood ratio of their releases is
a function of <Δv, y> / ‖Δv‖, where y = L⁻¹ s is what crossed and Δv = R Δx.  For Gaussian noise its
shift over its standard deviation is μ; no statistic tells the streams apart better.  Many
independent copies run as lanes of one keyed stream, so a test takes a fraction of a second.
"""

from dataclasses import dataclass, replace

import numpy as np

from hushfade import UnsafeSeededNoise
from hushfade.factors import factorization, power_series
from hushfade.planning.largest_total import sized
from tests.gaussian_plans import plan

COPIES = 60_000


@dataclass
class Measured:
    mu: float
    error: float  # one standard error

    def above(self, claimed, errors=5.0):
        return self.mu > claimed + errors * self.error

    def agrees(self, claimed, errors=5.0):
        return abs(self.mu - claimed) <= errors * self.error


def many(decay, guarantee, copies=COPIES, **arguments):
    """The plan with a lane for each copy.  One key changes at a time, as for a single stream.

    Unbounded counting keeps 2^21 totals per lane; here its taps are cut, which makes another right
    factor of the same law, with its own sensitivity.
    """
    found = plan(decay, guarantee, keys=[str(k) for k in range(copies)], **arguments)
    if arguments.get("method") == "unbounded":
        pair = factorization.unbounded_counting().rounded(12, longest=128)
        found = sized(replace(found, pair=pair))
    return found


def crossed(found, released):
    """y from s: u = s / g, y = u r̃, both triangular, so nothing is lost."""
    n = len(released)
    to_y = power_series.multiply(power_series.inverse(found.decay.weights(n)), found.pair.right(n))
    gain = np.ones(n) if found.pair.gain is None else found.pair.gain[:n]
    out = np.zeros_like(released)
    for k in range(n):
        out[k:] += to_y[k] * released[: n - k]
    return out * gain[:, None]


def released(found, totals, seed, lanes=None):
    """s of each lane for one column of totals, the same in every lane."""
    lanes = found.grid.lanes if lanes is None else lanes
    block = np.repeat(np.asarray(totals, dtype=float)[:, None], lanes, axis=1)
    return found.start(UnsafeSeededNoise(seed)).run(block)


def measure(found, x, other, run=released, direction=None):
    """μ of x against other, from their releases by `run(found, totals, seed)`."""
    x, other = np.asarray(x, dtype=float), np.asarray(other, dtype=float)
    n = len(x)
    R = found.pair.matrices(n)[1]
    shift = R @ (other - x if direction is None else direction)
    unit = shift / np.linalg.norm(shift)
    a = unit @ crossed(found, run(found, x, 101))
    b = unit @ crossed(found, run(found, other, 202))
    spread = np.sqrt((a.var() + b.var()) / 2)
    mu = (b.mean() - a.mean()) / spread
    return Measured(float(mu), float(np.sqrt(1 / len(a) + 1 / len(b)) * np.sqrt(1 + mu**2 / 4)))
