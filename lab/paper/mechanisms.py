"""The constants of Section 1.2, roughly 4 and 10, and the mechanisms known before the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import bolot_exponential
from hushfade.baselines.bolot_power import bolot_power
from hushfade.baselines.bolot_window import bolot_window
from hushfade.baselines.circulant import circulant
from hushfade.baselines.honaker import honaker_online
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.mechanism import Mechanism
from hushfade.baselines.smooth_binary import smooth_binary
from hushfade.baselines.square_roots import column_normalized_root, normalized_root, square_root
from hushfade.baselines.window_blocks import window_blocks
from hushfade.decays import Decay, NoDecay, PowerLaw, SlidingWindow
from hushfade.theory import certificates, gamma2, gamma_f
from lab.paper.bolot import ROOT, mean_square, spread
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line

Maker = Callable[[Decay, int], Mechanism]
Row = tuple[str, int, str, float, float, float, float, float, float]  # under _COLUMNS

LEAST = "lower bound for factorizations"
BETA = 0.1  # the β of Bolot et al.'s power law in the figures
TREE = math.pi / math.log(2.0)  # limit of the ratio of binary tree to square root, largest error

_COMMON: dict[str, Maker] = {
    ROOT: square_root,
    "Gaussian mechanism": output_noise,
    "input noise": input_noise,
    "Honaker online": honaker_online,
}
FAMILIES: dict[str, tuple[Decay, dict[str, Maker]]] = {
    "counting": (
        NoDecay(),
        {**_COMMON, "binary tree": binary_tree, "smooth binary": smooth_binary},
    ),
    "exponential, α = 1.01": (
        DECAYS["exponential, α = 1.01"],
        {**_COMMON, "Bolot et al.": bolot_exponential},
    ),
    "power 1": (
        PowerLaw(1),
        {**_COMMON, "Bolot et al.": lambda decay, n: bolot_power(decay, n, beta=BETA)},
    ),
    "window 256": (
        SlidingWindow(256),
        {**_COMMON, "Bolot et al.": bolot_window, "window blocks": window_blocks},
    ),
}


def blocks(extent: Extent) -> Blocks:
    """The chapter: ratios of the tree to the paper's algorithm, then all mechanisms against T."""
    yield Prose(_ratios_said())
    yield from _ratios(extent)
    yield Prose(_ALL)
    yield from _everything(extent)
    yield _since(1024)


_ALL = """\
We compare the mechanisms known before the paper, including Honaker's refinement of the tree, by
their largest standard deviation and their mean squared error as functions of T. The lowest line is
the bound of `theory.certificates`: no factorization mechanism with Gaussian noise is below it. The
power law of Bolot et al. has a relative error of β in addition."""


# Constants ----------------------------------------------------------------------------------


def _ratios_said() -> str:
    return f"""\
Section 1.2 states that for windows, as for counting, the paper's algorithm improves the constant of
the tree by roughly 4 in the ℓ∞ error and by roughly 10 in the mean squared error. We take these
as ratios of the largest standard deviations and of the mean squared errors, whose limits are known.
For counting, the tree has log₂ T and (log₂ T)²/2, and the square root has ln(T)/π and its square,
so the limits are π/ln 2 = {TREE:.2f} and {TREE**2 / 2:.2f}. The tree of a window adds a suffix and
a prefix, log₂ w nodes in all. With the bounds of Theorem 7 as printed the limits are
{TREE / math.sqrt(2):.2f} and {TREE**2 / 2:.2f}, which the authors may have in mind. But the
corrected blocks have √3 ln(w)/π, and the plain square root of the window has (4/π²) ln w. The
ratios approach their limits only logarithmically, so we show both the ratio and the limit.
We read 'roughly' as within 25 %."""


