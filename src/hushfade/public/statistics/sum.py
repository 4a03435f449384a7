"""The sum of the records, decayed."""

from __future__ import annotations

from dataclasses import dataclass

from hushfade import check


@dataclass(frozen=True)
class Sum:
    """The decayed sum of records in [low, high], which a plan releases by default.

    >>> import hushfade as hf
    >>> week, guarantee = hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6)
    >>> one = hf.plan(week, guarantee, statistic=hf.Sum(low=0, high=9))
    >>> one.digest == hf.plan(week, guarantee, low=0, high=9).digest
    True
    """

    low: float
    high: float

    name = "sum"
    resolution = None  # the caller may choose the grid

    def __post_init__(self) -> None:
        check.bounds(self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a record."""
        return check.bounds(self.low, self.high)
