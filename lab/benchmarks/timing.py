"""Times of alternating jobs, and their ratios to a yardstick that alternates with them.

A ratio within one run is comparable between machines; a time in seconds is not.  The jobs
alternate, so other load on the machine affects all of them equally.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from lab.progress import progress

Job = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """How many times as long as its yardstick a job takes."""

    name: str
    goal: float | None  # the largest ratio that meets the goal
    best: float  # shortest time over the yardstick's shortest time
    spread: tuple[float, float]  # smallest and largest ratio within one round


def interleaved(jobs: Mapping[str, Job], rounds: int) -> dict[str, list[float]]:
    """The seconds of each job in each round, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            start = perf_counter()
            job()
            seconds = perf_counter() - start
            if number > 0:
                times[name].append(seconds)
    for name, taken in times.items():
        progress(f"{name}: best {min(taken):.3g} s of {rounds} rounds")
    return times


def ratio(
    name: str, times: Sequence[float], yardstick: Sequence[float], goal: float | None = None
) -> Ratio:
    """The ratio of a job's times to the yardstick's times, both from one `interleaved`."""
    each = [time / unit for time, unit in zip(times, yardstick, strict=True)]
    return Ratio(name, goal, min(times) / min(yardstick), (min(each), max(each)))


def repeated(job: Job, calls: int) -> Job:
    """A job that does the job `calls` times, for jobs too short to time."""

    def many() -> None:
        for _ in range(calls):
            job()

    return many


def each(function: Callable[[float], object], values: Iterable[float]) -> Job:
    """A job that calls the function with one value after the other."""

    def all_of_them() -> None:
        for value in values:
            function(value)

    return all_of_them


def fresh(code: str) -> list[float]:
    """The numbers that the code prints in a fresh interpreter."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(number) for number in done.stdout.split()]
