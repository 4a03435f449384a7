"""Plans: processor seconds of `hushfade.plan` for each kind of decay, with and without delta."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lab.benchmarks.report import GOAL_COLUMNS, Section, goal_cells, short
from lab.benchmarks.timing import fresh
from lab.progress import progress

GOAL, LONGEST = 0.5, 2.0  # seconds; the second for the longest window
DECAYS: dict[str, float] = {
    "Exponential(half_life=1)": GOAL,
    "Exponential(half_life=24)": GOAL,
    "Exponential(half_life=1000)": GOAL,
    "Exponential(half_life=10**4)": GOAL,
    "Exponential(half_life=10**6)": GOAL,
    "SlidingWindow(length=7)": GOAL,
    "SlidingWindow(length=64)": GOAL,
    "SlidingWindow(length=1000)": GOAL,
    "SlidingWindow(length=10**4)": GOAL,
    "SlidingWindow(length=10**6)": LONGEST,
    "PowerLaw(power=0.25)": GOAL,
    "PowerLaw(power=0.5)": GOAL,
    "PowerLaw(power=1)": GOAL,
    "PowerLaw(power=2)": GOAL,
    "NoDecay(), horizon=2**10": GOAL,
    "NoDecay(), horizon=2**20": GOAL,
    "NoDecay()": GOAL,
    "CustomDecay([1, 0.9, 0.7, 0.5, 0.4, 0.2, 0.1, 0.1, 0.05])": GOAL,
}
DELTAS = ("1e-6", "0")
WITHOUT_HORIZON = ("NoDecay()", "0")  # no mechanism counts for ever without delta
MOST_ROUNDS = 3

_TIMED = """
from time import process_time
import numpy as np
from hushfade import *
for delta in (1e-5, 0):  # loads libraries and compiled loops
    for decay in (Exponential(half_life=30), Exponential(half_life=300), SlidingWindow(length=70)):
        plan(decay, Guarantee(epsilon=1.1, delta=delta))
    plan(NoDecay(), Guarantee(epsilon=1.1, delta=delta), horizon=700)
normals = np.random.Generator(np.random.PCG64(1))
def yardstick():
    start = process_time()
    normals.standard_normal(10**6)
    return process_time() - start
yardstick()
def planned(decay, **arguments):
    before = min(yardstick() for _ in range(3))
    start = process_time()
    plan(decay, Guarantee(epsilon=1, delta={delta}), **arguments)
    seconds = process_time() - start
    print(seconds, min(before, *(yardstick() for _ in range(3))))
"""


def sections(rounds: int) -> Iterator[Section]:
    """The plans of all decays, in turn."""
    rounds = min(rounds, MOST_ROUNDS)
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    loads = []
    for number in range(rounds):
        for delta in DELTAS:
            decays = [decay for decay in DECAYS if (decay, delta) != WITHOUT_HORIZON]
            loads.append(os.getloadavg()[0])
            calls = "".join(f"planned({decay})\n" for decay in decays)
            numbers = fresh(_TIMED.format(delta=delta) + calls)
            for decay, seconds, unit in zip(decays, numbers[::2], numbers[1::2], strict=True):
                times.setdefault((decay, delta), []).append((seconds, unit))
            progress(f"plans: round {number + 1} of {rounds}, delta = {delta}")
    normal = min(unit for taken in times.values() for _, unit in taken)
    rows = []
    for (decay, delta), taken in times.items():
        best = min(seconds for seconds, _ in taken)
        worst = max(seconds for seconds, _ in taken)
        ratios = min(seconds / unit for seconds, unit in taken)
        cells = (delta, f"{best:.3f}", f"{worst:.3f}", f"{short(ratios)}×")
        rows.append((f"`{decay}`", *cells, *goal_cells(best, DECAYS[decay], " s")))
    yield Section(
        'Plans: method="best"',
        f"Processor seconds of a plan with epsilon = 1, {rounds} times.  A process makes the plans "
        "of all decays for one delta, after a few others, so that libraries and compiled loops are "
        "loaded and nothing of a decay is known.  The ratio is to 10^6 numpy standard_normal by "
        f"PCG64, drawn before and after each plan, {normal * 1e3:.1f} ms at best.  The load of "
        f"the machine was {min(loads):.1f} to {max(loads):.1f}: other processes "
        "share its caches, and slow processor time down too.  Counting for ever requires a delta.",
        ("plan", "delta", "best", "worst", "ratio", *GOAL_COLUMNS),
        rows,
    )
