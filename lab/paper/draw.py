"""Draw a figure of the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hushfade.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from lab.paper.document import Figure, Line, Panel

WIDTH, HEIGHT = 5.4, 4.0  # inches of a panel


def draw(figure: Figure) -> Drawing:
    """The drawing: panels, two per row, and one legend below with a colour and dash per label."""
    panels = figure.panels
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    labels = list(dict.fromkeys(x.label for panel in panels for x in panel.lines))
    # matplotlib's legend takes room that grows with its lines
    room = 0.25 * -(-len(labels) // 3)
    made = style.figure(max(WIDTH * columns, 8.0), HEIGHT * rows + room)
    for place, panel in enumerate(panels, start=1):
        axes = made.add_subplot(rows, columns, place)
        _panel(axes, panel, labels)
    handles = {
        word: handle
        for axes in made.axes
        for handle, word in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    made.legend(
        [handles[word] for word in labels],
        labels,
        loc="outside lower center",
        ncols=min(3, len(labels)),
        frameon=False,
        fontsize=style.SMALL,
    )
    made.draw_without_rendering()  # so that the layout, half of the time, is made once
    made.set_layout_engine("none")
    return made


def _panel(axes: Axes, panel: Panel, labels: list[str]) -> None:
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    for one in panel.lines:
        _line(axes, one, labels.index(one.label))
    style.tidy(axes, x=panel.x, y=panel.y, title=panel.title)
    _said(axes)


def _said(axes: Axes) -> None:
    """Numbers on logarithmic axes: 3 and 20 where the axis is short, 10⁻³ where it is long.

    They are plain text, and long axes have no ticks between: both take a second a figure.
    """
    from matplotlib.ticker import FuncFormatter, LogFormatter, NullLocator

    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        if axis.get_scale() != "log":
            continue
        if high < 100 * low:
            axis.set_major_formatter(LogFormatter(minor_thresholds=(2.0, 0.7)))
            axis.set_minor_formatter(LogFormatter(minor_thresholds=(2.0, 0.7)))
        else:
            axis.set_major_formatter(FuncFormatter(lambda number, _: decade(number)))
            axis.set_minor_locator(NullLocator())


def decade(number: float) -> str:
    """A power of ten as it is written.

    >>> decade(1e-12), decade(100.0), decade(1.0)
    ('10⁻¹²', '100', '1')
    """
    power = round(math.log10(number))
    if 0 <= power <= 2:
        return str(10**power)
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _line(axes: Axes, one: Line, rank: int) -> None:
    colour, dashes = style.line(rank)
    match one.style:
        case "line":
            axes.plot(one.x, one.y, color=colour, linestyle=dashes, linewidth=1.4, label=one.label)
        case "points":
            axes.plot(
                one.x, one.y, color=colour, linestyle="", marker="osD^v<>"[rank % 7], markersize=4,
                label=one.label,
            )  # fmt: skip
        case "band":
            axes.fill_between(
                one.x, one.y, one.high, color=colour, alpha=0.25, linewidth=0, label=one.label
            )
