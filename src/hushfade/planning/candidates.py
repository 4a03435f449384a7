"""The mechanisms that a plan can choose from, each with the error it would have.

    Gaussian noise on the square root     no Gaussian factorization is better in the long run
    the same with a gain per step         for a known horizon
    Gaussian noise, counting for ever     for counting without a horizon
    Laplace noise on the inputs           R = 1: for short memories, and for delta = 0
    Laplace noise on block sums           for long memories and a small delta, or 0
    Huber noise on the inputs             R = 1: for several records per person
    Huber noise on a blend                R between the inputs and the square root

Errors are those of exact factors; integer taps add about 0.1 % at most.  Errors are rounded before
they are compared, and the order above decides between equal ones, so the choice is the same on
every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hushfade import check
from hushfade.check import Column
from hushfade.decay import Decay, NoDecay
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
from hushfade.planning.shifts import changes, repetitions
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss_distribution import COARSE, Losses
from hushfade.privacy.rounded_losses import Shift
from hushfade.private.grid import Grid

LawName = Literal["gaussian", "laplace", "huber"]

_SIMPLE = 1.01  # noise on the inputs is taken if its error is within this factor of the smallest
_HOPELESS = (
    0.45  # where noise on the inputs has this share of the Gaussian error, no blend has less
)
_TINY = 5.0  # ε/μ, for which delta is so small that block sums may have less error
_SHORT = 16.0  # Σ f_k² of a memory so short that block sums cannot have less error
_GAINS = 1 << 14  # steps up to which a gain per step is looked for
_UNITS = 1 << 24  # of the largest change, in which shifts are rounded here
_KAPPAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_GROUPS = 20  # of taps of similar size


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism before its taps are integers."""

    method: Method
    law: LawName
    error: float  # the largest standard deviation over the compared steps, in the records' unit
    factors: Factorization
    kappa: float = 0.0  # of Huber's law
    slope: float = 0.0  # of the noise, per unit of the records' grid: a guess
    steps: int = 1  # over which the error was computed


def candidates(
    decay: Decay,
    guarantee: Guarantee,
    grid: Grid,
    horizon: int | None,
    law: LawName | None,
    expect: int | None = None,
) -> list[Candidate]:
    """The mechanisms that can give the guarantee, by the law or by any, the chosen one first.

    Noise on the inputs comes first if it is within 1 % of the best: it is the simplest.
    """
    search = _Search(decay, guarantee, grid, horizon, expect)
    several: list[Candidate] = []
    if law in (None, "gaussian") and not guarantee.pure:
        several += search.gaussian()
    if law in (None, "laplace") and search.bounded:
        several.append(search.on_inputs("laplace"))
    if law in (None, "huber") and search.bounded and search.times > 1 and not guarantee.pure:
        several.append(search.on_inputs("huber"))
    if law in (None, "huber") and search.blends and not (law is None and _hopeless(several)):
        several.append(search.blend())
    if law in (None, "laplace") and search.sums_blocks:
        blocks = search.blocks()
        several += [blocks] if blocks.error < min(one.error for one in several) else []
    if not several:
        raise InvalidValue(
            f"no mechanism with the law {law} gives this guarantee" if law else
            "no mechanism gives this guarantee",
            remedy=("leave law out, " if law else "") + "give a horizon, or give delta > 0",
        )  # fmt: skip
    several.sort(key=lambda one: _settled(one.error))
    least = several[0].error
    simple = [one for one in several if one.method == "input" and one.error <= _SIMPLE * least]
    return simple + [one for one in several if one not in simple]


