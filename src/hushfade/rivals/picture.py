"""The picture of a comparison: error against time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hushfade.rivals.comparison import Comparison


def write(comparison: Comparison, path: Path) -> None:
    """Lines of the standard deviation at each step, on logarithmic scales, named at their ends.

    The dashed line is the least largest error of factorization mechanisms with Gaussian noise.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    steps = np.arange(1, comparison.horizon + 1)
    colours = mpl.color_sequences["tab10"]
    for rank, row in enumerate(comparison.rows):
        ours = row.method.startswith("hushfade")
        axes.plot(
            steps,
            row.errors,
            label=f"{row.method}  {row.max_error:.3g}",
            color="black" if ours else colours[rank % len(colours)],
            linewidth=2.2 if ours else 1.0,
            linestyle=":" if row.pure else "-",
            zorder=5 if ours else 2,
        )
    axes.axhline(comparison.least, color="black", linewidth=1, linestyle="--")
    axes.annotate(
        f"least with Gaussian noise {comparison.least:.3g}",
        (1.0, comparison.least),
        xytext=(4, -12),
        textcoords="offset points",
        fontsize=8,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("standard deviation of the error")
    axes.set_title(f"{comparison.decay!r}, epsilon = {comparison.guarantee.epsilon:g}", fontsize=10)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(path, dpi=130)