def _ratios(extent: Extent) -> Blocks:
    powers = range(4, 21 if extent.full else 13, 4)
    rows: list[tuple[str, int, float, float, float, float]] = []
    limits = {
        "counting, square root": (TREE, TREE**2 / 2),
        "window, blocks": (TREE / math.sqrt(3.0), TREE**2 / 3),
        "window, square root": (TREE * math.pi / 4, (TREE * math.pi / 4) ** 2),
    }
    for size in (1 << k for k in powers):
        window, T = SlidingWindow(size), 16 * size
        pairs = {
            "counting, square root": (binary_tree(NoDecay(), size), square_root(NoDecay(), size))
        }
        if size <= 1 << 16:
            tree = bolot_window(window, T)
            pairs["window, blocks"] = tree, window_blocks(window, T)
            pairs["window, square root"] = tree, square_root(window, T)
        for name, (tree, ours) in pairs.items():
            ratio = tree.error_factor / ours.error_factor
            rows.append((name, size, ratio, mean_square(tree) / mean_square(ours), *limits[name]))
    rows.sort(key=lambda row: (row[0], row[1]))
    yield Table(
        "mechanisms-constants",
        "The error of the tree divided by the error of the paper's algorithm, largest standard "
        "deviation and mean squared error, and the limits of both ratios. Size is T for counting, "
        "and w for windows with T = 16w.",
        ("against", "size", "ℓ∞ ratio", "mean square ratio", "ℓ∞ limit", "mean square limit"),
        tuple(rows),
        digits=4,
    )
    for name in ("counting, square root", "window, blocks"):  # the cases in the paper
        _, size, *_ = last = [row for row in rows if row[0] == name][-1]
        for what, claimed, found, limit in (
            ("ℓ∞", 4.0, last[2], last[4]), ("mean square", 10.0, last[3], last[5])
        ):  # fmt: skip
            here, there = _roughly(found, claimed), _roughly(limit, claimed)
            read = name.startswith("window")  # the tree is our reconstruction of Bolot et al.
            yield Claim(
                "Section 1.2",
                f"{name}: the {what} error of the tree is larger by a factor of roughly "
                f"{claimed:g}",
                f"roughly {claimed:g}",
                f"{found:.2f} at {size}; the limit is {limit:.2f}",
                "holds" if here else "weak" if there or read else "false",
                "" if here else f"{found:.2f} at {size}, increasing to {limit:.2f}" + _READ * read,
            )
    off = [
        (row[2] < row[4] and row[3] < row[5])
        and all(row[2] > o[2] and row[3] > o[3] for o in rows if o[0] == row[0] and o[1] < row[1])
        for row in rows
    ]
    yield Claim.new(
        "every ratio increases with the size and stays below its limit",
        "limits π/ln 2 and half its square for counting",
        f"{sum(off)} of {len(off)} rows",
        holds(all(off)),
    )


_READ = (
    "; weak and not false, because the paper says 'roughly' and we reconstructed the tree of "
    "Bolot et al. without access to their paper"
)


def _roughly(found: float, claimed: float) -> bool:
    """Whether the value is within 25 % of the claimed one."""
    return abs(found - claimed) <= claimed / 4


# All rivals ---------------------------------------------------------------------------------


def _everything(extent: Extent) -> Blocks:
    steps = [1 << k for k in range(2, 19 if extent.full else 13, 2)]
    rows: list[Row] = []
    panels: dict[str, list[Panel]] = {"largest": [], "mean": []}
    for name, (decay, makers) in FAMILIES.items():
        largest: dict[str, list[float]] = {rival: [] for rival in (*makers, LEAST)}
        mean: dict[str, list[float]] = {rival: [] for rival in (*makers, LEAST)}
        for T in steps:
            for rival, make in makers.items():
                made = make(decay, T)
                largest[rival].append(made.error_factor)
                mean[rival].append(mean_square(made))
            best, best_mean = _least(decay, T)
            largest[LEAST].append(best)
            mean[LEAST].append(best_mean)
            for rival in makers:
                big, square = largest[rival][-1], mean[rival][-1]
                rows.append((
                    name, T, rival, big, big / largest[ROOT][-1], big / largest[LEAST][-1],
                    square, square / mean[ROOT][-1], square / mean[LEAST][-1],
                ))  # fmt: skip
        panels["largest"].append(_panel(name, "largest standard deviation", steps, largest))
        panels["mean"].append(_panel(name, "mean squared error", steps, mean))
    yield Table(
        "mechanisms-rivals",
        "Largest standard deviation and mean squared error for unit noise multiplier and change, "
        "each also relative to the square root and to the certified lower bound, for "
        f"T = {steps[-1]}.",
        _COLUMNS,
        tuple(row for row in rows if row[1] == steps[-1]),
        digits=4,
    )
    for what, caption in (
        (
            "largest",
            "Largest standard deviation against T.  Noise on the inputs and noise on the "
            "output have the same one.",
        ),
        ("mean", "Mean squared error against T."),
    ):
        yield Figure(f"mechanisms-{what}", caption, tuple(panels[what]))
    yield from _verdicts(rows, steps)


