"""Growth curves as pictures: docs/images/bench-*.png."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.paths import IMAGES

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Picture:
    """Lines in a plot with two logarithmic axes."""

    name: str
    title: str
    across: str  # with its unit
    up: str  # with its unit
    lines: Mapping[str, Points]
    base: int = 2  # of the axis across
    yardstick: str = ""  # the line that is drawn dashed

    @property
    def file(self) -> str:
        """Its name under docs/images."""
        return f"bench-{self.name}.png"


def draw(picture: Picture, folder: Path = IMAGES) -> None:
    """Write the picture to its file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator

    figure = Figure(figsize=(8, 4.8), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xscale("log", base=picture.base)
    axes.set_yscale("log")
    for marker, (label, points) in zip("osD^vP*X", picture.lines.items(), strict=False):
        colour, style = ("0.5", "--") if label == picture.yardstick else (None, "-")
        x, y = zip(*points, strict=True)
        axes.plot(x, y, style, color=colour, marker=marker, markersize=5, label=label)
    axes.xaxis.set_major_locator(LogLocator(base=picture.base, numticks=16))
    axes.xaxis.set_major_formatter(LogFormatterSciNotation(base=picture.base))
    low, high = axes.get_ylim()
    middle = (low * high) ** 0.5
    axes.set_ylim(min(low, middle / 4), max(high, middle * 4))  # a flat line must look flat
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    written = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(written)
    axes.yaxis.set_minor_formatter(written)
    axes.set(title=picture.title, xlabel=picture.across, ylabel=picture.up)
    axes.grid(axis="x", color="0.9")
    axes.grid(axis="y", which="both", color="0.9")
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / picture.file, dpi=110)
