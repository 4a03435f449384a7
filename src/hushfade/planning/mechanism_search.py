"""The error of each mechanism for one decay under one guarantee, before its taps are integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors import factorization
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization
from hushfade.laws import Huber, Laplace, Law
from hushfade.planning import blend
from hushfade.planning.exact_factors import Method, check_lasting, exact_factors
from hushfade.planning.noise_scale import STEEPEST
from hushfade.planning.search_blocks import best_blocks
from hushfade.planning.search_taps import compared_steps
from hushfade.planning.shifts import changes, gaussian_alone, repetitions, squared_change
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss_distribution import COARSE, Losses
from hushfade.privacy.rounded_losses import Shift
from hushfade.private.grid import Grid

LawName = Literal["gaussian", "laplace", "huber"]

_TINY = 5.0  # from this ε/μ on, delta is so small that block sums may have less error
_SHORT = 16.0  # up to this Σ f_k² the memory is so short that block sums cannot have less error
_GAINS = 1 << 14  # the longest horizon for which the search tries a gain per step
_UNITS = 1 << 24  # units per largest change, to which the search rounds shifts
_WEIGHTS = 1 << 14  # the first weights, whose size the search checks
_LEAST_FIRST, _LARGEST = 1e-140, 1e140  # the least first weight, and the largest weight
_KAPPAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_GROUPS = 20  # groups of taps of similar size


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism before its taps are integers."""

    method: Method
    law: LawName
    error: float  # the largest standard deviation over the compared steps, in the records' unit
    factors: Factorization
    kappa: float = 0.0  # the shape of Huber's law
    slope: float = 0.0  # a guess of the slope of the noise, per unit of the records' grid
    steps: int = 1  # the number of steps over which the error was computed


