"""The interface of all baselines: two linear maps, noise between them, and the errors.

    y = R x + z,  z independent, with the scale for R's sensitivity;   s = L y

`R` has a row for each noisy number that the mechanism keeps: n for a factor pair, more for a tree.
The errors are exact and independent of the data.  `simulate` draws float noise from a seeded
generator.  It serves for comparison and is not private, because the last bits of a float reveal its
inputs.  A plan can release a baseline with a `pair`, with hushfade's own integers and noise:

    plan(decay, guarantee, method=rival.pair(), horizon=rival.horizon)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidType, InvalidValue
from hushfade.factors.factorization import Factorization
from hushfade.privacy.guarantee import Guarantee, mu_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Noise = Literal["gaussian", "laplace"]
Matrices: TypeAlias = "tuple[csr_array, csr_array]"


def norm_order(noise: Noise) -> int:
    """p such that ‖R‖₁→p is the sensitivity for this noise: 2 for Gaussian, 1 for Laplace."""
    if noise not in get_args(Noise):
        raise InvalidValue("noise must be 'gaussian' or 'laplace'", got=repr(noise))
    return 1 if noise == "laplace" else 2


Kind = TypeVar("Kind")


def of_kind(decay: Decay, kind: type[Kind]) -> Kind:
    """The decay, if it is an instance of `kind`; raises InvalidType otherwise."""
    if not isinstance(decay, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidType(
            f"must be {article} {kind.__name__}", argument="decay", got=type(decay).__name__
        )
    return decay


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A linear mechanism for a decay and a number of steps.

    Guarantee: (epsilon, delta) with Gaussian noise, epsilon alone with Laplace noise.  Neighbouring
    streams differ by at most `change` in one step's total.  If `releases` > 1, this number of
    releases shares the budget by basic composition, each with an equal part of epsilon and delta.
    """

    name: str
    source: str  # author and year
    decay: Decay
    errors: Column = field(repr=False)  # ‖L_t‖ at each step: the deviation for noise of variance 1
    sensitivity: float  # ‖R‖₁→₂ with Gaussian noise, ‖R‖₁→₁ with Laplace noise
    memory: int  # numbers kept between steps
    work: float  # additions and multiplications per step, on average
    matrices: Callable[[], Matrices] = field(repr=False)  # sparse L and R, for tests and simulation
    noise: Noise = "gaussian"
    releases: int = 1
    online: bool = True  # False: the release of step t needs numbers of later steps
    bias: float = 0.0  # β: the mean is within a factor 1 ± β of the truth, for x ≥ 0
    pair: Callable[[], Factorization] | None = field(default=None, repr=False)  # for a plan

    def __post_init__(self) -> None:
        norm_order(self.noise)  # rejects unknown noise

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return len(self.errors)

    @property
    def pure(self) -> bool:
        """True if it needs no delta."""
        return self.noise == "laplace"

    @property
    def error_factor(self) -> float:
        """The largest error for unit noise scale and unit change: ‖L‖₂→∞ ‖R‖.

        With Laplace noise of scale 1/epsilon, whose variance is 2/epsilon², it is
        √2 ‖L‖₂→∞ ‖R‖₁→₁.
        """
        return float(np.max(self.errors)) * self.sensitivity * (math.sqrt(2.0) if self.pure else 1)

    def noise_stddev(self, guarantee: Guarantee, change: float = 1.0) -> float:
        """The standard deviation of each z."""
        _single(guarantee)
        scale = self.sensitivity * check.positive(change=change)
        if self.pure:
            return math.sqrt(2.0) * scale * self.releases / guarantee.epsilon
        if self.releases == 1:
            return scale / guarantee.mu
        return scale / mu_of(guarantee.epsilon / self.releases, guarantee.delta / self.releases)

    def stddevs(self, guarantee: Guarantee, change: float = 1.0) -> Column:
        """The exact standard deviation of the error at each step."""
        return self.noise_stddev(guarantee, change) * self.errors

    def simulate(
        self,
        totals: Column,
        guarantee: Guarantee,
        change: float = 1.0,
        *,
        generator: np.random.Generator,
    ) -> Column:
        """One simulated release of the step totals: L (R x + z).  Not private: float noise."""
        L, R = self.matrices()
        x = check.coefficients(totals=totals)
        if len(x) != self.horizon:
            raise InvalidValue(f"totals must have {self.horizon} entries", got=len(x))
        scale = self.noise_stddev(guarantee, change)
        if self.pure:
            z = generator.laplace(scale=scale / math.sqrt(2.0), size=R.shape[0])
        else:
            z = generator.normal(scale=scale, size=R.shape[0])
        return np.asarray(L @ (R @ x + z))


def from_pair(
    pair: Factorization, n: int, *, name: str, source: str, memory: int, work: float
) -> Mechanism:
    """The mechanism of a factor pair for n steps."""

    def matrices() -> Matrices:
        from scipy.sparse import csr_array

        L, R = pair.matrices(n)
        return csr_array(L), csr_array(R)

    return Mechanism(
        name,
        source,
        pair.decay,
        pair.errors(n),
        pair.sensitivity(n).value,
        memory,
        work,
        matrices,
        pair=lambda: pair,
    )


def _single(guarantee: Guarantee) -> None:
    if guarantee.protects.steps != 1:
        raise InvalidValue(
            "guarantee must be for one participation, as the baselines are",
            got=f"{guarantee.protects.steps} steps",
        )