_COLUMNS = (
    "decay", "T", "mechanism", "largest", "over √g", "over least", "mean square", "over √g, mean",
    "over least, mean",
)  # fmt: skip


def _least(decay: Decay, T: int) -> tuple[float, float]:
    """Lower bounds of the largest deviation and the mean squared error of any factorization.

    Up to 256 steps the bounds are within 1e-4 of the optimum; beyond, they are explicit
    certificates.
    """
    if T <= 256:
        return gamma2(decay, T).lower, gamma_f(decay, T).lower ** 2 / T
    f = decay.weights(T)
    error = certificates.rounding(decay, f)
    mean = certificates.lower_frobenius(f, weight_error=error).value
    return certificates.lower(f, weight_error=error).value, mean**2 / T


def _panel(title: str, y: str, steps: list[int], found: dict[str, list[float]]) -> Panel:
    x = np.array(steps, dtype=np.float64)
    lines = tuple(line(name, x, np.array(values)) for name, values in found.items())
    return Panel(title, "T", y, lines, x_log=True, y_log=True)


def _verdicts(rows: list[Row], steps: Sequence[int]) -> Blocks:
    others = [row for row in rows if row[2] != ROOT]
    # within the first w steps a window equals counting, and the blocks are its square root
    same = [row for row in others if row[2] == "window blocks" and row[1] <= 256]
    beaten = [row for row in others if row not in same]
    yield Claim.new(
        "the square root has a smaller largest error and a smaller mean squared error than every "
        f"other mechanism in these figures, at T = {', '.join(map(str, steps))}, for all four "
        "decays (within the first w steps the blocks are equal to it)",
        "ratios > 1",
        f"largest {spread([row[4] for row in beaten])}, mean square "
        f"{spread([row[7] for row in beaten])}",
        holds(
            all(row[4] > 1.0 and row[7] > 1.0 for row in beaten)
            and all(math.isclose(row[4], 1.0) and math.isclose(row[7], 1.0) for row in same)
        ),
    )
    own = [row for row in rows if row[2] == ROOT]
    for fades, most in ((True, 0.01), (False, 0.13)):
        last = [r for r in own if r[1] == rows[-1][1] and (r[0] == "counting") != fades]
        which = "for the three decays that tend to zero" if fades else "for counting"
        yield Claim.new(
            f"{which} the largest error of the square root is within {100 * most:g} % of the "
            f"smallest possible at T = {rows[-1][1]}",
            f"≤ {1 + most:g}",
            f"{spread([r[5] for r in last])}; mean square {spread([r[8] for r in last])}",
            holds(max(r[5] for r in last) <= 1 + most),
        )


def _since(T: int) -> Claim:
    root, makers = square_root, (normalized_root, column_normalized_root, circulant)
    over = [make(NoDecay(), T).error_factor / root(NoDecay(), T).error_factor for make in makers]
    return Claim.new(
        f"some newer factorizations are better: for counting at T = {T} the normalized, the "
        "column-normalized and the circulant one have a smaller error than the square root (see "
        "the last chapter)",
        "ratios of the largest errors < 1",
        ", ".join(f"{ratio:.4f}" for ratio in over),
        holds(max(over) < 1.0),
    )
