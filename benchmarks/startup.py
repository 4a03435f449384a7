"""Startup: the time to import and to plan, each in an interpreter that has nothing cached."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.report import GOAL_COLUMNS, Section, goal_cells
from benchmarks.timing import fresh, progress

IMPORTS = {"hushfade": "hushfade", "numpy and scipy.fft, for scale": "numpy, scipy.fft"}
IMPORT_ROUNDS = 5

# arguments of plan; the goal is for plans that run for ever
ENDLESS = [
    "Exponential(half_life=24)",
    "Exponential(half_life=1000)",
    "PowerLaw(power=0.5)",
    "PowerLaw(power=1)",
    "PowerLaw(power=2)",
    "SlidingWindow(length=7)",
    "SlidingWindow(length=64)",
    "SlidingWindow(length=168)",
    "SlidingWindow(length=1000)",
    "CustomDecay([1, 0.5, 0.25, 0.1])",
    "0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1)",
    "NoDecay(), method='unbounded'",
]
BOUNDED = ["NoDecay(), horizon=2**15"]
LONG = 1.0  # seconds; a plan that takes longer is made once

_TIMED = """
from time import perf_counter
{before}
start = perf_counter()
{job}
print(perf_counter() - start)
"""
_PLAN = "plan({decay}, guarantee=Guarantee(epsilon=1, delta=1e-6))"


def sections(rounds: int) -> Iterator[Section]:
    """The import, and the plan of each built-in decay."""
    yield imports()
    yield plans(min(rounds, 3))


def imports() -> Section:
    """Seconds of `import hushfade`, best of five."""
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for number in range(IMPORT_ROUNDS + 1):  # the first is not counted
        for name, modules in IMPORTS.items():
            seconds = fresh(_TIMED.format(before="", job=f"import {modules}"))
            if number > 0:
                times[name].append(seconds)
    rows = []
    for name, taken in times.items():
        progress(f"import {name}: best {min(taken):.3f} s")
        goal = goal_cells(min(taken), 0.3 if name == "hushfade" else None, " s")
        rows.append((name, f"{min(taken):.3f}", f"{max(taken):.3f}", *goal))
    return Section(
        "Startup: import",
        f"Seconds in a fresh interpreter, {IMPORT_ROUNDS} times in turn.",
        ("import", "best", "worst", *GOAL_COLUMNS),
        rows,
    )


def plans(rounds: int) -> Section:
    """Seconds of `plan` for each decay, as the first of its process and later."""
    rows = []
    for decay in [*ENDLESS, *BOUNDED]:
        later = _planned(decay, _PLAN.format(decay="Exponential(half_life=3)"), rounds)
        first = f"{_planned(decay, '', 1):.3f}" if decay in ENDLESS else "-"
        progress(f"plan {decay}: {later:.3f} s, as the first {first} s")
        goal = goal_cells(later, 0.2 if decay in ENDLESS else None, " s")
        rows.append((f"`{decay}`", first, f"{later:.3f}", *goal))
    return Section(
        "Startup: plan",
        f"Seconds in a fresh interpreter, best of {rounds} (of one beyond {LONG:g} s).  *Best* "
        "follows the plan of another decay, so that libraries are loaded and nothing of this decay "
        "is known.  *As the first* is the process's first plan, once, which also loads scipy.  The "
        "goal is for *best*, and for plans that run for ever.",
        ("plan", "as the first", "best", *GOAL_COLUMNS),
        rows,
    )


def _planned(decay: str, before: str, rounds: int) -> float:
    code = _TIMED.format(before=f"from hushfade import *\n{before}", job=_PLAN.format(decay=decay))
    best = fresh(code)
    if best < LONG:
        best = min([best, *(fresh(code) for _ in range(rounds - 1))])
    return best
