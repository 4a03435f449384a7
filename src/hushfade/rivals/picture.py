"""The picture of a comparison: error against time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hushfade.rivals.comparison import Comparison


def write(comparison: Comparison, path: Path) -> None:
    """The standard deviation at each step, thin, and the largest so far, on logarithmic scales.

    The dashed line is the least largest error of factorization mechanisms with Gaussian noise.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    steps = np.arange(1, comparison.horizon + 1)
    colours = mpl.color_sequences["tab20"]
    axes.axhline(
        comparison.least,
        color="black",
        linewidth=1,
        linestyle="--",
        label=f"least with Gaussian noise  {comparison.least:.3g}",
    )
    for rank, row in enumerate(comparison.rows):
        ours = row.method.startswith("hushfade")
        colour = "black" if ours else colours[rank % len(colours)]
        solid, dotted = ("-", ":") if rank < len(colours) else ("--", "-.")
        style = dotted if row.pure else solid
        axes.plot(steps, row.errors, color=colour, linewidth=0.5, linestyle=style, alpha=0.25)
        axes.plot(
            steps,
            np.maximum.accumulate(row.errors),
            label=f"{row.method}  {row.max_error:.3g}",
            color=colour,
            linewidth=2.2 if ours else 1.2,
            linestyle=style,
            zorder=5 if ours else 2,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("standard deviation (bold: largest so far; faint: each step)")
    promise = f"epsilon = {comparison.guarantee.epsilon:g}, delta = {comparison.guarantee.delta:g}"
    axes.set_title(f"{comparison.decay!r}, {promise}", fontsize=10)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(path, dpi=130)
