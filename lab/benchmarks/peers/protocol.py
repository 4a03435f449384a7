"""The protocol of a peer's script: one line of JSON per request and answer.

    at the start   {"versions": {"numpy": "2.4.6", ...}}
    request        {"job": "live step, BLT"}
    answer         {"job": ..., "seconds": ..., "count": ..., "yardstick": ...}
    or             {"job": ..., "failed": "ValueError: ..."}

The script runs each job between draws of the yardstick, and reports the yardstick's shortest time.
So times of two processes are comparable in a unit that both measured within the same seconds.
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
    """A job to time: `run` does `count` steps, draws or plans."""

    run: Callable[[], object]
    count: int = 1
    warm: bool = True  # run once before timing


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
    """One measurement of the work, between two yardsticks."""
    before = yardstick()
    seconds = _seconds(work.run)
    return Round(seconds, work.count, min(before, yardstick()))


def yardstick() -> float:
    """The seconds to draw 10^6 numpy normals now: the shortest of three times."""
    return min(_seconds(lambda: _generator.standard_normal(NORMALS)) for _ in range(3))


def serve(makers: Mapping[str, Callable[[], Work]], libraries: Iterable[str]) -> None:
    """Answer requests until standard input ends; the first request prepares and warms up a job."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print to standard error

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
        except Exception as error:  # the page reports the peer's error
            answer({"job": name, "failed": f"{type(error).__name__}: {error}"})


def _seconds(job: Callable[[], object]) -> float:
    start = perf_counter()
    job()
    return perf_counter() - start
