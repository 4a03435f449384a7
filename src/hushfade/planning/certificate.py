"""The certificate of a plan: a comparison of its error with a lower bound for any mechanism.

`certificate` compares with Gaussian factorizations over all steps.  `single_step_bound` holds for
every mechanism with delta = 0 at a single step.

Repeated participation: if a person has up to k records, b steps apart, the noise must also hide
R (e_s + e_{s+b} + ...).  This is a column of R C, where C is the Toeplitz matrix of the comb
1 + x^b + ... + x^{(k-1)b}.  M C = L (R C), so γ2(M C) is a lower bound, and M C is again given by
a column of weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian
from hushfade.privacy.rounding import rounded_down
from hushfade.theory import certificates, optimum
from hushfade.theory.bound_values import Bracket, Bracketed
from hushfade.theory.optimum import UNIT

if TYPE_CHECKING:
    from hushfade.planning.planned_mechanism import PlannedMechanism

_DENSE = 256  # up to this many steps, computing the optimum takes a fraction of a second


@dataclass(frozen=True)
class Certificate(Bracketed):
    """A mechanism's error compared with the smallest error of any Gaussian factorization.

    `bracket` contains the smallest error factor of any factorization for the first `steps` steps.
    `error_factor` is the mechanism's own: its worst standard deviation in these steps, for a noise
    multiplier of 1 and records that change by 1.  A mechanism with another law of noise may have a
    smaller error factor than every Gaussian mechanism.
    """

    steps: int
    bracket: Bracket
    error_factor: float

    @property
    def ratio(self) -> float:
        """An upper bound on the mechanism's error over the least of any Gaussian factorization."""
        return self.error_factor / self.lower

    def sentence(self) -> str:
        """The claim in words, with conservative rounding."""
        over = "At step 1" if self.steps == 1 else f"Over the first {self.steps} steps"
        if self.ratio < 1.0:
            most = f"{math.ceil(1e4 * self.ratio) / 100:.2f} %"
            return (
                f"{over} this error is at most {most} of the smallest error of any Gaussian "
                "factorization. So no Gaussian mechanism with this guarantee has an error this "
                "small."
            )
        share = f"{math.floor(1e4 * self.lower / self.error_factor) / 100:.2f} %"
        return (
            f"{over} no Gaussian factorization mechanism can have less than {share} of this error."
        )


def plan_certificate(plan: PlannedMechanism, n: int) -> Certificate:
    """The certificate of a plan over its first n steps."""
    grid, guarantee = plan.grid, plan.guarantee
    if guarantee.pure:
        raise InvalidValue(
            "a certificate needs delta > 0, because it compares with Gaussian noise",
            remedy="see planning.certificate.single_step_bound for delta = 0",
        )
    if grid.norm is None:
        exact = guarantee.change(*grid.lane_bounds)
        on_grid = guarantee.change(*grid.lane_units) * grid.resolution
    else:
        exact = guarantee.vector_change(grid.norm)
        on_grid = guarantee.vector_change(float(grid.norm_unit)) * grid.resolution
    return certificate(
        plan.decay,
        n,
        plan.max_stddev(n) * guarantee.mu / min(exact, on_grid),
        participations=guarantee.protects.steps,
        separation=guarantee.protects.apart,
        gaussian=isinstance(plan.law, Gaussian),
    )


