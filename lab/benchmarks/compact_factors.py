"""Compact factors: the loss of a few exponentials against the square root, and the time to fit."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from hushfade import Decay, Exponential, NoDecay, PowerLaw
from hushfade.factors import factorization
from hushfade.training.compact_taps import _goal, compact
from lab.benchmarks.report import GOAL_COLUMNS, Section, goal_cells
from lab.progress import progress

N = 1 << 20
# the largest allowed loss of 4, 8 and 12 exponentials
WANTED: dict[str, tuple[Decay, tuple[float, float, float]]] = {
    "counting": (NoDecay(), (2.45e-2, 3e-4, 2e-6)),
    "exponential, alpha 1.01": (Exponential.from_alpha(1.01), (1e-4, 5e-7, 2e-6)),
    "power 1/2": (PowerLaw(power=0.5), (4.5e-3, 1e-4, 2e-6)),
    "power 1": (PowerLaw(power=1), (1e-4, 3e-6, 2e-6)),
}


def sections(rounds: int) -> Iterator[Section]:
    """The loss and the time of fits of 4, 8 and 12 exponentials for 2^20 steps."""
    yield fits(min(rounds, 3))


def fits(rounds: int) -> Section:
    """The table of fits, each the best of the rounds without caches."""
    rows = []
    for name, (decay, wanted) in WANTED.items():
        exact = factorization.square_root(decay, N).error_factor(N)
        for order, most in zip((4, 8, 12), wanted, strict=True):
            times = []
            for _ in range(rounds):
                _goal.cache_clear()  # includes the square root's own error factor
                start = perf_counter()
                pair = compact(decay, horizon=N, order=order)
                times.append(perf_counter() - start)
            loss = pair.error_factor(N) / exact - 1.0
            progress(f"compact, {name}, {order}: loss {loss:.1e}, {min(times):.2f} s")
            verdict = goal_cells(max(loss / most, min(times)), 1.0)[1]
            timed = (f"{min(times):.2f}", f"{max(times):.2f}")
            row = (f"{name}, {order} exponentials", *timed, f"{loss:.1e}", f"{most:g}")
            rows.append((*row, "≤ allowed, ≤ 1 s", verdict))
    return Section(
        "Compact: fits for 2^20 steps",
        f"Seconds of a fit, best and worst of {rounds}, and its loss: the relative excess over the "
        "exact square root's error factor.  The goal covers both.",
        ("fit", "best", "worst", "loss", "allowed", *GOAL_COLUMNS),
        rows,
    )