class Search:
    """The search for one decay under one guarantee."""

    def __init__(
        self,
        decay: Decay,
        guarantee: Guarantee,
        grid: Grid,
        horizon: int | None,
        expect: int | None,
    ) -> None:
        factorization.square_root(decay, horizon)  # checks decay and horizon
        self.decay, self.guarantee, self.grid, self.horizon = decay, guarantee, grid, horizon
        self.expect = expect
        self.steps = compared_steps(decay, horizon)
        weights = decay.weights(min(self.steps, _WEIGHTS))
        if not (weights[0] >= _LEAST_FIRST and np.max(np.abs(weights)) <= _LARGEST):
            raise InvalidValue(
                f"must have weights that start with at least {_LEAST_FIRST:g}, and are at "
                f"most {_LARGEST:g} in size, so that sums of squares are finite",
                argument="decay",
            )
        self.times = repetitions(guarantee, horizon)
        self.changes = changes(guarantee, grid, self.times) if grid.norm is None else []
        lasting = horizon is not None or decay.horizon_free
        proven = not gaussian_alone(guarantee, grid)
        self.allowed = proven and not guarantee.gaussian_only  # laws other than Gaussian
        self.bounded = self.allowed and lasting
        self.blends = self.bounded and self.times == 1 and not guarantee.pure

    def gaussian(self) -> list[Candidate]:
        """The Gaussian mechanisms."""
        names: list[Method] = ["square_root"]
        if self.horizon is None and self.decay.rate == 0.0:
            names = ["unbounded"]
        if self.horizon is not None and self.horizon <= _GAINS and self.times == 1:
            names.append("normalized")
        if self.times > 1:
            names.append("input")
        pairs = [
            (name, exact_factors(self.decay, self.horizon, name, self.expect)[0]) for name in names
        ]
        return [
            Candidate(name, "gaussian", self.deviation(pair), pair, steps=self.steps)
            for name, pair in pairs
            if name != "normalized" or pair.gain is not None
        ]

    def deviation(self, factors: Factorization) -> float:
        """The largest standard deviation of these factors with Gaussian noise."""
        guarantee, grid = self.guarantee, self.grid
        if grid.statistic is not None:
            change = math.sqrt(squared_change(guarantee, grid)) * grid.resolution
        elif grid.norm is None:
            change = guarantee.change(grid.low, grid.high, keyed=grid.keys is not None)
        else:
            change = guarantee.vector_change(grid.norm)
        endless = self.times == 1 or factors.taps.support is not None
        sensitivity = factors.sensitivity(
            None if endless else self.steps,
            participations=guarantee.protects.steps,
            separation=guarantee.protects.apart,
        )
        return factors.largest_error(self.steps) * sensitivity.value * change / guarantee.mu

    def on_inputs(self, law: LawName) -> Candidate:
        """The mechanism with noise on the inputs, R = 1."""
        factors, name = exact_factors(self.decay, self.horizon, "input")
        return self.with_law(factors, name, law)

    def blocks(self) -> Candidate:
        """The mechanism with Laplace noise on the best sums over blocks of steps."""

        largest = max(map(sum, self.changes))

        def noise(levels: int) -> float:
            return Laplace(min(self.guarantee.epsilon / (largest * levels), STEEPEST)).stddev

        factors = best_blocks(self.decay, self.steps, self.horizon, noise)
        return self.with_law(factors, "blocks", "laplace")

    def given_blocks(self, pair: BlockSums | None, law: LawName | None) -> Candidate:
        """The mechanism with Laplace noise on these block sums, or on the best ones."""
        if law not in (None, "laplace"):
            raise InvalidValue("must be laplace for block sums", argument="law", got=law)
        if self.guarantee.gaussian_only:
            raise InvalidValue(
                "must not be 'blocks' if mu or rho is declared: block sums have Laplace noise",
                argument="method",
            )
        if self.expect is not None:
            exact_factors(self.decay, self.horizon, "input", self.expect)  # raises the error
        if self.times > 1:
            raise InvalidValue(
                "must cover one step of a person for block sums: two records may be in one block",
                argument="protects",
                got=f"{self.guarantee.protects.steps} steps",
                remedy="use the method 'input'",
            )
        check_lasting(self.decay, self.horizon)
        self.check_bounded("laplace")
        if pair is None:
            return self.blocks()
        if pair.decay != self.decay:
            raise InvalidValue(
                "must be a pair for the plan's decay", argument="method", got=repr(pair.decay)
            )
        return self.with_law(pair.with_horizon(self.horizon), "blocks", "laplace")

    def blocks_may_win(self, law: LawName | None) -> bool:
        """Whether the memory is long and delta small.  For counting, the search is always quick."""
        if not self.bounded or self.times > 1:
            return False
        factors, _ = exact_factors(self.decay, self.horizon, "input")
        if not factors.largest_error(self.steps) ** 2 > _SHORT:
            return False
        if self.guarantee.pure or law == "laplace" or self.decay.rate == 0.0:
            return True
        return self.guarantee.epsilon > _TINY * self.guarantee.mu

    def with_law(self, factors: Factorization, name: Method, law: LawName) -> Candidate:
        """The mechanism with noise of a bounded loss on any factors."""
        self.check_bounded(law)
        if isinstance(factors, BlockSums):
            taps = [(1.0, factors.squared_sensitivity())]  # a record is in one sum per level
        else:
            support = min(self.steps, factors.taps.support or self.steps)
            taps = _grouped(factors.taps.first(support))
        left = factors.largest_error(self.steps) * self.grid.resolution
        several = []
        for kappa in _KAPPAS if law == "huber" else (0.0,):
            slope = self._slope(taps, kappa)
            error = left * _law(slope, kappa).stddev
            several.append(Candidate(name, law, error, factors, kappa, slope, self.steps))
        return min(several, key=lambda one: settled(one.error))

    def check_bounded(self, law: LawName) -> None:
        """Raise InvalidValue unless the records allow a law other than Gaussian."""
        if not self.allowed:
            raise InvalidValue(
                "must be gaussian for vectors, and for several records per step with keys",
                argument="law",
                got=law,
            )

    def blend(self) -> Candidate:
        """The mechanism with Huber noise on the best blend of the inputs and the square root."""
        guarantee = self.guarantee
        lanes = max(self.changes, key=max)
        size = max(lanes)
        found = blend.best_blend(
            self.decay, self.steps, guarantee.epsilon, guarantee.delta, len(lanes)
        )
        factors = factorization.blend(self.decay, found.c, self.horizon)
        taps = _grouped(factors.taps.first(self.steps))
        slope = self._slope(taps, found.kappa, found.slope)
        # the search treated all small taps together as one Gaussian shift
        error = found.error * size * self.grid.resolution * (found.slope / (slope * size))
        return Candidate("blend", "huber", error, factors, found.kappa, slope, self.steps)

    def _slope(
        self, taps: list[tuple[float, int]], kappa: float, guess: float | None = None
    ) -> float:
        """The slope of the noise per unit of the records' grid; κ = 0 means Laplace's law.

        `guess` is a nearby slope, for records that change by 1.
        """
        guarantee, largest = self.guarantee, max(map(max, self.changes))
        cases = [
            [Shift(round(size / largest * tap * _UNITS), lanes.count(size) * self.times * count)
             for size in dict.fromkeys(lanes) for tap, count in taps]
            for lanes in self.changes
        ]  # fmt: skip
        total = max(sum(size * times for size, times in case) for case in cases) / _UNITS
        pure = float(guarantee.epsilon) / total
        single = all(len(case) == case[0].times == 1 for case in cases)
        if kappa == 0.0 and (guarantee.pure or single):
            return min(pure / largest, STEEPEST)

        def log_delta(slope: float) -> float:
            law = _law(slope / _UNITS, kappa)
            bound = max(Losses([(law, case)], COARSE).delta(guarantee.epsilon) for case in cases)
            return math.log(max(bound, 1e-320))

        slope = blend.solve_slope(log_delta, math.log(guarantee.delta), guess or 1.5 * pure)
        return min(max(slope, pure) / largest, STEEPEST) if kappa == 0.0 else slope / largest


def _law(slope: float, kappa: float) -> Law:
    """Laplace's law for κ = 0, else Huber's."""
    return Laplace(slope) if kappa == 0.0 else Huber(slope, max(1, round(kappa / slope)))


def _grouped(column: Column) -> list[tuple[float, int]]:
    """Groups of numbers of similar size: the root mean square of each group, and its count."""
    size = np.abs(column)
    if not np.all(size):
        size = size[size > 0]
    size.sort(kind="stable")  # quick if it is nearly sorted
    size = size[::-1]
    edges = np.expm1(np.linspace(0.0, math.log1p(len(size)), _GROUPS + 1))
    places = np.unique(np.rint(edges).astype(np.int64))
    counts = np.diff(places)
    size *= size
    means = np.sqrt(np.add.reduceat(size, places[:-1]) / counts)
    return list(zip(means.tolist(), counts.tolist(), strict=True))


def settled(error: float) -> int:
    """The logarithm of an error, rounded far more coarsely than machines differ."""
    return math.floor(math.log(error) * 2.0**24)
