"""The number of records in each bin, decayed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix, Signed
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.one_hot import bins_of, checked_edges, labels
from hushfade.public.statistics.statistic import LaneDefaults


@dataclass(frozen=True)
class Histogram(LaneDefaults):
    """The decayed number of records between declared edges, at the price of one count.

    A record x is in bin i if edges[i] ≤ x < edges[i + 1].  The last bin includes its upper edge.
    Values outside the edges count in the first or the last bin.  The value is a column, one number
    per bin, and each has the error of a plain count.

    >>> import hushfade as hf
    >>> ages = hf.Histogram(edges=[0, 18, 65, 120])
    >>> plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=ages)
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step([5, 17, 30, 64, 65, 80, 200])
    >>> ages.outputs, release.value.shape, round(release.stddev, 2)
    (('[0, 18)', '[18, 65)', '[65, 120]'), (3,), 1.36)
    """

    edges: tuple[float, ...]

    name = "histogram"
    bounds = 0.0, 1.0
    resolution = 1.0  # lanes are counts
    kind: ClassVar[Literal["numbers"]] = "numbers"
    output_name = "bin"
    range = -np.inf, np.inf

    def __init__(self, edges: Iterable[float]) -> None:
        check.settle(self, edges=checked_edges(edges))

    @property
    def parts(self) -> tuple[str, ...]:
        """The bins."""
        return labels(self.edges)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The bins."""
        return self.parts

    @property
    def sums(self) -> dict[str, Column]:
        """The count of all bins."""
        return {"count": np.ones(len(self.edges) - 1)}

    def document(self) -> dict[str, Any]:
        """The declared parameters."""
        return {"kind": self.name, "edges": list(self.edges)}

    def whole(self, span: int) -> int:
        """A record adds 1."""
        return 1

    def codes(self, records: Any) -> Signed:
        """The bin of each record."""
        return bins_of(np.array(self.edges), records)

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """1 in the bin."""
        places = codes[:, None]
        return places, np.ones_like(places)

    def value(self, lanes: Matrix) -> Matrix:
        """The counts."""
        return lanes

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """Each count with its own margin."""
        margin = margins.single[:, None]
        return lanes - margin, lanes + margin
