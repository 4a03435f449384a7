"""Runs the benchmarks: `python -m lab.benchmarks [--only NAME] [--quick]`.

A full run writes docs/results/benchmarks.md and its pictures, and separate pages for files, plans,
the service and Spark.  `--only` with one of these four writes its page.
Any other part, and a quick run, is only printed, so that a page always comes from one full run on
one machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from lab.benchmarks import (
    compact_factors,
    counting,
    files,
    growth,
    noise,
    peer_comparison,
    plans,
    power_series,
    report,
    service,
    spark,
    startup,
    stream,
    theory,
)
from lab.benchmarks.report import Section
from lab.progress import progress

# Each module has a function from the number of rounds to its sections.
BENCHES: dict[str, Callable[[int], Iterable[Section]]] = {
    "noise": noise.sections,
    "stream": stream.sections,
    "counting": counting.sections,
    "growth": growth.sections,
    "peers": peer_comparison.sections,
    "startup": startup.sections,
    "compact_factors": compact_factors.sections,
    "power_series": power_series.sections,
    "theory": theory.sections,
}
OWN_PAGES: dict[str, Callable[[int], Iterable[Section]]] = {
    "files": files.sections,
    "plans": plans.sections,
    "service": service.sections,
    "spark": spark.sections,
}

ROUNDS, QUICK_ROUNDS = 7, 2


def main() -> None:
    """Measure the chosen sections in order, and write or print them."""
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks")
    parser.add_argument("--only", choices=sorted(BENCHES | OWN_PAGES), help="one module")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, printed")
    chosen = parser.parse_args()
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    pages = {"benchmarks": BENCHES} | {name: {name: OWN_PAGES[name]} for name in OWN_PAGES}
    if chosen.only in OWN_PAGES:
        pages = {chosen.only: pages[chosen.only]}
    elif chosen.only:
        pages = {"benchmarks": {chosen.only: BENCHES[chosen.only]}}
    whole = not chosen.quick and (not chosen.only or chosen.only in OWN_PAGES)
    for page, modules in pages.items():
        sections: list[Section] = []
        for name, measured in modules.items():
            progress(f"{name}:")
            sections.extend(measured(rounds))
        if whole:
            report.write(sections, rounds, page)
        else:
            print(report.page(sections, rounds, page))


if __name__ == "__main__":
    main()
