"""Counts of bins on several levels, combined by least squares.

Every bin of a level is divided into b bins of the next level, and each level has its own noisy
counts.  The number of records in a bin is then known in two ways: from its own count, and from the
counts of its parts.  Weighted by their accuracy they give

    z = own count                                    for the smallest bins
    z = α_h · own count + (1 - α_h) · Σ z of its parts

with α_h = b V_{h-1} / (1 + b V_{h-1}) on height h, where V_1 = 1 and V_h = α_h is the variance of
z in units of a lane's.  From the largest bins down, the parts share what is missing from the total
of their bin.  This is the least squares estimate, the best unbiased linear one (Hay, Rastogi,
Miklau, Suciu 2010).  It costs O(lanes) per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushfade.check import Column, Matrix


@dataclass(frozen=True)
class Moments:
    """Σ c², Σ c⁴ and max |c| of weights c of the lanes, for each of several combinations."""

    energy: Column
    fourth: Column
    largest: Column


@dataclass(frozen=True)
class BinTree:
    """Bins on `levels` levels, the largest first; each bin has `branch` parts."""

    branch: int
    levels: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of lanes of each level."""
        return tuple(self.branch ** (level + 1) for level in range(self.levels))

    @cached_property
    def _own(self) -> tuple[float, ...]:
        """α_h, the weight of a bin's own count, for the heights 1, 2, ..."""
        found = [1.0]
        for _ in range(self.levels - 1):
            several = self.branch * found[-1]
            found.append(several / (1.0 + several))
        return tuple(found)

    @cached_property
    def count_weights(self) -> Column:
        """The weights of the lanes in the number of all records.

        >>> BinTree(2, 2).count_weights.round(3).tolist()
        [0.667, 0.667, 0.333, 0.333, 0.333, 0.333]
        """
        found, rest = [], 1.0
        for size, own in zip(self.sizes, reversed(self._own), strict=True):
            found.append(np.full(size, rest * own))
            rest *= 1.0 - own
        return np.concatenate(found)

    def below(self, lanes: Matrix) -> Matrix:
        """The estimated number of records below each edge, (n, lanes) in, (n, bins + 1) out.

        >>> BinTree(2, 2).below(np.array([[3.0, 1.0, 1.0, 2.0, 1.0, 0.0]])).tolist()
        [[0.0, 1.0, 3.0, 4.0, 4.0]]
        >>> BinTree(2, 2).below(np.array([[6.0, 0.0, 0.0, 0.0, 0.0, 0.0]])).tolist()
        [[0.0, 2.0, 4.0, 4.0, 4.0]]
        """
        levels = np.split(lanes, np.cumsum(self.sizes)[:-1], axis=1)
        upward = [levels[-1]]  # z of each level, the smallest bins first
        for own, counts in zip(self._own[1:], reversed(levels[:-1]), strict=True):
            upward.append(own * counts + (1.0 - own) * self._joined(upward[-1]))
        bins = upward[-1]
        for parts in reversed(upward[:-1]):
            missing = (bins - self._joined(parts)) / self.branch
            bins = parts + np.repeat(missing, self.branch, axis=1)
        return np.concatenate([np.zeros((len(lanes), 1)), np.cumsum(bins, axis=1)], axis=1)

    def _joined(self, parts: Matrix) -> Matrix:
        joined = parts.reshape(len(parts), -1, self.branch).sum(axis=-1)
        return np.asarray(joined)

    def rank_moments(self, quantile: float) -> Moments:
        """The weights of the lanes in (records below an edge) - quantile · (all records), per edge.

        Within the bin of height h that contains the edge, the estimate is k · z plus differences
        between the parts that add up to nothing.  Parts below the edge have the same weights, and
        so have parts above it.  Only the part with the edge is looked at further.

        >>> BinTree(4, 1).rank_moments(0.5).energy.tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
        >>> BinTree(2, 2).rank_moments(0.5).energy.round(3).tolist()
        [0.333, 0.667, 0.333, 0.667, 0.333]
        """
        branch, bins = self.branch, self.sizes[-1]
        energies, fourths, largest = self._whole_bins()
        edge = np.arange(bins + 1)
        found = [np.zeros(bins + 1) for _ in range(3)]

        def add(weights: Column, times: Column, height: int) -> None:
            found[0] += times * weights**2 * energies[height]
            found[1] += times * weights**4 * fourths[height]
            there = np.where(times > 0, np.abs(weights) * largest[height], 0.0)
            np.maximum(found[2], there, out=found[2])

        # the edge after the last bin lies in no bin: it is the end of the last one
        inside, width = np.minimum(edge, bins - 1), bins // branch
        shared, middle = np.zeros(bins + 1), np.full(bins + 1, quantile)  # k, and what to subtract
        for height in range(self.levels, 0, -1):
            place = inside // width  # the part that contains the edge
            share = (edge - (inside - inside % width)) / width  # of that part, below the edge
            add(shared + 1.0 - middle, place % branch, height)
            add(shared - middle, branch - 1 - place % branch, height)
            own = shared + share - middle
            if height == 1:
                add(own, np.ones(bins + 1), 1)
                break
            alpha = self._own[height - 1]
            found[0] += (own * alpha) ** 2
            found[1] += (own * alpha) ** 4
            np.maximum(found[2], np.abs(own * alpha), out=found[2])
            shared, middle = own * (1.0 - alpha), share
            width //= branch
        return Moments(*found)

    def _whole_bins(self) -> tuple[list[float], list[float], list[float]]:
        """The moments of z for each height; entry 0 is not used."""
        energies, fourths, largest = [0.0], [0.0], [0.0]
        for own in self._own:
            rest, branch = 1.0 - own, self.branch
            energies.append(own**2 + rest**2 * branch * energies[-1])
            fourths.append(own**4 + rest**4 * branch * fourths[-1])
            largest.append(max(own, rest * largest[-1]))
        return energies, fourths, largest
