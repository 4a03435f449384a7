"""Quantiles of the records, decayed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.public.statistics.bin_tree import BinTree
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.one_hot import MOST_BINS, bins_of, labels
from hushfade.public.statistics.statistic import LaneDefaults

_TOGETHER = 1 << 18  # ranks at a time


@dataclass(frozen=True)
class Quantiles(LaneDefaults):
    """Decayed quantiles of records in [low, high], from counts in equal bins.

    `bins` counts the bins.  With `levels` > 1 there are counts of larger bins too, each divided
    into bins ** (1 / levels) smaller ones.  Every count then has more noise, but a rank is the sum
    of few counts instead of many: see `BinTree`.  If `bins` is not given, the plan chooses both
    from its noise and from `expect`, the decayed number of records that are expected: the choice
    has the smallest predicted error of a rank.

    The value is a column, one number per quantile, and it rises with the quantile.  Within a bin
    quantiles are interpolated.  An interval ends at edges of bins, so it is conservative.

    >>> import hushfade as hf
    >>> latency = hf.Quantiles([0.5, 0.9], low=0, high=2000, expect=5000)
    >>> plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=latency)
    >>> plan.statistic.bins, plan.statistic.levels
    (256, 2)
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step(list(range(1000)) * 5)
    >>> [round(value) for value in release.value]
    [501, 902]
    """

    quantiles: tuple[float, ...]
    low: float
    high: float
    bins: int | None = None
    levels: int = 1
    expect: float | None = None

    name = "quantiles"
    bounds = 0.0, 1.0
    resolution = 1.0  # lanes are counts
    kind: ClassVar[Literal["numbers"]] = "numbers"
    output_name = "quantile"

    def __init__(
        self,
        quantiles: Iterable[float],
        low: float,
        high: float,
        *,
        bins: int | None = None,
        levels: int = 1,
        expect: float | None = None,
    ) -> None:
        if isinstance(quantiles, str) or not isinstance(quantiles, Iterable):
            raise InvalidType("must be a list", argument="quantiles", got=repr(quantiles)[:60])
        asked = tuple(check.probability(quantiles=one) for one in quantiles)
        if not asked or not all(a < b for a, b in itertools.pairwise(asked)):
            raise InvalidValue(
                "must be at least one number, in increasing order", argument="quantiles"
            )
        low, high = check.bounds(low, high)
        levels = check.count(levels=levels, most=8)
        if bins is None and levels > 1:
            raise InvalidValue("needs bins: without bins the plan chooses both", argument="levels")
        if bins is not None:
            bins = check.count(bins=bins, least=2, most=MOST_BINS)
            if branches(bins, levels) is None:
                raise InvalidValue(
                    f"must be a number to the power of levels = {levels}", argument="bins", got=bins
                )
        if expect is not None:
            expect = check.positive(expect=expect)
        check.settle(
            self, quantiles=asked, low=low, high=high, bins=bins, levels=levels, expect=expect
        )

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The edges of the bins, equally far apart."""
        assert self.bins is not None  # the plan has chosen it
        inner = [
            self.low + (self.high - self.low) * (place / self.bins) for place in range(self.bins)
        ]
        return *inner, self.high

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of lanes of each level, from the largest bins to the smallest."""
        return self.tree.sizes

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The bins of all levels."""
        found: list[str] = []
        for size in self.sizes:
            step = (len(self.edges) - 1) // size
            found += labels(self.edges[::step])
        return tuple(found)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The quantiles."""
        return tuple(f"{quantile:g}" for quantile in self.quantiles)

    @property
    def range(self) -> tuple[float, float]:
        """A quantile lies between the bounds."""
        return self.low, self.high

    @property
    def sums(self) -> dict[str, Column]:
        """The count of all levels together."""
        return {"count": self.tree.count_weights}

    @cached_property
    def tree(self) -> BinTree:
        """The levels of the bins."""
        assert self.bins is not None
        branch = branches(self.bins, self.levels)
        assert branch is not None
        return BinTree(branch, self.levels)

    def document(self) -> dict[str, Any]:
        """The declared parameters, and what the plan chose."""
        return {
            "kind": self.name,
            "quantiles": list(self.quantiles),
            "low": self.low,
            "high": self.high,
            "bins": self.bins,
            "levels": self.levels,
            "expect": self.expect,
        }

    def whole(self, span: int) -> int:
        """A record adds 1 per level."""
        return 1

    def codes(self, records: Any) -> Signed:
        """The smallest bin of each record."""
        return bins_of(np.array(self.edges), records)

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """1 in the bin, and in the larger bins that contain it.

        >>> Quantiles([0.5], 0, 1, bins=4, levels=2).lanes(np.array([0, 3]), 1)[0].tolist()
        [[0, 2], [1, 5]]
        """
        sizes, bins = self.sizes, self.sizes[-1]
        starts = np.cumsum((0, *sizes))[:-1]
        places = np.stack(
            [start + codes * size // bins for start, size in zip(starts, sizes, strict=True)],
            axis=1,
        )
        return places, np.ones_like(places)

    def value(self, lanes: Matrix) -> Matrix:
        """The quantiles of the noisy distribution, made monotone.

        Where the count is not positive, the distribution is taken to be uniform.
        """
        rows = lanes.reshape(-1, lanes.shape[-1])
        found = np.empty((len(rows), len(self.quantiles)))
        edges, asked = np.array(self.edges), np.array(self.quantiles)
        for some in self._blocks(len(rows)):
            below = self.tree.below(rows[some])
            # the mean of the least rising curve above and the largest rising curve below
            upper = np.maximum.accumulate(below, axis=1)
            lower = np.minimum.accumulate(below[:, ::-1], axis=1)[:, ::-1]
            rising = (upper + lower) / 2.0
            for row, curve, count in zip(found[some], rising, below[:, -1], strict=True):
                if count > 0.0:
                    below_edges = np.append(np.clip(curve[:-1], 0.0, count), count)
                    row[:] = _crossed(below_edges, edges, asked * count)
                else:
                    row[:] = self.low + (self.high - self.low) * asked
        return found.reshape(*lanes.shape[:-1], len(self.quantiles))

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """Edges between which the true quantiles lie.

        The true q-quantile is in the first bin at whose upper edge (records below) - q · count
        is not negative.  An edge is excluded if the released number is further from that than its
        margin.  Only the two edges of the true bin matter, so the failures of both sides add up to
        1 - confidence at most.  Nothing is assumed about the place of a record within its bin.
        """
        edges, asked = np.array(self.edges), self.quantiles
        ends = np.empty((2, len(lanes), len(asked)))
        weights = [self.tree.rank_moments(quantile) for quantile in asked]
        for some in self._blocks(len(lanes)):
            below = self.tree.below(lanes[some])
            own = margins.rows(np.arange(*some.indices(len(lanes))))
            for place, (quantile, c) in enumerate(zip(asked, weights, strict=True)):
                margin = own.of_moments(c.energy[None], c.fourth[None], c.largest[None])
                excess = below - quantile * below[:, -1:]
                may_reach = excess >= -margin
                may_reach[:, -1] = True
                may_reach[:, 0] = False
                may_lack = excess < margin
                may_lack[:, 0] = True
                may_lack[:, -1] = False
                first = np.argmax(may_reach, axis=1)
                last = excess.shape[1] - 1 - np.argmax(may_lack[:, ::-1], axis=1)
                low, high = edges[first - 1], edges[last + 1]
                ends[0, some, place] = np.minimum(low, high)
                ends[1, some, place] = np.maximum(low, high)
        return ends[0], ends[1]

    def _blocks(self, rows: int) -> Iterator[slice]:
        """Slices of the rows whose ranks fit a cache together."""
        size = max(1, _TOGETHER // len(self.edges))
        return (slice(start, start + size) for start in range(0, rows, size))


def branches(bins: int, levels: int) -> int | None:
    """The number of parts of each larger bin; None if `bins` is no power of that many levels.

    >>> branches(64, 2), branches(64, 4)
    (8, None)
    """
    near = round(bins ** (1.0 / levels))
    return near if near**levels == bins and near >= 2 else None


def _crossed(curve: Column, edges: Column, targets: Column) -> Column:
    """Where a rising curve at the edges reaches the targets; linear within a bin."""
    after = np.clip(np.searchsorted(curve, targets, side="left"), 1, len(curve) - 1)
    low, high = curve[after - 1], curve[after]
    share = np.divide(targets - low, high - low, out=np.ones_like(targets), where=high > low)
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(edges[after - 1] + share * (edges[after] - edges[after - 1]))
