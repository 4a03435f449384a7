"""The statistics of its records that a plan can release."""

from hushfade.public.statistics.count import Count
from hushfade.public.statistics.histogram import Histogram
from hushfade.public.statistics.mean import Mean
from hushfade.public.statistics.quantiles import Quantiles
from hushfade.public.statistics.ratio import Ratio
from hushfade.public.statistics.share import Share
from hushfade.public.statistics.statistic import LaneStatistic, Statistic
from hushfade.public.statistics.sum import Sum
from hushfade.public.statistics.variance import Variance

__all__ = [
    "Count",
    "Histogram",
    "LaneStatistic",
    "Mean",
    "Quantiles",
    "Ratio",
    "Share",
    "Statistic",
    "Sum",
    "Variance",
]
