"""Section 3.6 on a simulated stream: the printed, mended and plain releases, and their errors."""

from __future__ import annotations

import math

import numpy as np

from hushfade.baselines.window_blocks import window_blocks
from hushfade.decay import SlidingWindow
from hushfade.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from hushfade.paper.window import MENDED, ROOT, mended_output, printed_output
from hushfade.privacy.guarantee import Guarantee

WINDOW, BLOCKS, SEED = 256, 8, 7  # of the simulated stream
PRINTED = "blocks, as printed"


def blocks(extent: Extent) -> Blocks:
    """The errors measured over simulated streams, held against the stated ones."""
    yield Prose(_STREAM)
    yield from _simulated(extent)


_STREAM = f"""\
The window's three outputs, as printed, mended and of the plain square root, on one stream of
{WINDOW * BLOCKS} records, each 0 or 1, w = {WINDOW}, ε = 1, δ = 10^-6 (add or remove a record),
with noise from a fixed seed. The printed output errs by more than its noise: it estimates another
number."""


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
        f"Root mean square error after the first block over {runs} simulated streams, what the "
        "mechanism states, and the error of the mean over the streams.",
        ("output", "measured", "stated", "of the mean"),
        tuple(rows),
        digits=4,
    )
    yield from _measured(rows, runs)
    few = slice(3, None, 4)  # every step would be a smear
    yield Figure(
        "window-stream-releases",
        f"One stream, w = {w}: the truth, and the three releases; every fourth step is drawn.",
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
        f"Error along time, w = {w}: stated, and measured over {runs} simulated streams.",
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
                "root mean square error",
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
                f"the printed algorithm's output is unbiased (simulated, w = {WINDOW})",
                f"{noise[MENDED]:.2f} for the mean of {runs} streams",
                f"{bias:.2f}",
                holds(bias < 1.5 * noise[MENDED]),
                "the mended output, or the plain square root, below",
            )
