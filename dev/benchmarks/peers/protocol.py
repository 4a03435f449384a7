"""What a peer's script is asked and answers: a line of JSON each way.

    first, unasked   {"versions": {"numpy": "2.4.6", ...}}
    asked            {"job": "live step, BLT"}
    answered         {"job": ..., "seconds": ..., "count": ..., "yardstick": ...}
    or               {"job": ..., "failed": "ValueError: ..."}

A job is measured between draws of the yardstick, whose shortest time is told: so times from two
processes can be compared in a unit that both have measured within the same seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from time import perf_counter

import numpy as np

NORMALS = 10**6  # numpy normals in one yardstick


@dataclass(frozen=True)
class Work:
    """Something to be timed: `run` does `count` steps, draws or plans."""

    run: Callable[[], object]
    count: int = 1
    warm: bool = True  # done once without being timed


@dataclass(frozen=True)
class Round:
    """One measurement: the seconds of `count` steps and of one yardstick."""

    seconds: float
    count: int
    yardstick: float

    @property
    def each(self) -> float:
        """The seconds of one step."""
        return self.seconds / self.count

    @property
    def normals(self) -> float:
        """The cost of one step, in numpy normals.

        >>> Round(seconds=2.0, count=100, yardstick=0.01).normals
        2000000.0
        """
        return self.each / (self.yardstick / NORMALS)


_generator = np.random.Generator(np.random.PCG64(1))


def measured(work: Work) -> Round:
    """The work done once, between two yardsticks."""
    before = yardstick()
    seconds = _seconds(work.run)
    return Round(seconds, work.count, min(before, yardstick()))


def yardstick() -> float:
    """The seconds of drawing 10^6 numpy normals, here and now: the shortest of three times."""
    return min(_seconds(lambda: _generator.standard_normal(NORMALS)) for _ in range(3))


def serve(makers: Mapping[str, Callable[[], Work]], libraries: Iterable[str]) -> None:
    """Answer until standard input ends.  A job is made, and warmed up, when first asked for."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(line: Mapping[str, object]) -> None:
        print(json.dumps(line), file=answers, flush=True)

    answer({"versions": {name: version(name) for name in libraries}})
    made: dict[str, Work] = {}
    for line in sys.stdin:
        name = json.loads(line)["job"]
        try:
            if name not in made:
                made[name] = makers[name]()
                if made[name].warm:
                    made[name].run()
            answer({"job": name, **asdict(measured(made[name]))})
        except Exception as error:  # a peer's trouble is told on the page
            answer({"job": name, "failed": f"{type(error).__name__}: {error}"})


def _seconds(job: Callable[[], object]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start
