"""Figures of releases, plans, guarantees and comparisons, and charts for the terminal.

    series            a released series with its error band, one panel per key
    statistic_series  a released mean, share or other statistic with its intervals
    errors            the error of every mechanism of a comparison against time
    weights           a plan's weights and taps, and what one record adds to the sum
    privacy           epsilon against delta, for one release and for several
    privacy_by_age    epsilon of one record against its age, one curve per plan
    plans             several plans side by side
    overview          a plan on one page
    chart             a line for the terminal
    sparkline         a row of bars for the terminal
    write             saves a figure as PNG or SVG, atomically

The functions return matplotlib figures.  matplotlib and rich are imported on first use.
"""

from __future__ import annotations

from hushfade.plots.age_curves import privacy_by_age
from hushfade.plots.error_curves import errors
from hushfade.plots.figure_file import write
from hushfade.plots.plan_comparison import plans
from hushfade.plots.plan_overview import overview
from hushfade.plots.privacy_curves import privacy
from hushfade.plots.released_series import series
from hushfade.plots.statistic_figure import statistic_series
from hushfade.plots.terminal_chart import chart, sparkline
from hushfade.plots.weight_curves import weights

__all__ = [
    "chart",
    "errors",
    "overview",
    "plans",
    "privacy",
    "privacy_by_age",
    "series",
    "sparkline",
    "statistic_series",
    "weights",
    "write",
]
