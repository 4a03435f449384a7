"""docs/images/halves.svg: the two halves, the wall between them, and the one crossing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.plots import style, write
from lab.paths import DOCS
from lab.progress import progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 900.0, 390.0  # pixels, at 100 to the inch
PRIVATE, PUBLIC = "#FCE9DA", "#DCEBF5"  # tints of vermillion and blue
BRICK, MORTAR = "#8C8C8C", "#5A5A5A"
WALL, DOOR = (402.0, 498.0), (142.0, 285.0)  # from left to right; from the floor up
MIDDLE = 190.0  # the height of the boxes and arrows
SIZE, NOTE = 11.0, 9.0  # points: 15 and 12 pixels


def main() -> None:
    """Draw and write the diagram."""
    write(drawn(), DOCS / "images/halves.svg")
    progress("written: docs/images/halves.svg")


def drawn() -> Figure:
    """The diagram: 900 pixels wide, light, in colours that colour-blind readers can distinguish."""
    figure = style.figure(WIDTH / 100, HEIGHT / 100)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, WIDTH), ylim=(0.0, HEIGHT))
    axes.set_axis_off()
    _private(axes)
    _public(axes)
    _wall(axes)
    _crossing(axes)
    return figure


def _private(axes: Axes) -> None:
    _room(axes, 12.0, WALL[0], PRIVATE)
    _title(axes, 26.0, "Private half", "exact integer arithmetic", style.VERMILLION)
    _box(axes, 66.0, "records", style.VERMILLION)
    _box(axes, 204.0, "totals\n$x_t$", style.VERMILLION)
    _box(axes, 336.0, "$v = R\\,x$", style.VERMILLION)
    _arrow(axes, 108.0, 162.0)
    _arrow(axes, 246.0, 294.0)
    _note(axes, 135.0, MIDDLE + 62.0, "clip, round to\nthe grid, sum")
    _note(axes, 270.0, MIDDLE + 62.0, "right taps,\nintegers")
    _note(
        axes,
        204.0,
        66.0,
        "Access to this half reveals the data:\nprocess memory, saved state, input files",
    )


def _public(axes: Axes) -> None:
    _room(axes, WALL[1], WIDTH - 12.0, PUBLIC)
    _title(axes, 524.0, "Public half", "floats; rounding is harmless here", style.BLUE)
    _box(axes, 564.0, "$s = L\\,y$", style.BLUE)
    _box(axes, 696.0, "release", style.BLUE)
    _box(axes, 834.0, "page,\nfile", style.BLUE)
    _arrow(axes, 606.0, 654.0)
    _arrow(axes, 738.0, 792.0)
    _note(axes, 630.0, MIDDLE + 62.0, "left taps,\n$L\\,R$ = the decay")
    _note(axes, 765.0, MIDDLE + 62.0, "value, step,\ndeviation")
    _note(
        axes,
        696.0,
        66.0,
        "Post-processing here costs no privacy:\nrounding, plots, averages, mistakes",
    )


def _wall(axes: Axes) -> None:
    """Draw rows of bricks from the floor to the ceiling, with a door."""
    from matplotlib.patches import Rectangle

    left, right = WALL
    course, brick = 13.0, 34.0
    floor, ceiling = 12.0, HEIGHT - 14.0
    rows = round((ceiling - floor) / course)
    for row in range(rows):
        low = floor + row * course
        if DOOR[0] - course < low < DOOR[1]:
            continue
        start = left - (row % 2) * brick / 2
        while start < right:
            x = max(start, left)
            wide = min(start + brick, right) - x
            patch = Rectangle((x, low), wide, course, facecolor=BRICK, edgecolor="white", lw=1.2)
            axes.add_patch(patch)
            start += brick
    axes.plot([left, left], [floor, floor + rows * course], color=MORTAR, lw=1.0)
    axes.plot([right, right], [floor, floor + rows * course], color=MORTAR, lw=1.0)


def _crossing(axes: Axes) -> None:
    """Draw the door, the noise that enters there, and the label."""
    from matplotlib.patches import Circle, Rectangle

    centre = (WALL[0] + WALL[1]) / 2
    plate = Rectangle(
        (WALL[0] - 12.0, 316.0), 120.0, 48.0, facecolor="white", edgecolor=MORTAR, zorder=3
    )
    axes.add_patch(plate)
    axes.text(centre, 350.0, "The crossing", fontsize=SIZE, weight="bold", ha="center", va="center")
    axes.text(centre, 329.0, "the only noise", fontsize=NOTE + 0.5, ha="center", va="center")
    axes.text(centre, 260.0, "noise $z_t$", fontsize=SIZE, ha="center", va="center")
    _pointed(axes, (centre, 248.0), (centre, MIDDLE + 17.0))
    axes.text(centre, 156.0, "$y_t = v_t + z_t$", fontsize=SIZE, ha="center", va="center")
    axes.add_patch(Circle((centre, MIDDLE), 17.0, facecolor="white", edgecolor="black", lw=1.8))
    axes.text(centre, MIDDLE, "+", fontsize=17.0, ha="center", va="center")
    _arrow(axes, 378.0, centre - 17.0)
    _arrow(axes, centre + 17.0, 522.0)


def _room(axes: Axes, left: float, right: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, 12.0), right - left, HEIGHT - 26.0, facecolor=colour, lw=0.0))


def _title(axes: Axes, x: float, name: str, below: str, colour: str) -> None:
    axes.text(x, 350.0, name, fontsize=13.0, weight="bold", color=colour, va="center")
    axes.text(x, 327.0, below, fontsize=NOTE + 0.5, color=style.BLACK, va="center")


def _box(axes: Axes, centre: float, words: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (centre - 38.0, MIDDLE - 28.0),
        76.0,
        56.0,
        boxstyle="round,pad=4,rounding_size=6",
        facecolor="white",
        edgecolor=colour,
        lw=1.6,
    )
    axes.add_patch(shape)
    axes.text(centre, MIDDLE, words, fontsize=SIZE, ha="center", va="center")


def _arrow(axes: Axes, start: float, end: float) -> None:
    _pointed(axes, (start, MIDDLE), (end, MIDDLE))


def _pointed(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    how = {"arrowstyle": "-|>", "lw": 1.6, "color": style.BLACK, "shrinkA": 0.0, "shrinkB": 1.0}
    axes.annotate("", xy=end, xytext=start, arrowprops=how)


def _note(axes: Axes, x: float, y: float, words: str) -> None:
    axes.text(
        x, y, words, fontsize=NOTE, ha="center", va="center", color="#333333", linespacing=1.3
    )
