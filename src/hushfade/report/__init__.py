"""Pictures of releases, plans, promises and rivals, and charts for the terminal.

    series      a released series with its error band, a panel a key
    errors      the error of every mechanism of a comparison against time
    weights     a plan's weights and taps, and what one record adds to the sum
    privacy     epsilon against delta, for one release and for several
    plans       several plans side by side
    overview    a plan on one page
    chart       a line for the terminal
    sparkline   a row of bars for the terminal
    write       a figure as a PNG or SVG file, whole or not at all

Pictures are matplotlib figures; matplotlib and rich are imported when the first is drawn.
"""

from __future__ import annotations

from hushfade.report.chart import chart, sparkline
from hushfade.report.errors import errors
from hushfade.report.file import write
from hushfade.report.overview import overview
from hushfade.report.plans import plans
from hushfade.report.privacy import privacy
from hushfade.report.series import series
from hushfade.report.weights import weights

__all__ = [
    "chart",
    "errors",
    "overview",
    "plans",
    "privacy",
    "series",
    "sparkline",
    "weights",
    "write",
]
