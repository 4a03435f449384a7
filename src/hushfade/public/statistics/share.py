"""The share of records that are true, or that have one category, decayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hushfade.check import Column, Matrix, Signed
from hushfade.errors import InvalidType
from hushfade.public.statistics.lane_margins import LaneMargins
from hushfade.public.statistics.mean import Mean
from hushfade.public.statistics.statistic import LaneDefaults

_MEAN = Mean(low=0.0, high=1.0)


@dataclass(frozen=True)
class Share(LaneDefaults):
    """The decayed share of true records, at the price of one count.

    A record is true or false (or 1 or 0).  With `of` a record is a text, and it is true if it
    equals `of`.  A true record adds 1 to the lane `yes`, any other record adds 1 to the lane `no`.
    share = yes / (yes + no), between 0 and 1; one half if the noisy count is not positive.

    >>> import hushfade as hf
    >>> guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
    >>> plan = hf.plan(hf.SlidingWindow(length=7), guarantee, statistic=hf.Share(of="positive"))
    >>> release = plan.start(hf.UnsafeSeededNoise(1)).step(["positive"] * 50 + ["negative"] * 450)
    >>> round(release.value, 3), [round(end, 3) for end in release.interval(0.95)]
    (0.102, [0.095, 0.108])
    """

    of: str | None = None

    name = "share"
    bounds = range = 0.0, 1.0
    resolution = 1.0  # lanes are counts
    parts = "yes", "no"

    def __post_init__(self) -> None:
        if not isinstance(self.of, str | None):
            raise InvalidType("must be a str", argument="of", got=type(self.of).__name__)

    @property
    def kind(self) -> Literal["truths", "texts"]:
        """Records are truths, or texts."""
        return "truths" if self.of is None else "texts"

    @property
    def sums(self) -> dict[str, Column]:
        """Count, yes and no: weights of the lanes."""
        return {"count": np.ones(2), "yes": np.array([1.0, 0.0]), "no": np.array([0.0, 1.0])}

    def document(self) -> dict[str, Any]:
        """The declared parameters."""
        return {"kind": self.name, "of": self.of}

    def whole(self, span: int) -> int:
        """A record adds 1."""
        return 1

    def codes(self, records: Any) -> Signed:
        """1 for each true record, or for each text that equals `of`."""
        if self.of is None:
            return np.asarray(records, dtype=np.int64)
        return np.array([record == self.of for record in records], dtype=np.int64)

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """1 in the lane yes for the code 1, and in the lane no for the code 0."""
        places = (1 - codes)[:, None]
        return places, np.ones_like(places)

    def value(self, lanes: Matrix) -> Matrix:
        """The share, between 0 and 1."""
        return _MEAN.value(lanes)

    def interval(self, lanes: Matrix, margins: LaneMargins) -> tuple[Matrix, Matrix]:
        """Fieller's interval for the share."""
        return _MEAN.interval(lanes, margins)