def certificate(
    decay: Decay,
    n: int,
    error_factor: float,
    *,
    participations: int = 1,
    separation: int = 1,
    gaussian: bool = True,
) -> Certificate:
    """The certificate of a mechanism with this error factor over its first n steps.

    `gaussian` states that the mechanism is itself a Gaussian factorization.

    Up to 256 steps the lower bound is the optimum, to 1e-4.  For more steps it is the explicit
    bound, which is up to 2 % lower for counting.  Cost: about a second at 2^17 steps, some seconds
    at 2^20.

    >>> from hushfade.decays import SlidingWindow
    >>> found = certificate(SlidingWindow(7), 100, 1.80)
    >>> round(found.lower, 3), found.sentence()
    (1.775, 'Over the first 100 steps no Gaussian factorization mechanism can have less than
    98.62 % of this error.')
    """
    f = decay.weights(check.count(n=n))
    k, b = check.count(participations=participations), check.count(separation=separation)
    k = min(k, 1 + (n - 1) // b)
    least, summing = _repeated(f, k, b)
    error = certificates.rounding(decay, f)
    # a Gaussian mechanism's own factor bounds the optimum from above; for k = 1 so does γ2
    most = [error_factor if gaussian else math.inf]
    if n <= _DENSE:
        found, slack = optimum.solve(least), math.sqrt(n) * (k * error + summing)
        bottom = found.lower - slack
        most += [found.upper + slack] if k == 1 else []
    else:
        bottom = certificates.lower(least, weight_error=k * error + summing).value
        most += [certificates.upper(f, weight_error=error).value] if k == 1 else []
    return Certificate(n, Bracket(bottom, min(most)), error_factor)


def _repeated(f: Column, k: int, b: int) -> tuple[Column, float]:
    """The sum of f shifted by 0, b, ..., (k-1) b, and a bound on its rounding error."""
    n = len(f)
    largest = float(np.max(np.abs(f)))
    if k <= 64:
        total = f.copy()
        for i in range(1, k):
            total[i * b :] += f[: n - i * b]
        return total, k * (k - 1) * UNIT * largest
    # the running sum minus itself k shifts earlier, with 64 bits of mantissa
    rows = -(-n // b)
    padded = np.zeros(rows * b, dtype=np.longdouble)
    padded[:n] = f
    sums = np.cumsum(padded.reshape(rows, b), axis=0).ravel()
    window = sums.copy()
    if k < rows:
        window[k * b :] -= sums[: (rows - k) * b]
    error = 2.0 * rows * rows * float(np.finfo(np.longdouble).eps) * largest
    return window[:n].astype(np.float64), error + 2.0 * UNIT * k * largest


class SingleStepBound(NamedTuple):
    """A lower bound on the standard deviation of one released value, for any mechanism."""

    stddev: float  # in the unit of the records
    records: str  # the kind of records for which the bound holds
    source: str

    def sentence(self) -> str:
        """The bound in words, rounded down."""
        return (
            f"At a single step no mechanism with delta = 0 has a standard deviation below "
            f"{rounded_down(self.stddev)} for {self.records} ({self.source})."
        )


def single_step_bound(plan: PlannedMechanism) -> SingleStepBound | None:
    """The least standard deviation of any mechanism with the plan's guarantee at a single step.

    The bound is known for delta = 0 only; otherwise the result is None.  With b = e^-ε and a
    change Δ of the step's total:

        whole records    Δ √(2b) / (1 - b)      the geometric law; Ghosh, Roughgarden,
                                                Sundararajan 2009
        real records     Δ √(2^(-2/3) b^(2/3) (1 + b)^(2/3) + b) / (1 - b)      the staircase law;
                                                Geng, Viswanath 2014, Theorem 7

    Records are whole if the plan's grid has a resolution of 1 or more.  For whole records and
    Δ > 1 the bound considers only totals that are Δ apart, so it is not tight there.

    >>> from hushfade import Guarantee, SlidingWindow, plan
    >>> counts = plan(SlidingWindow(length=7), Guarantee(epsilon=1, delta=0), resolution=1)
    >>> round(single_step_bound(counts).stddev, 4), round(counts.stddev(1), 4)
    (1.357, 1.357)
    """
    guarantee, grid = plan.guarantee, plan.grid
    if not guarantee.pure or grid.norm is not None:
        return None
    weight = abs(float(plan.decay.weights(1)[0]))
    on_grid = guarantee.change(*grid.lane_units) * grid.resolution
    if grid.resolution >= 1.0:
        least = _geometric_stddev(guarantee.epsilon)
        source = "Ghosh, Roughgarden, Sundararajan 2009"
        return SingleStepBound(weight * on_grid * least, "whole records", source)
    change = min(guarantee.change(*grid.lane_bounds), on_grid)
    least = math.sqrt(staircase_variance(guarantee.epsilon))
    return SingleStepBound(weight * change * least, "real-valued records", "Geng, Viswanath 2014")


def staircase_variance(epsilon: float) -> float:
    """The variance of the staircase law for a change of 1, the least of any ε-DP noise.

    >>> round(staircase_variance(1.0), 4)  # Laplace's law has 2
    1.9181
    """
    b = math.exp(-epsilon)
    stairs = math.pow(b * (1.0 + b) / 2.0, 2 / 3)
    return (stairs + b) / math.expm1(-epsilon) ** 2


def _geometric_stddev(epsilon: float) -> float:
    """The standard deviation of the two-sided geometric law: √(2b) / (1 - b)."""
    return math.sqrt(0.5) / math.sinh(epsilon / 2.0)