def given(
    decay: Decay,
    guarantee: Guarantee,
    grid: Grid,
    horizon: int | None,
    method: Method | Factorization,
    law: LawName | None,
    expect: int | None = None,
) -> Candidate:
    """The candidate of a method that the caller has chosen.

    Without a law: Laplace for noise on the inputs and on block sums, Huber for a blend, Gaussian
    for all others.
    """
    if isinstance(method, BlockSums) and method.horizon is not None:
        horizon = check.count(horizon=horizon or method.horizon, most=method.horizon)
    search = _Search(decay, guarantee, grid, horizon, expect)
    if method == "blocks" or isinstance(method, BlockSums):
        return search.given_blocks(method if isinstance(method, BlockSums) else None, law)
    if method == "blend":
        if law not in (None, "huber") or not search.blends:
            raise InvalidValue(
                "must not be 'blend' here: a blend needs Huber noise, delta > 0, an epsilon that "
                "was declared, and at most one record per person",
                argument="method",
            )
        return search.blend()
    factors, name = exact_factors(decay, horizon, method, expect)
    search.steps = min(search.steps, factors.horizon or search.steps)
    if law is None:
        law = "laplace" if name == "input" and search.bounded else "gaussian"
    if law == "gaussian":
        return Candidate(name, law, search.deviation(factors), factors, steps=search.steps)
    if guarantee.gaussian_only:
        raise InvalidValue("must be gaussian where mu or rho is declared", argument="law", got=law)
    return search.with_law(factors, name, law)


def _hopeless(several: list[Candidate]) -> bool:
    """Is noise on the inputs so good that no blend is better?"""
    inputs = [one.error for one in several if one.method == "input"]
    others = [one.error for one in several if one.method != "input"]
    return bool(inputs and others and min(inputs) <= _HOPELESS * min(others))


def _settled(error: float) -> int:
    """The logarithm of an error, rounded: what differs between machines is far smaller."""
    return math.floor(math.log(error) * 2.0**24)


