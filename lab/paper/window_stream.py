"""Section 3.6 on a simulated stream: printed, corrected and plain releases, and their errors."""

from __future__ import annotations

import math

import numpy as np

from hushfade.baselines.window_blocks import window_blocks
from hushfade.decays import SlidingWindow
from hushfade.privacy.guarantee import Guarantee
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.window import MENDED, ROOT, mended_output, printed_output

WINDOW, BLOCKS, SEED = 256, 8, 7  # of the simulated stream
PRINTED = "blocks, as printed"


def blocks(extent: Extent) -> Blocks:
    """The chapter: errors measured over simulated streams, compared with the stated ones."""
    yield Prose(_STREAM)
    yield from _simulated(extent)


_STREAM = f"""\
We run the three outputs for the window, as printed, corrected and of the plain square root, on one
stream of {WINDOW * BLOCKS} records, each 0 or 1, with w = {WINDOW}, ε = 1, δ = 10^-6 (add or remove
a record) and noise from a fixed seed. The error of the printed output exceeds its noise, because
the output estimates a different number."""


def _simulated(extent: Extent) -> Blocks:
    from hushfade.crossing.noise_sources import UnsafeSeededNoise
    from hushfade.planning.planner import plan

    w, n, runs = WINDOW, WINDOW * BLOCKS, max(10, extent.releases // 20)
    decay, guarantee = SlidingWindow(w), Guarantee(epsilon=1.0, delta=1e-6)
    generator = np.random.default_rng(SEED)
    t = np.arange(1.0, n + 1)
    x = (generator.random(n) < 0.5 + 0.3 * np.sin(2 * np.pi * t / (3 * w))).astype(np.float64)
    truth = np.convolve(x, np.ones(w))[:n].round()

    mechanism = window_blocks(decay, n)
    _, R = mechanism.matrices()
    z = generator.normal(scale=mechanism.noise_stddev(guarantee), size=(n, runs))
    u = np.asarray(R @ ((R @ x)[:, None] + z))
    made = plan(decay, guarantee, method="square_root")
    ours = np.column_stack([made.start(UnsafeSeededNoise(SEED + i)).run(x) for i in range(runs)])
    found = {PRINTED: printed_output(u, w), MENDED: mended_output(u, w), ROOT: ours}
    said = {MENDED: mechanism.stddevs(guarantee), ROOT: made.stddevs(n)}
    rows = []
    for name, series in found.items():
        error = (series - truth[:, None])[w:]
        bias = float(np.sqrt(np.mean(np.mean(error, axis=1) ** 2)))
        theory = float(np.sqrt(np.mean(said[name][w:] ** 2))) if name in said else "-"
        rows.append((name, float(np.sqrt(np.mean(error**2))), theory, bias))
    yield Table(
        "window-stream-simulated",
        f"Root mean squared error after the first block over {runs} simulated streams, the error "
        "that the mechanism states, and the error of the mean over the streams.",
        ("output", "measured", "stated", "of the mean"),
        tuple(rows),
        digits=4,
    )
    yield from _measured(rows, runs)
    few = slice(3, None, 4)  # with every step the lines would overlap
    yield Figure(
        "window-stream-releases",
        f"One stream, w = {w}: the true sum and the three releases.  The figure shows every fourth "
        "step.",
        tuple(
            Panel(
                name.capitalize(),
                "step",
                "window's sum",
                (line("release", t[few], series[few, 0]), line("truth", t[few], truth[few])),
            )
            for name, series in found.items()
        ),
    )
    squares = {name: np.mean((y - truth[:, None]) ** 2, axis=1) for name, y in found.items()}
    yield Figure(
        "window-stream-errors",
        f"Error over time, w = {w}: stated, and measured over {runs} simulated streams.",
        (
            Panel(
                "Stated",
                "step",
                "standard deviation",
                tuple(line(name, t, y) for name, y in said.items()),
            ),
            Panel(
                "Measured, every fourth step",
                "step",
                "root mean squared error",
                tuple(line(x, t[few], np.sqrt(squares[x][few])) for x in (MENDED, ROOT, PRINTED)),
                y_log=True,
            ),
        ),
    )


def _measured(rows: list[tuple[str, float, float | str, float]], runs: int) -> Blocks:
    noise = {name: measured / math.sqrt(runs) for name, measured, _, _ in rows}
    for name, measured, stated, bias in rows:
        if isinstance(stated, float):
            yield Claim.new(
                f"{name}: unbiased, with the stated error",
                f"{stated:.4f}, and {stated / math.sqrt(runs):.2f} for the mean of {runs} streams",
                f"{measured:.4f}, and {bias:.2f}",
                holds(abs(measured / stated - 1) < 0.1 and bias < 1.5 * noise[name]),
            )
        else:
            yield Claim(
                "Section 3.6",
                f"the output of the printed algorithm is unbiased (simulated, w = {WINDOW})",
                f"{noise[MENDED]:.2f} for the mean of {runs} streams",
                f"{bias:.2f}",
                holds(bias < 1.5 * noise[MENDED]),
                "the corrected output, or the plain square root (next rows)",
            )
