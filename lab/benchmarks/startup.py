"""Startup: the time to import and to plan, each in a fresh interpreter."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.report import GOAL_COLUMNS, Section, goal_cells
from lab.benchmarks.timing import fresh
from lab.progress import progress

IMPORTS = {"hushfade": "hushfade", "numpy and scipy.fft, for scale": "numpy, scipy.fft"}
IMPORT_ROUNDS = 5

# arguments of plan; the goal is for plans without a horizon
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
LONG = 1.0  # seconds; a plan that takes longer is timed once

_TIMED = """
from time import perf_counter
{before}
start = perf_counter()
{job}
print(perf_counter() - start)
"""
_LOADED = """
from hushfade import *
guarantee = Guarantee(epsilon=1, delta=1e-6)
"""
_ANOTHER = """
from hushfade.training.compact_taps import compact
plan(Exponential(half_life=3), guarantee)
compact(Exponential(half_life=3))
"""


def sections(rounds: int) -> Iterator[Section]:
    """The import, and the plan of each built-in decay."""
    yield imports()
    yield plans(min(rounds, 3))


def imports() -> Section:
    """The seconds of `import hushfade`, best of five."""
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for number in range(IMPORT_ROUNDS + 1):  # the first round does not count
        for name, modules in IMPORTS.items():
            (seconds,) = fresh(_TIMED.format(before="", job=f"import {modules}"))
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
    """The seconds of `plan` for each decay, as the first plan of a process and later."""
    rows = []
    for decay in [*ENDLESS, *BOUNDED]:
        job = f"plan({decay}, guarantee=guarantee)"
        taken = [planned(job)]
        if taken[0] < LONG:
            taken += [planned(job) for _ in range(rounds - 1)]
        first = f"{planned(job, first=True):.3f}" if decay in ENDLESS else "-"
        progress(f"plan {decay}: {min(taken):.3f} s, as the first {first} s")
        goal = goal_cells(min(taken), 0.2 if decay in ENDLESS else None, " s")
        rows.append((f"`{decay}`", first, f"{min(taken):.3f}", f"{max(taken):.3f}", *goal))
    return Section(
        "Startup: plan",
        f"Seconds in a fresh interpreter, {rounds} times (once if it takes more than {LONG:g} s).  "
        "*Best* follows the plan of another decay, so the libraries are loaded and nothing about "
        "this decay is cached.  *First plan* is the first plan of a process, timed once; it also "
        "loads scipy.  The goal is for *best*, and for plans without a horizon.",
        ("plan", "first plan", "best", "worst", *GOAL_COLUMNS),
        rows,
    )


def planned(job: str, *, first: bool = False) -> float:
    """The seconds of the job in a fresh interpreter, as its first plan or after another."""
    before = _LOADED if first else _LOADED + _ANOTHER
    (seconds,) = fresh(_TIMED.format(before=before, job=job))
    return seconds