class _Search:
    """One decay under one guarantee."""

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
        self.times = repetitions(guarantee, horizon)
        self.changes = changes(guarantee, grid, self.times) if grid.norm is None else []
        lasting = horizon is not None or decay.horizon_free
        scalar = grid.norm is None and (grid.keys is None or guarantee.records_per_step == 1)
        self.bounded = scalar and lasting and not guarantee.gaussian_only
        self.blends = self.bounded and self.times == 1 and not guarantee.pure
        self.sums_blocks = self.bounded and self.times == 1 and self._blocks_may_win()

    def gaussian(self) -> list[Candidate]:
        """Gaussian mechanisms."""
        names: list[Method] = ["square_root"]
        if self.horizon is None and isinstance(self.decay, NoDecay):
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
        """The largest standard deviation with Gaussian noise."""
        guarantee, grid = self.guarantee, self.grid
        if grid.norm is None:
            change = guarantee.change(grid.low, grid.high, keyed=grid.keys is not None)
        else:
            change = guarantee.vector_change(grid.norm)
        endless = self.times == 1 or factors.taps.support is not None
        sensitivity = factors.sensitivity(
            None if endless else self.steps,
            participations=guarantee.participations,
            separation=guarantee.separation,
        )
        return self._left(factors) * sensitivity.value * change / guarantee.mu

    def on_inputs(self, law: LawName) -> Candidate:
        """Noise on the inputs, R = 1."""
        factors, name = exact_factors(self.decay, self.horizon, "input")
        return self.with_law(factors, name, law)

    def blocks(self) -> Candidate:
        """Laplace noise on the best sums over blocks of steps."""

        largest = max(map(sum, self.changes))

        def noise(levels: int) -> float:
            return Laplace(min(self.guarantee.epsilon / (largest * levels), STEEPEST)).stddev

        factors = best_blocks(self.decay, self.steps, self.horizon, noise)
        return self.with_law(factors, "blocks", "laplace")

    def given_blocks(self, pair: BlockSums | None, law: LawName | None) -> Candidate:
        """Laplace noise on the block sums that are given, or on the best."""
        if law not in (None, "laplace"):
            raise InvalidValue("must be laplace for block sums", argument="law", got=law)
        if self.guarantee.gaussian_only:
            raise InvalidValue(
                "must not be 'blocks' where mu or rho is declared: block sums have Laplace noise",
                argument="method",
            )
        if self.expect is not None:
            exact_factors(self.decay, self.horizon, "input", self.expect)  # rejects it
        if self.times > 1:
            raise InvalidValue(
                "must be 1 for block sums: two records of a person may be in one block",
                argument="participations",
                got=self.guarantee.participations,
                remedy="take method='input'",
            )
        check_lasting(self.decay, self.horizon)
        self._check_bounded("laplace")
        if pair is None:
            return self.blocks()
        if pair.decay != self.decay:
            raise InvalidValue(
                "must be a pair for the plan's decay", argument="method", got=repr(pair.decay)
            )
        return self.with_law(pair.with_horizon(self.horizon), "blocks", "laplace")

    def _blocks_may_win(self) -> bool:
        """Is the memory long, and delta small?  For counting the search is quick at any delta."""
        if np.sum(self.decay.weights(self.steps) ** 2) <= _SHORT:
            return False
        if self.guarantee.pure or isinstance(self.decay, NoDecay):
            return True
        return self.guarantee.epsilon > _TINY * self.guarantee.mu

    def with_law(self, factors: Factorization, name: Method, law: LawName) -> Candidate:
        """Noise of a bounded loss on any factors."""
        self._check_bounded(law)
        if isinstance(factors, BlockSums):
            taps = [(1.0, factors.squared_sensitivity())]  # one sum per level
        else:
            support = min(self.steps, factors.taps.support or self.steps)
            taps = _grouped(np.abs(factors.taps.first(support)))
        left = self._left(factors) * self.grid.resolution
        several = []
        for kappa in _KAPPAS if law == "huber" else (0.0,):
            slope = self._slope(taps, kappa)
            error = left * _law(slope, kappa).stddev
            several.append(Candidate(name, law, error, factors, kappa, slope, self.steps))
        return min(several, key=lambda one: _settled(one.error))

    def _check_bounded(self, law: LawName) -> None:
        if not self.bounded:
            raise InvalidValue(
                "must be gaussian for vectors, and for several records per step with keys",
                argument="law",
                got=law,
            )

    def blend(self) -> Candidate:
        """Huber noise on the best blend of the inputs and the square root."""
        guarantee = self.guarantee
        lanes = max(self.changes, key=max)
        size = max(lanes)
        found = blend.best_blend(
            self.decay, self.steps, guarantee.epsilon, guarantee.delta, len(lanes)
        )
        factors = factorization.blend(self.decay, found.c, self.horizon)
        error = found.error * size * self.grid.resolution
        slope = found.slope / size
        return Candidate("blend", "huber", error, factors, found.kappa, slope, self.steps)

    def _left(self, factors: Factorization) -> float:
        if isinstance(factors, BlockSums):
            return factors.largest_error(self.steps)
        return float(np.max(factors.errors(self.steps)))

    def _slope(self, taps: list[tuple[float, int]], kappa: float) -> float:
        """The slope of the noise per unit of the records' grid; Laplace's for κ = 0."""
        guarantee, largest = self.guarantee, max(map(max, self.changes))
        cases = [
            [Shift(round(size / largest * tap * _UNITS), lanes.count(size) * self.times * count)
             for size in dict.fromkeys(lanes) for tap, count in taps]
            for lanes in self.changes
        ]  # fmt: skip
        total = max(sum(size * times for size, times in case) for case in cases) / _UNITS
        pure = guarantee.epsilon / total
        single = all(len(case) == case[0].times == 1 for case in cases)
        if kappa == 0.0 and (guarantee.pure or single):
            return min(pure / largest, STEEPEST)

        def log_delta(slope: float) -> float:
            law = _law(slope / _UNITS, kappa)
            bound = max(Losses([(law, case)], COARSE).delta(guarantee.epsilon) for case in cases)
            return math.log(max(bound, 1e-320))

        slope = blend.solve_slope(log_delta, math.log(guarantee.delta), 1.5 * pure)
        return min(max(slope, pure) / largest, STEEPEST) if kappa == 0.0 else slope / largest


def _law(slope: float, kappa: float) -> Law:
    """Laplace's law for κ = 0, else Huber's."""
    return Laplace(slope) if kappa == 0.0 else Huber(slope, max(1, round(kappa / slope)))


def _grouped(size: Column) -> list[tuple[float, int]]:
    """Numbers ≥ 0 in groups of similar ones: the root mean square of each group, and its count."""
    size = np.sort(size[size > 0])[::-1]
    edges = np.expm1(np.linspace(0.0, math.log1p(len(size)), _GROUPS + 1))
    places = np.unique(np.rint(edges).astype(np.int64))
    squares = np.append(0.0, np.cumsum(size * size))
    counts = np.diff(places)
    means = np.sqrt(np.diff(squares[places]) / counts)
    return list(zip(means.tolist(), counts.tolist(), strict=True))
