"""Runs the benchmarks: `python -m benchmarks [--only NAME] [--quick]`.

A whole run writes docs/results/benchmarks.md and its pictures; a part or a quick run is printed
instead, so that the page always comes from one whole run on one machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from benchmarks import (
    beside,
    compact,
    counting,
    files,
    growth,
    noise,
    report,
    series,
    service,
    startup,
    stream,
    theory,
)
from benchmarks.report import Section
from benchmarks.timing import progress

# A module joins by a function from the number of rounds to its sections.
BENCHES: dict[str, Callable[[int], Iterable[Section]]] = {
    "noise": noise.sections,
    "stream": stream.sections,
    "counting": counting.sections,
    "files": files.sections,
    "growth": growth.sections,
    "beside": beside.sections,
    "startup": startup.sections,
    "compact": compact.sections,
    "series": series.sections,
    "theory": theory.sections,
    "service": service.sections,
}

ROUNDS, QUICK_ROUNDS = 7, 2


def main() -> None:
    """The chosen sections, measured in order, as one page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", choices=sorted(BENCHES), help="one module, printed")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, printed")
    chosen = parser.parse_args()
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    sections: list[Section] = []
    for name in [chosen.only] if chosen.only else BENCHES:
        progress(f"{name}:")
        sections.extend(BENCHES[name](rounds))
    if chosen.only or chosen.quick:
        print(report.page(sections, rounds))
    else:
        report.write(sections, rounds)


if __name__ == "__main__":
    main()
