"""The sum of the records, decayed."""

from __future__ import annotations

from dataclasses import dataclass

from hushfade.public.statistics.bounds import checked_bounds


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

    def __post_init__(self) -> None:
        checked_bounds(self.low, self.high)

    @property
    def name(self) -> str:
        """The name in reports."""
        return "sum"

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of a record."""
        return checked_bounds(self.low, self.high)

    @property
    def resolution(self) -> float | None:
        """The caller may choose the grid."""
        return None
