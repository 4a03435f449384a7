"""The common style of all figures: background, colours, lines and text.

The colours are the palette of Okabe and Ito (2008), which people with colour blindness can
distinguish.  Lines also differ in their dashes, so that figures work in greyscale.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Column
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.decays import Decay
    from hushfade.privacy.guarantee import Guarantee

BLACK, BLUE, VERMILLION, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY, GREY = "#E69F00", "#CC79A7", "#56B4E9", "#6E6E6E"

LABEL, SMALL = 9.5, 8.5  # points; the smaller is 12 pixels at 100 dots an inch

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
_DASHES = ("-", "--", "-.", ":")


def line(rank: int) -> tuple[str, str]:
    """The colour and the dashes of a line by rank: 28 pairs, in which neighbours differ in both.

    >>> line(0), line(7)
    (('#0072B2', '-'), ('#0072B2', ':'))
    """
    return _COLOURS[rank % len(_COLOURS)], _DASHES[rank % len(_DASHES)]


def figure(width: float, height: float) -> Figure:
    """An empty white figure with this size in inches, at 150 dots per inch."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")


def headline(figure: Figure, title: str, *lines: str) -> None:
    """Set the title of the figure, on the left, and further lines below it."""
    words = "\n".join(filter(None, (title, *lines)))
    made = figure.suptitle(words, x=0.01, horizontalalignment="left", fontsize=11)
    made.set_parse_math(False)


def terms(decay: Decay | None, guarantee: Guarantee | None) -> str:
    """Decay, epsilon and delta in a line; a long decay is cut.

    >>> from hushfade.decays import SlidingWindow
    >>> from hushfade.privacy.guarantee import Guarantee
    >>> terms(SlidingWindow(length=7), Guarantee(epsilon=1, delta=1e-6))
    'window of 7 steps, epsilon = 1, delta = 0.000001'
    """
    words = [] if decay is None else [_words(decay)]
    if guarantee is not None:
        delta = rounded_up(guarantee.delta, 3)
        words.append(f"epsilon = {rounded_up(guarantee.epsilon)}, delta = {delta}")
    return ", ".join(words)


def _words(decay: Decay) -> str:
    return short(decay.words(_steps), 70)


def _steps(count: float) -> str:
    return "1 step" if count == 1 else f"{count:g} steps"


def short(text: str, width: int) -> str:
    """The text on one line, cut in its middle to the width: names often differ at their ends.

    >>> short("district number 7", 9)
    'dist…er 7'
    """
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    tail = (width - 1) // 2
    return flat[: width - 1 - tail] + "…" + flat[len(flat) - tail :]


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most `width` characters."""
    return "\n".join(textwrap.wrap(text, width))


def footnote(figure: Figure, text: str, size: float = SMALL) -> None:
    """Draw text below the panels, on the left."""
    figure.supxlabel(text, fontsize=size, x=0.01, horizontalalignment="left")


def tidy(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Set the labels of both axes and a light grid, and remove the box."""
    from matplotlib.ticker import ScalarFormatter

    axes.set_xlabel(x, fontsize=LABEL, parse_math=False)
    axes.set_ylabel(y, fontsize=LABEL, parse_math=False)
    axes.set_title(title, loc="left", fontsize=LABEL, parse_math=False)
    axes.tick_params(which="both", labelsize=SMALL)
    if isinstance(axes.yaxis.get_major_formatter(), ScalarFormatter):
        axes.ticklabel_format(axis="y", useOffset=False, useMathText=True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(SMALL)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def epsilon_axes(axes: Axes, *, x: str, title: str) -> None:
    """Finish axes of epsilon, from 0, against a logarithmic x, with a legend below them."""
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    tidy(axes, x=x, y="epsilon (natural logarithm of a probability ratio)", title=title)
    legend(axes)


def band(axes: Axes, x: Column, low: Column, high: Column, *, colour: str, label: str) -> None:
    """Draw the area from low to high; at a single x, where it has no width, a thick line."""
    if len(x) == 1:
        axes.vlines(x, low, high, color=colour, alpha=0.3, linewidth=9, label=label)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.3, linewidth=0, label=label)


def legend_below(figure: Figure, axes: Axes) -> None:
    """Draw one legend for the figure below the axes, where it hides nothing."""
    handles, words = axes.get_legend_handles_labels()
    figure.legend(
        handles, words, loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )


def legend(axes: Axes) -> None:
    """Draw the legend of the axes below their label, where it hides nothing."""
    from matplotlib.transforms import offset_copy

    handles, words = axes.get_legend_handles_labels()
    below = offset_copy(axes.transAxes, fig=axes.get_figure(root=True), y=-36, units="points")
    axes.legend(
        handles,
        words,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=below,
        borderaxespad=0.0,
        frameon=False,
        fontsize=SMALL,
    )


def decades(low: float, high: float) -> tuple[float, float]:
    """Limits of a logarithmic axis around [low, high], with some room, and at least a decade."""
    room = max(0.5 * (1.0 - np.log10(high / low)), 0.04 * np.log10(high / low))
    return float(low * 10.0**-room), float(high * 10.0**room)


def plain_numbers(axes: Axes) -> None:
    """Set tick labels of logarithmic axes to plain numbers: 100, not 10²."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))
            axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))
        elif axis.get_scale() == "symlog":
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))


def three(number: float) -> str:
    """The number with three digits, without an exponent up to a million.

    >>> three(1451.7), three(13.84), three(4.2e9)
    ('1450', '13.8', '4.2e+09')
    """
    return f"{float(f'{number:.3g}'):g}"


def whole_steps(axes: Axes) -> None:
    """Set ticks of the step axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    plain = ScalarFormatter(useOffset=False)
    plain.set_powerlimits((-5, 7))
    axes.xaxis.set_major_formatter(plain)
